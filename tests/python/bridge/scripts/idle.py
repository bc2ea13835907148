"""Opens, uses and closes hubs in the way that the first argument names, and tells what happens to the threads."""

import asyncio
import gc
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bridge.kit import in_thread, offer, quick
from toolhub import ToolHub, _core
from toolhub.llm import OpenAI

SERVER = Path(__file__).with_name("idle_server.py")
TASKS = Path("/proc/self/task")


def shorten_looks() -> None:
    """Let idle threads end almost at once."""
    _core.idle_look(0.001)


def threads() -> list[str]:
    """The names of all threads of this process, those of Rust included."""
    names: list[str] = []
    for task in TASKS.iterdir():
        try:
            names.append((task / "comm").read_text().strip())
        except OSError:  # it has ended
            continue
    return sorted(names)


def ended(before: list[str], seconds: float = 10) -> bool:
    """Whether only the threads of before are left within these seconds."""
    limit = time.monotonic() + seconds
    while (now := threads()) != before:
        if time.monotonic() > limit:
            print("left:", now, flush=True)
            return False
        time.sleep(0.01)
    return True


async def where() -> tuple[int, int]:
    return id(asyncio.get_running_loop()), threading.get_ident()


def new_hub(*more: str) -> ToolHub:
    """A hub with async tools and these: a server, a sync function, whose thread waits five seconds for another call."""
    hub = ToolHub(limits={"breaker_threshold": 0})
    hub.register(where)
    offer(hub, "race", quick, quick)
    if "in_thread" in more:
        hub.register(in_thread)
    if "echo" in more:
        hub.add_server("s", command=sys.executable, args=[str(SERVER)])
    return hub


def use(hub: ToolHub, *more: str) -> bool:
    names = ["where", "race", *more]

    async def together() -> bool:
        return all(await asyncio.gather(*[hub.execute(name, strategy="first") for name in names]))

    return all(hub.call(name, strategy="first") for name in names) and asyncio.run(together())


def closed_hubs() -> bool:
    """At the usual pace: ten seconds after the last hub was closed all threads have ended, and the next hub works."""
    before = threads()
    works: list[bool] = []
    for _ in range(2):
        with new_hub("echo", "in_thread") as hub, new_hub() as another:
            works += [use(hub, "echo", "in_thread"), use(another)]
        works.append(ended(before))
    return all(works)


def an_open_hub() -> bool:
    """The threads of an open hub stay."""
    shorten_looks()
    hub = new_hub("echo")
    with new_hub() as another:
        works = use(hub, "echo") and use(another)
    with_hub = threads()
    first = hub.call("where").result
    for _ in range(20):
        time.sleep(0.005)
        works = works and threads() == with_hub and hub.call("where").result == first
    hub.close()
    return works


def a_hub_that_is_collected() -> bool:
    """A hub that nobody closes counts until it is collected."""
    shorten_looks()
    before = threads()
    works = use(new_hub())
    gc.collect()
    with new_hub():
        pass
    return works and ended(before)


def the_same_loop() -> bool:
    """What tools keep from one call to the next stays bound to an open loop, although its thread has ended."""
    shorten_looks()
    before = threads()
    with new_hub() as hub:
        loop, thread = hub.call("where").result
        assert hub.call("where").result == (loop, thread)
    works = ended(before)
    with new_hub() as hub:
        return works and hub.call("where").result[0] == loop and use(hub)


def what_tools_leave() -> bool:
    """Tasks, timers and servers that a tool leaves on its loop go on after the last hub was closed."""
    shorten_looks()
    before = threads()
    rang, release, ports = threading.Semaphore(0), threading.Event(), list[int]()

    async def later() -> None:
        while not release.is_set():
            await asyncio.sleep(0.05)
        rang.release()

    kept: list[Any] = []

    async def leaves_a_task() -> None:
        kept.append(asyncio.create_task(later()))

    async def leaves_a_timer() -> None:
        asyncio.get_running_loop().call_later(0.2, rang.release)

    async def leaves_a_server() -> None:
        async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"hello")
            writer.close()
            kept[-1].close()

        kept.append(await asyncio.start_server(greet, "127.0.0.1", 0))
        ports.append(kept[-1].sockets[0].getsockname()[1])

    with ToolHub() as hub:
        for tool in (leaves_a_task, leaves_a_timer, leaves_a_server):
            hub.register(tool)
            assert hub.call(tool.__name__), tool
    works = rang.acquire(timeout=10)
    time.sleep(0.05)  # many looks

    async def ask() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", ports[0])
        answer = await reader.read()
        writer.close()
        return answer

    works = works and asyncio.run(ask()) == b"hello"
    release.set()
    return works and rang.acquire(timeout=10) and ended(before)


def fork(child: Callable[[], bool]) -> bool:
    process = os.fork()
    if process == 0:
        signal.alarm(40)
        sys.exit(0 if child() else 2)
    return os.waitpid(process, 0)[1] == 0


def forks() -> bool:
    """Children come into being while loops rest, end and start; they and their parent work, also after a child's clean end."""
    shorten_looks()
    before = threads()

    def child() -> bool:
        alone = threads()
        gc.collect()
        with new_hub() as hub:
            works = use(hub)
        return works and ended(alone)

    for number in range(12):
        more = ["echo"] * (number % 4 == 0)
        with new_hub(*more) as hub:
            if not use(hub, *more):
                return False
        if number % 3 == 0 and not ended(before):
            return False
        if not fork(child):
            return False
    with new_hub() as hub:
        return use(hub)


def many_cycles() -> bool:
    """Threads open, use and close hubs, while the runtime and the loops end and start all the time."""
    shorten_looks()
    before = threads()

    def cycles(seed: int) -> bool:
        choice = random.Random(seed)
        for number in range(25):
            more = ["echo"] * (number % 8 == seed)
            with new_hub(*more) as hub:
                for _ in range(choice.randrange(3)):
                    if not use(hub, *more):
                        return False
            time.sleep(choice.choice((0, 0.001, 0.004, 0.01)))
        return True

    with ThreadPoolExecutor(4) as four:
        works = list(four.map(cycles, range(4)))
    return all(works) and ended(before)


def exits() -> bool:
    """The interpreter exits while threads end."""
    shorten_looks()
    with new_hub() as hub:
        works = use(hub)
    another = new_hub()
    threading.Thread(target=lambda: use(another), daemon=True).start()
    time.sleep(float(sys.argv[2]))
    return works


def chat_client() -> bool:
    """A client outlives the runtime on which its connections were made."""
    shorten_looks()
    before = threads()
    client = OpenAI(model="m", base_url=sys.argv[2], api_key="k")
    works = True
    for _ in range(3):
        works = works and bool(client.generate("hello")) and ended(before)

    async def slow_reader() -> int:
        items = 0
        async for _ in client.stream([{"role": "user", "content": "hello"}]):
            await asyncio.sleep(0.05)
            items += 1
        return items

    return works and asyncio.run(slow_reader()) > 1


if __name__ == "__main__":
    print(globals()[sys.argv[1]]())
