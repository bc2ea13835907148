"""Forks in the way that the first argument names; the child and the parent tell what works for them."""

import asyncio
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from bridge.kit import Hanging, fails, in_thread, offer, quick
from toolhub import ToolHub, _core


def new_hub() -> ToolHub:
    hub = ToolHub(limits={"breaker_threshold": 0})
    for function in (quick, in_thread, fails):
        hub.register(function)
    offer(hub, "race", Hanging(), quick, in_thread)
    return hub


async def use(hub: ToolHub) -> bool:
    results = [await hub.execute(name, strategy="first") for name in ("quick", "in_thread", "race")]
    results += await asyncio.gather(*[hub.execute(name) for name in ("quick", "in_thread") * 5])
    return all(results)


def works(hub: ToolHub) -> bool:
    return asyncio.run(use(hub)) and bool(hub.call("quick")) and bool(hub.call("in_thread"))


def refuses(action: Callable[[], object]) -> bool:
    try:
        action()
    except RuntimeError as error:
        return "made before a fork" in str(error) and "make a new ToolHub" in str(error)
    return False


def child(old: ToolHub) -> bool:
    return (
        refuses(lambda: asyncio.run(old.execute("quick")))
        and refuses(lambda: asyncio.run(old.execute_by_capability("x")))
        and refuses(lambda: old.call("quick"))
        and refuses(lambda: old.register(quick, name="another"))
        and works(new_hub())
    )


def fork(old: ToolHub, child: Callable[[ToolHub], bool] = child) -> bool:
    """Whether all went well in the child."""
    process = os.fork()
    if process == 0:
        signal.alarm(40)  # a child that hangs is killed, and seen
        status = 1
        try:
            status = 0 if child(old) else 2
        except BaseException as error:
            print("child:", repr(error), flush=True)
        finally:
            os._exit(status)
    return os.waitpid(process, 0)[1] == 0


def before_any_use() -> bool:
    hub = new_hub()
    return fork(hub) and works(hub)


def after_use() -> bool:
    hub = new_hub()
    return works(hub) and fork(hub) and works(hub) and fork(hub) and works(hub)


def refuses_all(old: ToolHub) -> bool:
    """Whether everything that takes a lock is refused, instead of waiting for a thread that does not exist here."""
    core: Any = old._core
    actions: list[Callable[[], object]] = [
        old.servers,
        old.pins.list,
        lambda: old.remove_server("s"),
        lambda: old.pins.accept("s"),
        lambda: old.system_prompt("You help."),
        lambda: old.search("flood"),
        lambda: old.explain("quick"),
        lambda: old.explain({"tool_name": "quick"}),
        lambda: old.add_alias("label"),
        lambda: old.original_name("quick"),
        old.as_openai,
        lambda: old.run_sync("x"),
        lambda: old.dispatch_sync({"tool_name": "quick"}),
        lambda: core.unregister("quick"),
        core.close,
        core.capability_rules,
        lambda: core.add_capability_words("tag", ["word"]),
        lambda: core.remove_capability("tag"),
        lambda: core.extract_capabilities("quick", ""),
        lambda: _core.unembedded(core, 1),
        lambda: _core.embed(core, "quick", 1, None),
    ]
    return all(refuses(action) for action in actions)


def while_a_server_lists() -> bool:
    """Forks again and again while threads of the runtime list the tools of a server."""
    with tempfile.NamedTemporaryFile() as mark, new_hub() as hub:
        mark.write(b"\0")
        mark.flush()
        server = Path(__file__).with_name("chatty_server.py")
        hub.add_server("s", command=sys.executable, args=[str(server), mark.name])
        over, listed = threading.Event(), threading.Semaphore(0)

        def list_again() -> None:
            while not over.is_set():
                hub.refresh_sync()
                listed.release()

        thread = threading.Thread(target=list_again)
        thread.start()
        try:
            return all(listed.acquire(timeout=40) and fork(hub, refuses_all) for _ in range(10))
        finally:
            over.set()
            thread.join()


