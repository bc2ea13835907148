"""The caller's cancellation is the caller's: a tool that swallows it delays it by the grace, and no longer."""

import asyncio
import signal
import sys
from typing import Any

import pytest

from bridge.kit import Stubborn, World, finish, offer, script, tasks_end, turns
from toolhub import ToolHub


@pytest.fixture
def hub() -> ToolHub:
    return ToolHub(limits={"cancel_grace": 0.01, "breaker_threshold": 0})


class Swallows:
    """Waits, and makes an answer of its cancellation."""

    def __init__(self, cleans: int = 0) -> None:
        self.began = asyncio.Event()
        self.cleans = cleans

    async def __call__(self) -> str:
        self.began.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            await turns(self.cleans)
        return "swallowed"


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("cleans", [0, 3])
def test_an_answer_made_of_a_cancellation_does_not_count(
    hub: ToolHub, world: World, count: int, cleans: int
) -> None:
    tools = [Swallows(cleans) for _ in range(count)]
    offer(hub, "t", *tools, read_only=True)

    async def main() -> None:
        task = asyncio.create_task(hub.execute("t", strategy="first"))
        for tool in tools:
            await tool.began.wait()
        task.cancel("enough")
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await task
        assert task.cancelled()

    world.run(main())


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_tool_that_goes_on_is_left_behind_after_the_grace(hub: ToolHub, world: World, count: int) -> None:
    tools = [Stubborn() for _ in range(count)]
    offer(hub, "t", *tools, read_only=True)

    async def main() -> None:
        task = asyncio.create_task(hub.execute("t", strategy="first"))
        for tool in tools:
            await tool.began.wait()
        task.cancel("enough")
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await task
        assert not any(tool.over for tool in tools)
        for tool in tools:
            tool.released.set()
        await tasks_end()
        assert all(tool.over for tool in tools)

    world.run(main())


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("tool", [Stubborn, Swallows])
def test_the_callers_own_timeout_is_a_timeout(hub: ToolHub, world: World, count: int, tool: Any) -> None:
    tools = [tool() for _ in range(count)]
    offer(hub, "t", *tools, read_only=True)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await hub.execute("t", strategy="first")
        me = asyncio.current_task()
        assert me is not None
        assert me.cancelling() == 0
        for one in tools:
            if isinstance(one, Stubborn):
                one.released.set()
        await tasks_end()

    world.run(main())


def test_a_timeout_inside_the_tool_is_its_own_business(hub: ToolHub, world: World) -> None:
    """It cancels the caller's task and takes that back; the clean-up in between may take longer than the grace."""
    cleaned = asyncio.Event()

    async def limits_itself() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.get_running_loop().create_future()
        except TimeoutError:
            await asyncio.sleep(0.05)
            cleaned.set()
        return "in time"

    hub.register(limits_itself)

    async def main() -> None:
        assert (await hub.execute("limits_itself")).result == "in time"
        assert cleaned.is_set()

    world.run(main())


@pytest.mark.parametrize("count", [1, 2])
def test_the_next_candidate_is_not_tried_after_a_swallowed_cancellation(
    hub: ToolHub, world: World, count: int
) -> None:
    swallows, tried = Swallows(), []

    async def other() -> str:
        tried.append(1)
        return "other"

    offer(hub, "t", swallows, *[other] * count, read_only=True)

    async def main() -> None:
        task = asyncio.create_task(hub.execute("t", strategy="fallback"))
        await swallows.began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    world.run(main())
    assert not tried


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("way", ["await", "call"])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("tool", ["swallows", "stubborn"])
def test_ctrl_c_ends_the_program_with_a_status(way: str, count: int, tool: str) -> None:
    process = script("swallows_ctrl_c", way, str(count), tool)
    assert process.stdout is not None
    assert process.stdout.readline() == "began\n"
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert ended.status != 0
    assert "KeyboardInterrupt" in ended.err
    assert "answered" not in ended.out
