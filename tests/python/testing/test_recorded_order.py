"""What depends on time when it is recorded, and must not when it is replayed: races, shared results, processes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from toolhub import ToolHub
from toolhub.testing import record, replay

pytestmark = pytest.mark.anyio

REPLAYS = 3
Mode = Literal["strict", "timed", "lenient"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.ndjson"


def lines(path: Path, kind: str) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    return [event for event in events if event["type"] == kind]


class Race:
    """Two candidates: one fails, and the other one answers when it has."""

    def __init__(self) -> None:
        self.hub = ToolHub()
        self.failed = asyncio.Event()
        self.hub.register(self.good, name="search", source="tools", read_only=True)
        self.hub.register(self.bad, name="search", source="skills", read_only=True)

    async def good(self, q: str) -> str:
        await self.failed.wait()
        return f"found {q}"

    async def bad(self, q: str) -> str:
        self.failed.set()
        raise ValueError(f"nothing for {q}")

    async def program(self, **options: Any) -> list[Any]:
        results: list[Any] = []
        for q in "ab":
            self.failed.clear()
            result = await self.hub.execute("search", {"q": q}, strategy="first", **options)
            tried = [(one["source"], one["ok"], one["error"]) for one in result.meta["attempts"]]
            results.append((result.unwrap(), result.meta["source"], sorted(tried)))
        return results


@pytest.mark.parametrize("mode", ["strict", "timed", "lenient"])
@pytest.mark.parametrize("options", [{}, {"hedge_after": 0.01}], ids=["race", "hedge"])
async def test_a_candidate_that_failed_before_the_winner_answered_fails_again(
    path: Path, options: dict[str, Any], mode: Mode
) -> None:
    with record(path):
        recorded = await Race().program(**options)
    assert [call["outcome"] for call in lines(path, "call")].count("tool_error") == 2
    for _ in range(REPLAYS):
        with replay(path, mode):
            assert await Race().program(**options) == recorded


class Reads:
    """A tool whose answers differ, and that answers when it is told to."""

    def __init__(self) -> None:
        self.hub = ToolHub()
        self.hub.register(self.read, read_only=True)
        self.made = 0
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()

    async def read(self, q: str) -> str:
        self.made += 1
        answer = f"{q} {self.made}"
        self.began.set()
        await self.may_end.wait()
        return answer

    async def ask(self, **options: Any) -> tuple[Any, bool]:
        result = await self.hub.execute("read", {"q": "x"}, **options)
        return result.unwrap(), bool(result.meta.get("cached"))


async def at_once(reads: Reads, **options: Any) -> list[Any]:
    tasks = [asyncio.create_task(reads.ask(**options)) for _ in range(4)]
    asyncio.get_running_loop().call_later(0.01, reads.may_end.set)
    return await asyncio.gather(*tasks)


async def one_joins_later(reads: Reads) -> list[Any]:
    first = asyncio.create_task(reads.ask(single_flight=True))
    # In a replay nothing begins.
    await asyncio.wait([asyncio.create_task(reads.began.wait()), first], return_when="FIRST_COMPLETED")
    second = asyncio.create_task(reads.ask(single_flight=True))
    asyncio.get_running_loop().call_later(0.01, reads.may_end.set)
    results = [await first, await second]
    return [*results, await reads.ask(single_flight=True), await reads.ask(single_flight=True)]


SHARED: dict[str, Callable[[Reads], Awaitable[list[Any]]]] = {
    "single_flight": lambda reads: at_once(reads, single_flight=True),
    "cache": lambda reads: at_once(reads, cache_ttl=60),
    "both": lambda reads: at_once(reads, single_flight=True, cache_ttl=60),
    "later": one_joins_later,
}


@pytest.mark.parametrize("mode", ["strict", "timed"])
@pytest.mark.parametrize("what", SHARED)
async def test_nothing_is_shared_while_a_cassette_is_in(path: Path, what: str, mode: Mode) -> None:
    program = SHARED[what]
    with record(path):
        recorded = await program(Reads())
    # Each call is made, and has a recording of its own.
    assert len({answer for answer, _ in recorded}) == len(recorded) == len(lines(path, "call"))
    assert not any(is_cached for _, is_cached in recorded)
    for _ in range(REPLAYS):
        with replay(path, mode):
            reads = Reads()
            assert await program(reads) == recorded
            assert reads.made == 0
    # Real calls share, and nothing of a replay.
    reads = Reads()
    await program(reads)
    assert reads.made == {"single_flight": 1, "cache": 4, "both": 1, "later": 3}[what]


def in_child(work: Callable[[], str]) -> str:
    """What the work gives in a fork of this process."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, work().encode())
        except BaseException as error:
            os.write(writing, f"raised {error!r}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return text


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_cassette_belongs_to_the_process_that_opened_it(path: Path, tmp_path: Path) -> None:
    hub, own = ToolHub(), tmp_path / "child.ndjson"
    hub.register(lambda x: x, name="get_x", read_only=True)

    def program() -> list[Any]:
        return [hub.call("get_x", {"x": n}).unwrap() for n in (100, 101)]

    def child() -> str:
        other = ToolHub()
        other.register(lambda x: -x, name="get_x", read_only=True)
        answers = [other.call("get_x", {"x": 100}).unwrap()]
        with record(own) as cassette:
            answers.append(other.call("get_x", {"x": 7}).unwrap())
        return f"{answers} {cassette.events}"

    def leaves() -> str:
        cassette.__exit__(None, None, None)
        return "left"

    with record(path) as cassette:
        hub.call("get_x", {"x": 100})
        assert in_child(child) == "[-100, -7] 1"
        assert in_child(leaves) == "left"
        hub.call("get_x", {"x": 101})
    assert cassette.events == 2
    assert [call["arguments"] for call in lines(own, "call")] == [{"x": 7}]
    with replay(path):
        assert program() == [100, 101]

    def replays() -> str:
        other = ToolHub()
        other.register(lambda x: -x, name="get_x", read_only=True)
        # Its copy answers; the recordings of the process are not used up, and the tool does not run.
        known, unknown = other.call("get_x", {"x": 100}), other.call("get_x", {"x": 5})
        cassette.__exit__(None, None, None)
        return f"{known.unwrap()} {unknown.kind}"

    with replay(path) as cassette:
        assert in_child(replays) == "100 not_found"
        assert program() == [100, 101]
