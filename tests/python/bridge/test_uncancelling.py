"""The cancellations of a tool, which may run in the task of its caller, and those of the caller."""

import asyncio

import pytest

from bridge.kit import World, offer, tasks_end, turns
from toolhub import ToolHub


@pytest.fixture
def hub() -> ToolHub:
    return ToolHub(limits={"breaker_threshold": 0})


class Uncancels:
    """Does what the documentation of asyncio tells a coroutine that suppresses a cancellation."""

    def __init__(self, goes_on: bool) -> None:
        self.began, self.goes_on = asyncio.Event(), goes_on
        self.end = asyncio.Event()

    async def __call__(self) -> str:
        task = asyncio.current_task()
        assert task is not None
        while not self.end.is_set():
            self.began.set()
            try:
                await self.end.wait()
            except asyncio.CancelledError:
                task.uncancel()
                if not self.goes_on:
                    break
        return "swallowed"


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_tool_in_a_task_of_its_own_cannot_take_back_the_cancellation_of_its_caller(
    world: World, goes_on: bool
) -> None:
    hub = ToolHub(limits={"breaker_threshold": 0, "cancel_grace": 0.05})
    tools = [Uncancels(goes_on) for _ in range(2)]
    offer(hub, "eat", *tools)

    async def main() -> None:
        task = asyncio.create_task(hub.execute("eat", strategy="first"))
        await tools[0].began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(hub.execute("eat", strategy="first"), 0.05)
        caller = asyncio.current_task()
        assert caller is not None
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await hub.execute("eat", strategy="first")
        assert caller.cancelling() == 0
        for tool in tools:
            tool.end.set()
        await tasks_end()

    world.run(main())


def test_a_timeout_inside_a_tool_takes_back_its_own_cancellation(hub: ToolHub, world: World) -> None:
    async def patient() -> str:
        try:
            async with asyncio.timeout(0):
                await asyncio.get_running_loop().create_future()
        except TimeoutError:
            return "inner timeout"
        return "never"

    offer(hub, "patient", patient)

    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        assert (await hub.execute("patient")).result == "inner timeout"
        assert task.cancelling() == 0

    world.run(main())


def test_a_tool_that_cancels_its_own_task_does_not_cancel_its_caller(hub: ToolHub, world: World) -> None:
    async def before_waiting() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "never"

    async def after_waiting() -> str:
        await asyncio.sleep(0)
        return await before_waiting()

    async def at_the_end() -> str:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return "done"

    for function in (before_waiting, after_waiting, at_the_end):
        offer(hub, function.__name__, *[function] * 2)

    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        for name in ("before_waiting", "after_waiting", "at_the_end"):
            result = await hub.execute(name, strategy="first")
            assert result.success == (name == "at_the_end"), result
            assert task.cancelling() == 0
            await turns()

    world.run(main())
