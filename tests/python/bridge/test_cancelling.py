"""Cancelling the caller: everything below is cancelled, and has cleaned up before the caller's await ends."""

import asyncio
import threading
from typing import Any

import pytest

from bridge.kit import CLEAN, Blocked, Hanging, World, offer, quick, tasks_end, turns
from toolhub import ErrorKind, ToolHub, _core, current_call


@pytest.fixture
def hub() -> ToolHub:
    return ToolHub(limits={"breaker_threshold": 0})


async def is_cancelled(task: asyncio.Task[Any]) -> None:
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert task.cancelled()
    assert caught.value.args in ((), ("enough",))


@pytest.mark.parametrize("strategy", ["first", "all", "fallback"])
@pytest.mark.parametrize("count", [1, 3])
def test_cancel_reaches_every_coroutine(hub: ToolHub, world: World, strategy: str, count: int) -> None:
    tools = [Hanging() for _ in range(count)]
    offer(hub, "hang", *tools)

    async def main() -> None:
        task = asyncio.create_task(hub.execute("hang", strategy=strategy))
        running = tools[:1] if strategy == "fallback" else tools
        for tool in running:
            await tool.began.wait()
        task.cancel("enough")
        await is_cancelled(task)
        assert [tool.log for tool in running] == [CLEAN] * len(running)
        assert all(not tool.log for tool in tools[len(running) :])

    world.run(main())


def test_cancel_of_a_capability_call(hub: ToolHub, world: World) -> None:
    tool = Hanging()
    hub.register(tool, name="x", capabilities=["hanging"])

    async def main() -> None:
        task = asyncio.create_task(hub.execute_by_capability("hanging"))
        await tool.began.wait()
        task.cancel()
        await is_cancelled(task)
        assert tool.log == CLEAN

    world.run(main())


def test_cancel_of_execute_many(hub: ToolHub, world: World) -> None:
    tool = Hanging()
    hub.register(tool, name="hang")

    async def main() -> None:
        task = asyncio.create_task(hub.execute_many(["hang"] * 10, concurrency=3))
        while len(tool.log) < 3:
            await asyncio.sleep(0)
        task.cancel()
        await is_cancelled(task)
        assert sorted(tool.log) == sorted(CLEAN * 3)

    world.run(main())


@pytest.mark.usefixtures("pool")
@pytest.mark.parametrize("race", [False, True])
def test_cancel_abandons_a_sync_function(hub: ToolHub, world: World, race: bool) -> None:
    blocked, beside = Blocked(), Hanging()
    offer(hub, "wait", *[blocked, beside][: 1 + race])

    async def main() -> None:
        task = asyncio.create_task(hub.execute("wait", strategy="first"))
        await blocked.has_begun()
        task.cancel()
        await is_cancelled(task)
        assert beside.log == CLEAN * race
        assert not blocked.released.is_set()

    try:
        world.run(main())
    finally:
        blocked.released.set()


def test_cancel_of_a_call_that_waits_for_a_limit(world: World) -> None:
    hub = ToolHub(limits={"hub": 1})
    inside, waiting = Hanging(), Hanging()
    hub.register(inside, name="inside")
    hub.register(waiting, name="waiting")
    hub.register(quick)

    async def main() -> None:
        first = asyncio.create_task(hub.execute("inside"))
        await inside.began.wait()
        second = asyncio.create_task(hub.execute("waiting"))
        await turns()
        second.cancel()
        await is_cancelled(second)
        third = asyncio.create_task(hub.execute("quick"))
        await turns()
        first.cancel()
        await is_cancelled(first)
        assert (await third).result == "quick"  # the place was not lost
        assert waiting.log == []

    world.run(main())