def in_a_running_loop() -> bool:
    async def main() -> bool:
        hub = new_hub()
        # The child leaves with os._exit and never comes back to the parent's loop.
        return await use(hub) and fork(hub) and await use(hub)

    return asyncio.run(main())


def in_a_thread() -> bool:
    hub = new_hub()
    done: list[bool] = [works(hub)]
    thread = threading.Thread(target=lambda: done.append(fork(hub)))
    thread.start()
    thread.join()
    return done == [True, True] and works(hub)


def in_a_tool() -> bool:
    hub = new_hub()

    def forks() -> bool:
        return fork(hub)

    hub.register(forks)
    return works(hub) and hub.call("forks").result and works(hub)


def while_busy() -> bool:
    """Other threads call tools all the time: some of them hold our locks at the moment of the fork."""
    hub = new_hub()
    stop = threading.Event()
    fine: list[bool] = []

    def loop() -> None:
        while not stop.is_set():
            fine.append(asyncio.run(use(hub)))

    def blocking() -> None:
        while not stop.is_set():
            fine.append(bool(hub.call("in_thread")))

    threads = [threading.Thread(target=target) for target in (loop, blocking) * 2]
    for thread in threads:
        thread.start()
    forked = [fork(hub) for _ in range(6)]
    stop.set()
    for thread in threads:
        thread.join()
    return all(forked) and all(fine) and works(hub)


def while_importing() -> bool:
    """Another thread makes the first call of the process, and is importing what it needs at the moment of the fork."""
    begun = threading.Event()

    class Slowly:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
            if name != "toolhub._pool":
                return None
            spec: Any = PathFinder.find_spec(name, path)
            load = spec.loader.exec_module

            def load_slowly(module: Any) -> None:
                begun.set()
                time.sleep(0.5)
                load(module)

            spec.loader.exec_module = load_slowly
            return spec

    sys.meta_path.insert(0, Slowly)
    hub = new_hub()
    caller = threading.Thread(target=hub.call, args=("in_thread",))
    caller.start()
    begun.wait()
    forked = fork(hub)
    caller.join()
    return forked and works(hub)


def grandchild() -> bool:
    """A child that forks again: its hub belongs to it, not to its own child."""
    hub = new_hub()
    works(hub)
    process = os.fork()
    if process == 0:
        signal.alarm(40)
        mine = new_hub()
        os._exit(0 if works(mine) and fork(mine) and works(mine) else 1)
    return os.waitpid(process, 0)[1] == 0 and works(hub)


def closes(old: ToolHub) -> bool:
    """Whether closing does nothing, in every way and as often as one likes."""
    old.close()
    asyncio.run(old.aclose())
    with old:
        pass
    old.close()
    return refuses(lambda: old.call("quick")) and works(new_hub())


def closing_in_the_child() -> bool:
    """What a forked child closes is not its own: calls, servers and the store of the parent go on."""
    server = Path(__file__).with_name("chatty_server.py")
    with tempfile.TemporaryDirectory() as folder, ToolHub(store=Path(folder) / "hub.db") as hub:
        mark = Path(folder) / "mark"
        mark.write_bytes(b"\0")
        hub.register(quick)
        hub.add_server("s", command=sys.executable, args=[str(server), str(mark)])
        hub.call("flood").unwrap()
        before = hub.servers()[0].pid
        all_well = fork(hub, closes) and bool(hub.call("quick")) and bool(hub.call("flood"))
        return all_well and before == hub.servers()[0].pid


def the_child_ends_as_a_program_does() -> bool:
    """With all that runs at interpreter exit."""
    hub = new_hub()
    works(hub)
    process = os.fork()
    if process == 0:
        signal.alarm(40)
        sys.exit(0 if works(new_hub()) else 1)
    return os.waitpid(process, 0)[1] == 0 and works(hub)


if __name__ == "__main__":
    print(globals()[sys.argv[1]]())
