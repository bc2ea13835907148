"""Programs whose parts run side by side: they start calls in another order each time, and are replayed all the same."""

from __future__ import annotations

import asyncio
import random
import threading
from pathlib import Path
from typing import Any, Literal

import pytest

from toolhub import ToolHub
from toolhub.testing import ReplayError, record, replay

CHAINS, STEPS = 4, 6


class Square:
    """A tool, and chains of its calls that are interleaved by chance."""

    def __init__(self) -> None:
        self.hub = ToolHub()
        self.hub.register(self.square, read_only=True)
        self.in_flight: set[int] = set()
        self.overlapped = False

    async def square(self, n: int) -> int:
        """Square a number."""
        self.in_flight.add(n)
        self.overlapped |= len(self.in_flight) > 1
        await asyncio.sleep(0)
        self.in_flight.discard(n)
        return n * n

    async def chains(self, turns: random.Random) -> list[list[Any]]:
        async def chain(number: int) -> list[Any]:
            results: list[Any] = []
            for step in range(STEPS):
                for _ in range(turns.randrange(5)):
                    await asyncio.sleep(0)
                # Two steps of each chain are calls that other chains make too.
                n = step if step < 2 else number * 100 + step
                results.append((await self.hub.execute("square", {"n": n})).unwrap())
            return results

        return await asyncio.gather(*(chain(number) for number in range(CHAINS)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.ndjson"


@pytest.mark.parametrize("mode", ["strict", "timed", "lenient"])
def test_chains_of_one_tool_replay_in_any_interleaving(
    path: Path, mode: Literal["strict", "timed", "lenient"]
) -> None:
    square = Square()
    with record(path):
        recorded = asyncio.run(square.chains(random.Random(0)))
    assert square.overlapped
    for seed in range(1, 20):
        with replay(path, mode):
            assert asyncio.run(square.chains(random.Random(seed))) == recorded


def test_threads_replay_in_any_order(path: Path) -> None:
    hub, at_once = ToolHub(), threading.Barrier(3)

    @hub.tool(read_only=True)
    def square(n: int) -> int:
        at_once.wait()
        return n * n

    def program() -> list[Any]:
        results: list[Any] = [None] * 12

        def part(number: int) -> None:
            for n in range(number * 4, number * 4 + 4):
                results[n] = hub.call("square", {"n": n}).result

        threads = [threading.Thread(target=part, args=(number,)) for number in range(3)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        return results

    with record(path):
        recorded = program()
    assert recorded == [n * n for n in range(12)]
    for _ in range(5):
        with replay(path):
            assert program() == recorded


def test_a_concurrent_program_is_held_to_what_was_recorded(path: Path) -> None:
    square = Square()
    with record(path):
        asyncio.run(square.chains(random.Random(0)))
    with pytest.raises(ReplayError) as more, replay(path):
        asyncio.run(square.chains(random.Random(1)))
        assert square.hub.call("square", {"n": 7}).kind == "not_found"
    assert len(more.value.missed) == 1
    assert "all 24 recorded calls of it were replayed already" in more.value.missed[0]
    with pytest.raises(ReplayError) as less, replay(path):
        assert square.hub.call("square", {"n": 102}).result == 102 * 102
        assert square.hub.call("square", {"n": 1000}).kind == "not_found"
    assert (len(less.value.missed), len(less.value.unused)) == (1, 23)


def test_equal_calls_get_their_recordings_in_order(path: Path) -> None:
    hub, count = ToolHub(), [0]

    @hub.tool(read_only=True)
    async def tick(n: int) -> int:
        await asyncio.sleep(0)
        count[0] += 1
        return count[0]

    async def program() -> list[Any]:
        async def three() -> list[Any]:
            return [(await hub.execute("tick", {"n": 0})).result for _ in range(3)]

        beside = asyncio.gather(*(hub.execute("tick", {"n": n}) for n in range(1, 6)))
        found = await three()
        await beside
        return found

    with record(path):
        recorded = asyncio.run(program())
    assert recorded == sorted(recorded)
    with replay(path):
        assert asyncio.run(program()) == recorded