def test_a_candidate_that_is_let_in_while_the_caller_is_cancelled_never_starts(world: World) -> None:
    """A slot becomes free and the caller is cancelled before it learns of it."""
    hub = ToolHub()
    hold = asyncio.Event()
    beside, narrow = Hanging(hold), Hanging()
    hub.register(beside, name="race", source="mcps", server="beside", read_only=True)
    hub.register(narrow, name="race", source="mcps", server="narrow", max_concurrency=1, read_only=True)

    async def main() -> None:
        holder = asyncio.create_task(hub.execute("race", server="narrow"))
        await narrow.began.wait()
        race = asyncio.create_task(hub.execute("race", strategy="first"))
        await beside.began.wait()
        bridge = _core.current_bridge()
        assert bridge.pending_mail == 1
        holder.cancel()
        await is_cancelled(holder)
        while bridge.pending_mail:
            await asyncio.sleep(0)
        race.cancel()
        await turns()
        hold.set()
        await is_cancelled(race)
        await tasks_end()
        assert narrow.log == CLEAN  # the holder's, and no other
        again = asyncio.create_task(hub.execute("race", server="narrow"))
        while narrow.log == CLEAN:
            await asyncio.sleep(0)
        again.cancel()
        await is_cancelled(again)

    world.run(main())


def test_a_second_cancel_of_a_race_leaves_at_once(hub: ToolHub, world: World) -> None:
    hold = asyncio.Event()
    tools = [Hanging(hold) for _ in range(3)]
    offer(hub, "hang", *tools)

    async def main() -> None:
        task = asyncio.create_task(hub.execute("hang", strategy="first"))
        for tool in tools:
            await tool.began.wait()
        task.cancel()
        await turns()
        assert not task.done()  # it waits for the clean-up
        task.cancel()
        await is_cancelled(task)
        assert [tool.log for tool in tools] == [CLEAN[:2]] * 3
        hold.set()
        await tasks_end()
        assert [tool.log for tool in tools] == [CLEAN] * 3

    world.run(main())


def test_a_second_cancel_of_one_coroutine_reaches_its_clean_up(hub: ToolHub, world: World) -> None:
    """As with a plain await: the clean-up itself is cancelled."""
    tool = Hanging(asyncio.Event())
    hub.register(tool, name="hang")

    async def main() -> None:
        task = asyncio.create_task(hub.execute("hang"))
        await tool.began.wait()
        task.cancel()
        await turns()
        assert not task.done()
        task.cancel()
        await is_cancelled(task)
        assert tool.log == ["began", "cancelled"]

    world.run(main())


@pytest.mark.parametrize("count", [1, 2])
def test_cancel_before_the_first_step(hub: ToolHub, world: World, count: int) -> None:
    tools = [Hanging() for _ in range(count)]
    offer(hub, "hang", *tools)

    async def main() -> None:
        task = asyncio.create_task(hub.execute("hang", strategy="first"))
        task.cancel()
        await is_cancelled(task)
        # An eager task has had its first step already.
        assert [tool.log for tool in tools] == [CLEAN if world.eager else []] * count

    world.run(main())


@pytest.mark.parametrize("count", [1, 2])
def test_a_cancellation_that_is_on_its_way_is_not_taken_for_the_tools_own(
    hub: ToolHub, world: World, count: int
) -> None:
    if world.safe and count == 1:
        pytest.skip("no documented interface tells a cancellation that is still to be delivered")
    tools = [Hanging() for _ in range(count)]
    offer(hub, "hang", *tools)

    async def cancels_itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await hub.execute("hang", strategy="first")

    async def main() -> None:
        await is_cancelled(asyncio.create_task(cancels_itself()))
        await turns()
        assert all(tool.log[:2] == CLEAN[:2] for tool in tools if tool.log)

    world.run(main())


