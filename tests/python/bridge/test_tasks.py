"""Whose task a tool runs in, and what is built on that: timeouts, groups, scopes of asyncio."""

import asyncio
from typing import Any

import pytest

from bridge.kit import CLEAN, Hanging, World, instant, offer, quick, turns
from toolhub import ErrorKind, ToolHub


@pytest.fixture
def hub() -> ToolHub:
    return ToolHub(limits={"breaker_threshold": 0})


async def task_now() -> asyncio.Task[object]:
    return running_task()


async def task_later() -> asyncio.Task[object]:
    await turns(2)
    return running_task()


def running_task() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task is not None
    return task


def test_alone_a_tool_runs_in_the_callers_task(hub: ToolHub, world: World) -> None:
    hub.register(task_now)
    hub.register(task_later)

    async def main() -> None:
        for name in ("task_now", "task_later"):
            assert (await hub.execute(name)).result is asyncio.current_task()

    world.run(main())


def test_one_after_another_tools_run_in_the_callers_task(hub: ToolHub, world: World) -> None:
    async def fails() -> None:
        await turns(2)
        raise ValueError(running_task() is caller)

    offer(hub, "chain", fails, task_later, read_only=True)

    async def main() -> None:
        nonlocal caller
        caller = running_task()
        result = await hub.execute("chain", strategy="fallback")
        assert result.result is caller
        assert result.meta["errors"][0]["error"].endswith("True")

    caller: asyncio.Task[object] | None = None
    world.run(main())


def test_in_a_race_each_tool_has_a_task_of_its_own(hub: ToolHub, world: World) -> None:
    tasks: list[asyncio.Task[object]] = []

    async def notes() -> str:
        tasks.append(running_task())
        await turns(2)
        assert running_task() is tasks[-1] or len(tasks) > 1
        return "ok"

    offer(hub, "race", notes, notes, notes)

    async def main() -> None:
        assert (await hub.execute("race", strategy="all")).success
        assert len({*tasks, asyncio.current_task()}) == 4
        assert all(task.done() for task in tasks)

    world.run(main())


class OwnTasks(asyncio.SelectorEventLoop):
    """A loop that has its own way of making tasks."""

    made = 0

    def create_task(self, *args: Any, **options: Any) -> asyncio.Task[Any]:
        self.made += 1
        return super().create_task(*args, **options)


def test_a_loop_with_its_own_way_of_making_tasks_makes_ours_too(hub: ToolHub) -> None:
    offer(hub, "race", quick, quick, quick)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, OwnTasks)
        before = loop.made
        assert (await hub.execute("race", strategy="first")).success
        assert loop.made == before + 3

    World("own tasks", new_loop=OwnTasks).run(main())


