"""Eight threads use one hub at once, each in its own way: nothing is lost, mixed up or counted twice.

With the GIL the threads change places as often as the interpreter allows. `make free-threading` runs this file without one.
"""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import toolhub
from toolhub import ToolHub

STEPS = 150
THREADS = 8


@pytest.fixture(autouse=True)
def eager_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*jobs: Callable[[], None]) -> None:
    """Run all jobs at once, each in a thread; the first error of any is raised here."""
    start, errors = threading.Barrier(len(jobs)), list[BaseException]()

    def one(job: Callable[[], None]) -> None:
        try:
            start.wait()
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_each_thread_gets_its_own_answers() -> None:
    with ToolHub() as hub:

        @hub.tool
        def double(number: int) -> int:
            return number * 2

        @hub.tool
        async def triple(number: int) -> int:
            await asyncio.sleep(0)
            return number * 3

        def blocking(thread: int) -> None:
            for step in range(STEPS):
                number = thread * STEPS + step
                assert hub.call("double", {"number": number}).unwrap() == number * 2

        def waiting(thread: int) -> None:
            async def many() -> None:
                numbers = [thread * STEPS + step for step in range(STEPS)]
                results = await hub.execute_many([("triple", {"number": number}) for number in numbers])
                assert [result.unwrap() for result in results] == [number * 3 for number in numbers]

            asyncio.run(many())

        kinds = [blocking, waiting]
        together(*(lambda n=n: kinds[n % 2](n) for n in range(THREADS)))
        stats = hub.stats()
        half = STEPS * THREADS // 2
        assert {name: row["calls"] for name, [row] in stats.items()} == {"double": half, "triple": half}


def test_effects_of_many_threads_happen_once_each(tmp_path: Path) -> None:
    done: list[int] = []
    with ToolHub(store=tmp_path / "store.db") as hub:

        @hub.tool(effects=True)
        def send(number: int) -> int:
            done.append(number)
            return number

        def job(thread: int) -> None:
            for step in range(30):
                hub.call("send", {"number": thread * 30 + step}).unwrap()

        together(*(lambda n=n: job(n) for n in range(THREADS)))
        assert sorted(done) == list(range(THREADS * 30))
        assert len(hub.ledger(limit=1000)) == THREADS * 30


def test_the_catalog_changes_while_it_is_read() -> None:
    with ToolHub() as hub:

        @hub.tool
        def stays(text: str) -> str:
            """Repeat a text."""
            return text

        ended = threading.Event()

        def changes(thread: int) -> None:
            for step in range(STEPS):
                name = f"tool_{thread}_{step}"
                hub.register(lambda: 1, name=name, description=f"Number {step} of thread {thread}.")
                assert name in hub
                assert hub.unregister(name) == 1
                assert name not in hub

        def writers() -> None:
            try:
                together(*(lambda n=n: changes(n) for n in range(THREADS // 2)))
            finally:
                ended.set()

        def reads() -> None:
            while not ended.is_set():
                assert hub.search("repeat a text")[0].name == "stays"
                assert "stays" in {tool.name for tool in hub.tools()}
                assert hub.call("stays", {"text": "a"}).unwrap() == "a"
                assert "stays" in hub.system_prompt()

        together(writers, *[reads] * (THREADS // 2))
        assert [tool.name for tool in hub.tools()] == ["stays"]


def test_texts_are_parsed_in_every_thread() -> None:
    call = '<tool_call>\n{"name": "f", "arguments": {"n": %d}}\n</tool_call>'

    def job(thread: int) -> None:
        for step in range(STEPS):
            text = call % (thread * STEPS + step)
            [whole] = toolhub.parse(text).calls
            stream = toolhub.StreamParser()
            for place in range(0, len(text), 7):
                stream.feed(text[place : place + 7])
            stream.finish()
            assert whole.arguments == stream.calls[0].arguments == {"n": thread * STEPS + step}

    together(*(lambda n=n: job(n) for n in range(THREADS)))


def test_a_hub_is_closed_under_the_calls_of_all_threads() -> None:
    hub = ToolHub()

    @hub.tool
    def echo(number: int) -> int:
        return number

    begun = threading.Barrier(THREADS)

    def calls() -> None:
        hub.call("echo", {"number": 0}).unwrap()
        begun.wait()
        while True:
            result = hub.call("echo", {"number": 7})
            if not result.success:
                assert result.kind == toolhub.ErrorKind.CLOSED, result.error
                return
            assert result.result == 7

    def closes() -> None:
        begun.wait()
        hub.close()

    together(*[calls] * (THREADS - 1), closes)


def test_arguments_may_change_while_they_are_read() -> None:
    entries = 300
    shared = {str(number): [number] for number in range(entries)}
    with ToolHub() as hub:

        @hub.tool
        def total(values: dict[str, list[int]]) -> int:
            return sum(number for [number] in values.values())

        ended = threading.Event()

        def changes() -> None:
            while not ended.is_set():
                for key in [str(number) for number in range(entries)]:
                    # The list of the old entry is free at once; a reader that borrowed it would read freed memory.
                    shared.pop(key, None)
                    shared[key] = [1]

        def reads() -> None:
            for _ in range(STEPS):
                result = hub.call("total", {"values": shared})
                assert result.success or "changed while it was read" in str(result.error), result.error

        def readers() -> None:
            try:
                together(*[reads] * (THREADS // 2))
            finally:
                ended.set()

        together(readers, *[changes] * (THREADS // 2))


def test_what_tools_keep_of_their_arguments_stays_whole() -> None:
    size = 1500
    kept: list[list[dict[str, int]]] = []
    with ToolHub() as hub:

        @hub.tool
        def keep(rows: list[dict[str, int]]) -> int:
            # From hand to hand: the reference that another thread left is taken, and given away again.
            kept.append(rows)
            kept.append(kept.pop(0))
            return len(rows)

        def job(thread: int) -> None:
            for _ in range(10):
                rows = [{"thread": thread, "row": row} for row in range(size)]
                assert hub.call("keep", {"rows": rows}).unwrap() == size

        together(*(lambda n=n: job(n) for n in range(THREADS)))
        assert len(kept) == THREADS * 10
        for rows in kept:
            assert [row["row"] for row in rows] == list(range(size))
            assert len({row["thread"] for row in rows}) == 1