def test_a_swallowed_cancellation_of_the_past_does_not_count(hub: ToolHub, world: World) -> None:
    """The caller was cancelled long ago and went on: a new cancellation is seen, and the tool's own is not the caller's."""
    tool = Hanging()

    async def own() -> str:
        await asyncio.sleep(0)
        raise asyncio.CancelledError("my own")

    hub.register(tool, name="hang")
    hub.register(own)
    ready, on = asyncio.Event(), asyncio.Event()

    async def caller() -> None:
        try:
            ready.set()
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            on.set()
        assert (await hub.execute("own")).kind is ErrorKind.TOOL_ERROR
        assert (await hub.execute("hang", timeout=0.01)).kind is ErrorKind.TIMEOUT
        await hub.execute("hang")

    async def main() -> None:
        task = asyncio.create_task(caller())
        await ready.wait()
        task.cancel()
        await on.wait()
        while tool.log.count("began") < 2:
            await asyncio.sleep(0)
        assert task.cancelling() == 1
        task.cancel()
        await is_cancelled(task)

    world.run(main())


def test_cancelled_by_the_hub_and_from_outside_at_the_same_moment(hub: ToolHub, world: World) -> None:
    """The outer cancellation comes after the hub's, before either was delivered: the caller is cancelled, once."""
    counts: list[int] = []

    async def waits(task: Any = None) -> str:
        caller = asyncio.current_task()
        assert caller is not None
        future = asyncio.get_running_loop().create_future()
        future.add_done_callback(
            lambda _: caller.cancel()
        )  # runs when the hub has cancelled what we wait for
        await future
        return "never"

    hub.register(waits, parameters={"type": "object"})

    async def caller() -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            await hub.execute("waits", timeout=0.01)
        finally:
            counts.append(task.cancelling())

    async def main() -> None:
        await is_cancelled(asyncio.create_task(caller()))
        assert counts == [1]

    world.run(main())


def test_the_time_runs_out_while_an_outer_cancellation_is_cleaned_up(world: World) -> None:
    hub = ToolHub(limits={"cancel_grace": 0.01})
    tool = Hanging(asyncio.Event())  # its clean-up never ends by itself
    hub.register(tool, name="hang")
    counts: list[int] = []

    async def caller() -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            await hub.execute("hang", timeout=0.05)
        finally:
            counts.append(task.cancelling())

    async def main() -> None:
        task = asyncio.create_task(caller())
        await tool.began.wait()
        task.cancel()
        await is_cancelled(task)
        assert counts == [1]
        assert tool.log == ["began", "cancelled"]

    world.run(main())


def test_a_tool_that_makes_another_error_of_the_cancellation_does_not_hide_it(
    hub: ToolHub, world: World
) -> None:
    """And no other candidate is tried after it."""
    tool, second = Hanging(), Hanging()

    async def converts() -> str:
        try:
            return await tool()
        except asyncio.CancelledError:
            raise ConnectionError("lost") from None

    offer(hub, "chain", converts, second)

    async def main() -> None:
        task = asyncio.create_task(hub.execute("chain", strategy="fallback"))
        await tool.began.wait()
        task.cancel()
        await is_cancelled(task)
        assert (tool.log, second.log) == (CLEAN, [])

    world.run(main())


@pytest.mark.parametrize("count", [1, 2])
def test_a_tool_that_cancels_itself_has_failed(hub: ToolHub, world: World, count: int) -> None:
    async def at_once() -> str:
        raise asyncio.CancelledError

    async def later() -> str:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.cancel)
        return await future

    def in_a_thread() -> str:
        raise asyncio.CancelledError

    for function in (at_once, later, in_a_thread):
        offer(hub, function.__name__, *[function] * count)

    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        for name in ("at_once", "later", "in_a_thread"):
            result = await hub.execute(name, strategy="first")
            assert not result.success
            assert result.kind in (ErrorKind.TOOL_ERROR, ErrorKind.CANCELLED)
            assert task.cancelling() == 0

    world.run(main())


def test_another_task_cancels_the_task_of_a_candidate(hub: ToolHub, world: World) -> None:
    tasks: list[asyncio.Task[Any]] = []

    async def victim() -> str:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        await asyncio.get_running_loop().create_future()
        return "never"

    other = asyncio.Event()

    async def survivor() -> str:
        await other.wait()
        return "survived"

    offer(hub, "race", victim, survivor)

    async def main() -> None:
        call = asyncio.create_task(hub.execute("race", strategy="first"))
        await turns()
        tasks[0].cancel()
        await turns()
        assert not call.done()
        other.set()
        result = await call
        assert result.result == "survived"
        assert result.meta["errors"][0]["kind"] == "cancelled"

    world.run(main())