def test_a_task_factory_is_used_from_when_it_is_set(hub: ToolHub) -> None:
    offer(hub, "race", quick, quick, quick)
    made: list[asyncio.Task[Any]] = []

    def factory(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(asyncio.Task(coroutine, loop=loop, **options))
        return made[-1]

    async def main() -> None:
        loop = asyncio.get_running_loop()
        for used, expected in ((None, 0), (factory, 3), (None, 3)):
            loop.set_task_factory(used)
            assert (await hub.execute("race", strategy="first")).success
            assert len(made) == expected

    World("asyncio").run(main())


def test_a_task_of_ours_has_the_name_of_its_tool(hub: ToolHub) -> None:
    offer(hub, "race", task_now, task_later)

    async def main() -> None:
        result = await hub.execute("race", strategy="first")
        assert result.result.get_name() == "race"

    World("asyncio").run(main())


def test_a_task_of_ours_shows_the_tool_in_its_repr(hub: ToolHub, world: World) -> None:
    seen: list[str] = []

    async def find_me() -> str:
        seen.append(repr(running_task()))
        return "ok"

    offer(hub, "race", find_me, find_me)
    world.run(hub.execute("race", strategy="all"))
    assert "find_me" in seen[0]


@pytest.mark.parametrize("count", [1, 2])
def test_asyncio_timeout_around_a_call(hub: ToolHub, world: World, count: int) -> None:
    tools = [Hanging() for _ in range(count)]
    offer(hub, "hang", *tools)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await hub.execute("hang", strategy="first")
        assert running_task().cancelling() == 0
        assert [tool.log for tool in tools] == [CLEAN] * count

    world.run(main())


@pytest.mark.parametrize("count", [1, 2])
def test_wait_for_around_a_call(hub: ToolHub, world: World, count: int) -> None:
    tools = [Hanging() for _ in range(count)]
    offer(hub, "hang", *tools)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(hub.execute("hang", strategy="first"), 0.01)
        assert [tool.log for tool in tools] == [CLEAN] * count
        hub.register(quick)
        assert (await asyncio.wait_for(hub.execute("quick"), 60)).success

    world.run(main())


@pytest.mark.parametrize("count", [1, 2])
def test_asyncio_timeout_inside_a_tool(hub: ToolHub, world: World, count: int) -> None:
    async def impatient() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.get_running_loop().create_future()
        except TimeoutError:
            return "gave up"
        return "never"

    offer(hub, "patience", *[impatient, Hanging()][:count])

    async def main() -> None:
        assert (await hub.execute("patience", strategy="first")).result == "gave up"
        assert running_task().cancelling() == 0

    world.run(main())


@pytest.mark.parametrize("count", [1, 3])
def test_the_hubs_timeout_is_a_result(hub: ToolHub, world: World, count: int) -> None:
    tools = [Hanging() for _ in range(count)]
    offer(hub, "hang", *tools)

    async def main() -> None:
        for _ in range(2):
            result = await hub.execute("hang", strategy="first", timeout=0.01)
            assert result.kind is ErrorKind.TIMEOUT
            assert running_task().cancelling() == 0
        result = await hub.execute("hang", strategy="first", deadline=0.01)
        assert result.kind is ErrorKind.TIMEOUT
        assert running_task().cancelling() == 0
        assert [tool.log for tool in tools] == [CLEAN * 3] * count

    world.run(main())


def test_timeouts_of_tools_inside_tools(hub: ToolHub, world: World) -> None:
    inner = Hanging()
    hub.register(inner, name="inner")

    async def outer() -> str:
        result = await hub.execute("inner", timeout=0.01)
        await turns()
        return f"inner: {result.kind}"

    hub.register(outer)

    async def main() -> None:
        assert (await hub.execute("outer")).result == "inner: timeout"
        assert running_task().cancelling() == 0
        # The outer time is over first: the inner tool is cancelled with it.
        result = await hub.execute("outer_hangs", timeout=0.01)
        assert result.kind is ErrorKind.TIMEOUT
        assert running_task().cancelling() == 0
        assert inner.log == CLEAN * 2

    async def outer_hangs() -> str:
        await hub.execute("inner")
        return "never"

    hub.register(outer_hangs)
    world.run(main())


def test_both_times_over_at_once(hub: ToolHub, world: World) -> None:
    """The inner and the outer limit are the same moment: one of them wins, and no cancellation is left over."""
    inner = Hanging()
    hub.register(inner, name="inner")

    async def outer() -> str:
        return f"inner: {(await hub.execute('inner', timeout=0.01)).kind}"

    hub.register(outer)

    async def main() -> None:
        for _ in range(20):
            result = await hub.execute("outer", timeout=0.01)
            assert result.kind is ErrorKind.TIMEOUT or result.result == "inner: timeout"
            assert running_task().cancelling() == 0
            await turns(2)  # nothing is delivered late

    world.run(main())


def test_task_groups_around_and_inside(hub: ToolHub, world: World) -> None:
    async def group() -> int:
        async with asyncio.TaskGroup() as tasks:
            results = [tasks.create_task(hub.execute("quick")) for _ in range(3)]
        return sum(task.result().success for task in results)

    hub.register(quick)
    hub.register(group)
    offer(hub, "race", group, Hanging())

    async def main() -> None:
        async with asyncio.TaskGroup() as tasks:
            results = [
                tasks.create_task(hub.execute(name, strategy="first")) for name in ("group", "race") * 5
            ]
        assert [task.result().result for task in results] == [3] * 10

    world.run(main())


def test_a_failing_group_cancels_the_calls_in_it(hub: ToolHub, world: World) -> None:
    alone, racing = Hanging(), Hanging()
    hub.register(alone, name="alone")
    offer(hub, "race", racing, racing)

    async def fails_when_both_run() -> None:
        await alone.began.wait()
        await racing.began.wait()
        raise LookupError("enough")

    async def main() -> None:
        with pytest.raises(ExceptionGroup) as caught:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(hub.execute("alone"))
                tasks.create_task(hub.execute("race", strategy="first"))
                tasks.create_task(fails_when_both_run())
        assert caught.group_contains(LookupError)
        assert alone.log == CLEAN
        assert sorted(racing.log) == sorted(CLEAN * 2)

    world.run(main())


def test_tools_that_call_tools_in_races(hub: ToolHub, world: World) -> None:
    async def nested() -> str:
        return (await hub.execute("inner_race", strategy="first")).result

    loser = Hanging()
    offer(hub, "inner_race", loser, quick, loser)
    offer(hub, "outer_race", nested, loser)
    hub.register(instant)

    async def main() -> None:
        for _ in range(5):
            assert (await hub.execute("outer_race", strategy="first")).result == "quick"
        assert loser.log.count("cleaned") == loser.log.count("began") == 15

    world.run(main())
