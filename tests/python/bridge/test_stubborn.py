"""Tools that do not stop when they are cancelled: the caller still gets its answer, and nothing breaks."""

import asyncio
import time

import pytest

from bridge.kit import Stubborn, World, fails, offer, quick, tasks_end, turns
from toolhub import ErrorKind, ToolHub

GRACE = 0.01


@pytest.fixture
def hub() -> ToolHub:
    return ToolHub(limits={"cancel_grace": GRACE, "breaker_threshold": 0})


ANSWERS = [
    "late",
    None,
    {"success": False},
    ValueError("late"),
    SystemExit("late"),
    asyncio.CancelledError("late"),
]


def cancelling() -> int:
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
def test_a_coroutine_that_swallows_its_cancellation_is_moved_out(
    hub: ToolHub, world: World, answer: object
) -> None:
    tool = Stubborn(answer)
    hub.register(tool, name="stubborn")

    async def main() -> None:
        result = await hub.execute("stubborn", timeout=0.01)
        assert result.kind is ErrorKind.TIMEOUT
        assert cancelling() == 0
        assert tool.cancellations == 2
        assert not tool.over
        await turns()
        tool.released.set()
        await tasks_end()
        assert tool.over
        assert cancelling() == 0

    world.run(main())


def test_the_second_cancellation_comes_after_the_first_has_arrived(hub: ToolHub, world: World) -> None:
    """On a busy machine the grace may be over before the loop has had a turn."""
    tool = Stubborn()

    class SlowToCancel(asyncio.Future[None]):
        def cancel(self, msg: object = None) -> bool:
            over = time.monotonic() + 3 * GRACE
            while time.monotonic() < over:
                pass
            return super().cancel(msg)

    async def busy() -> str:
        while tool.cancellations < 2:
            try:
                await SlowToCancel()
            except asyncio.CancelledError:
                tool.cancellations += 1
        return await tool()

    hub.register(busy)

    async def main() -> None:
        assert (await hub.execute("busy", timeout=0.01)).kind is ErrorKind.TIMEOUT
        assert tool.cancellations == 2
        tool.released.set()
        await tasks_end()

    world.run(main())


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
def test_a_loser_that_outlives_its_grace(hub: ToolHub, world: World, answer: object) -> None:
    tool = Stubborn(answer)
    offer(hub, "race", tool, quick)

    async def main() -> None:
        assert (await hub.execute("race", strategy="first")).result == "quick"
        assert not tool.over
        tool.released.set()
        await tasks_end()
        assert tool.over
        assert (await hub.execute("race", strategy="first")).success

    world.run(main())


def test_the_next_candidate_is_tried_after_a_stubborn_one(hub: ToolHub, world: World) -> None:
    tool = Stubborn()
    offer(hub, "chain", fails, tool, quick, read_only=True)

    async def main() -> None:
        result = await hub.execute("chain", strategy="fallback", timeout=0.2)
        assert result.result == "quick"
        assert [row["kind"] for row in result.meta["errors"]] == ["tool_error", "timeout"]
        tool.released.set()
        await tasks_end()

    world.run(main())


def test_one_that_is_late_but_cleans_up_within_its_grace_stays_in_place(world: World) -> None:
    hub = ToolHub(limits={"cancel_grace": 60})
    tool = Stubborn()
    hub.register(tool, name="slow_to_stop")

    async def main() -> None:
        task = asyncio.create_task(hub.execute("slow_to_stop", timeout=0.01))
        while tool.cancellations == 0:
            await asyncio.sleep(0)
        await turns()
        assert not task.done()
        tool.released.set()
        result = await task
        assert result.kind is ErrorKind.TIMEOUT
        assert tool.cancellations == 1
        assert task.cancelling() == 0

    world.run(main())


def test_a_moved_coroutine_that_is_cancelled_before_it_goes_on(hub: ToolHub, world: World) -> None:
    """As when the loop ends right after the call: what it waited for is not waited for twice."""
    tool = Stubborn()
    hub.register(tool, name="stubborn")

    async def main() -> None:
        before = asyncio.all_tasks()
        assert (await hub.execute("stubborn", timeout=0.01)).kind is ErrorKind.TIMEOUT
        (moved,) = asyncio.all_tasks() - before
        seen = tool.cancellations
        moved.cancel()
        await turns()
        assert tool.cancellations == seen + 1
        assert not moved.done()
        tool.released.set()
        await tasks_end()
        assert tool.over
        assert not moved.cancelled()

    world.run(main())


def test_a_stubborn_tool_does_not_hold_up_an_outer_cancellation_of_a_race(hub: ToolHub, world: World) -> None:
    tools = [Stubborn(), Stubborn()]
    offer(hub, "race", *tools)

    async def main() -> None:
        task = asyncio.create_task(hub.execute("race", strategy="first"))
        for tool in tools:
            await tool.began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task  # after the grace
        assert not any(tool.over for tool in tools)
        for tool in tools:
            tool.released.set()
        await tasks_end()

    world.run(main())


def test_the_background_loop_survives_what_tools_leave_behind(hub: ToolHub) -> None:
    """A task that a tool has started ends in SystemExit: asyncio lets that through, and would stop the loop."""

    async def leaves_a_bomb() -> str:
        async def bomb() -> None:
            raise SystemExit(3)

        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        bombs.append(asyncio.create_task(bomb()))
        return "left"

    bombs: list[asyncio.Task[None]] = []
    hub.register(leaves_a_bomb)
    hub.register(quick)
    for _ in range(3):
        assert hub.call("leaves_a_bomb").result == "left"
        assert hub.call("quick").result == "quick"
    assert all(isinstance(bomb.exception(), SystemExit) for bomb in bombs)


@pytest.mark.parametrize("count", [1, 2])
def test_an_interrupt_out_of_a_tool_reaches_the_caller(hub: ToolHub, count: int) -> None:
    """And only the caller: the background loop goes on."""

    async def interrupted() -> str:
        await asyncio.sleep(0)
        raise KeyboardInterrupt

    offer(hub, "race", *[interrupted, Stubborn()][:count])
    hub.register(quick)
    with pytest.raises(KeyboardInterrupt):
        hub.call("race", strategy="first")
    assert hub.call("quick").result == "quick"


@pytest.mark.parametrize("count", [1, 2])
def test_an_interrupt_out_of_a_tool_ends_the_callers_loop(hub: ToolHub, count: int) -> None:
    async def interrupted() -> str:
        await asyncio.sleep(0)
        raise KeyboardInterrupt

    offer(hub, "race", *[interrupted, quick][:count])
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(hub.execute("race", strategy="all"))


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), BaseException("odd")], ids=repr)
def test_other_base_exceptions_are_failures(world: World, error: BaseException) -> None:
    hub = ToolHub()

    async def raises() -> str:
        await asyncio.sleep(0)
        raise error

    def raises_in_thread() -> str:
        raise error

    offer(hub, "race", raises, raises_in_thread)
    result = world.run(hub.execute("race", strategy="first"))
    assert not result.success
    assert {row["kind"] for row in result.meta["errors"]} == {"tool_error"}