def test_losers_are_awaited(hub: ToolHub, world: World) -> None:
    losers = [Hanging(), Hanging()]
    offer(hub, "race", losers[0], quick, losers[1])

    async def main() -> None:
        for _ in range(3):
            assert (await hub.execute("race", strategy="first")).result == "quick"
            assert [loser.log for loser in losers] == [CLEAN, CLEAN]
            for loser in losers:
                loser.log.clear()

    world.run(main())


def test_cancel_while_losers_are_awaited(hub: ToolHub, world: World) -> None:
    hold = asyncio.Event()
    loser = Hanging(hold)
    offer(hub, "race", loser, quick)

    async def main() -> None:
        task = asyncio.create_task(hub.execute("race", strategy="first"))
        while loser.log != CLEAN[:2]:
            await asyncio.sleep(0)
        task.cancel()
        await turns()
        hold.set()
        await is_cancelled(task)
        await tasks_end()
        assert loser.log == CLEAN

    world.run(main())


def test_a_task_that_is_cancelled_from_elsewhere_cleans_up_undisturbed(hub: ToolHub, world: World) -> None:
    """As at the end of `asyncio.run`, which cancels every task there is, the caller's and those of the candidates."""
    racers = [Hanging(), Hanging()]
    offer(hub, "race", *racers)

    async def main() -> None:
        before = asyncio.all_tasks()
        call = asyncio.create_task(hub.execute("race", strategy="first"))
        for racer in racers:
            await racer.began.wait()
        # The candidates first: the caller's cancellation meets them in the middle of their clean-up.
        for task in asyncio.all_tasks() - before - {call}:
            task.cancel()
        await asyncio.sleep(0)
        call.cancel()
        await is_cancelled(call)
        assert [racer.log for racer in racers] == [CLEAN, CLEAN]

    world.run(main())


def test_a_loser_that_gets_over_a_timeout_of_its_own_is_stopped_then(hub: ToolHub, world: World) -> None:
    cleaning, go_on, log = asyncio.Event(), asyncio.Event(), list[str]()

    async def loser() -> None:
        try:
            async with asyncio.timeout(0):
                try:
                    await asyncio.get_running_loop().create_future()
                finally:
                    cleaning.set()
                    await go_on.wait()
                    log.append("timeout cleaned up")
        except TimeoutError:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                log.append("stopped")

    async def winner() -> str:
        await cleaning.wait()
        asyncio.get_running_loop().call_later(0.01, go_on.set)
        return "won"

    offer(hub, "race", loser, winner)

    async def main() -> None:
        assert (await hub.execute("race", strategy="first")).result == "won"
        assert log == ["timeout cleaned up", "stopped"]

    world.run(main())


@pytest.mark.parametrize("how", ["timeout", "cancel"])
def test_a_sync_tool_sees_that_nobody_waits(hub: ToolHub, world: World, how: str) -> None:
    began, seen = threading.Event(), threading.Event()

    def works() -> None:
        call = current_call()
        assert not call.cancelled
        began.set()
        while not call.cancelled:
            threading.Event().wait(0.001)
        seen.set()

    hub.register(works, read_only=True)

    async def main() -> None:
        if how == "timeout":
            while not began.is_set():  # on a busy machine a thread may begin too late
                assert (await hub.execute("works", timeout=0.05)).kind == ErrorKind.TIMEOUT
        else:
            task = asyncio.create_task(hub.execute("works"))
            await asyncio.to_thread(began.wait)
            task.cancel()
            await is_cancelled(task)
        assert await asyncio.to_thread(seen.wait, 50)

    world.run(main())
