"""`hub.execute(...)` is a coroutine like any other."""

import asyncio
import gc
import inspect

import pytest

from bridge.kit import CLEAN, Blocked, Hanging, World, instant, offer, pool_at_rest, quick, tasks_end, turns
from toolhub import ToolHub


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub()
    hub.register(quick)
    hub.register(instant)
    return hub


def test_it_is_a_coroutine(hub: ToolHub) -> None:
    for coroutine in (
        hub.execute("quick"),
        hub.execute_by_capability("x"),
        hub.execute_many(["quick"]),
    ):
        assert inspect.iscoroutine(coroutine)
        assert asyncio.iscoroutine(coroutine)
        coroutine.close()
    assert inspect.iscoroutinefunction(hub.execute)


def test_one_that_is_never_awaited_warns(hub: ToolHub) -> None:
    with pytest.warns(RuntimeWarning, match=r"\.execute' was never awaited"):
        hub.execute("quick")
        gc.collect()


def test_awaiting_twice_is_an_error(hub: ToolHub, world: World) -> None:
    async def main() -> None:
        call = hub.execute("quick")
        await call
        with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
            await call

    world.run(main())


def test_an_execution_of_the_core_cannot_be_awaited_twice(hub: ToolHub, world: World) -> None:
    from toolhub import _core

    async def main() -> None:
        execution = _core.execute(hub._core, "quick", None, _core.CallOptions())
        assert (await execution).result == "quick"
        with pytest.raises(RuntimeError, match="cannot reuse already awaited execution"):
            await execution

    world.run(main())


def test_awaiting_in_two_tasks_is_an_error(hub: ToolHub, world: World) -> None:
    hanging = Hanging()
    hub.register(hanging, name="hang")

    async def main() -> None:
        call = hub.execute("hang")
        first = asyncio.create_task(call)
        await hanging.began.wait()
        with pytest.raises(RuntimeError, match="being awaited already"):
            await call
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first

    world.run(main())


def test_a_tool_that_never_waits_needs_no_loop(hub: ToolHub) -> None:
    with pytest.raises(StopIteration) as ended:
        hub.execute("instant").send(None)
    assert ended.value.value.result == "instant"


def test_outside_of_a_task_it_is_refused(hub: ToolHub, plain_loop: asyncio.AbstractEventLoop) -> None:
    """Like asyncio.timeout: without a task there is nothing that a time limit could cancel."""
    errors: list[BaseException] = []

    def step() -> None:
        try:
            hub.execute("quick").send(None)
        except BaseException as error:
            errors.append(error)

    async def main() -> None:
        asyncio.get_running_loop().call_soon(step)
        await turns()

    plain_loop.run_until_complete(main())
    assert [str(error) for error in errors] == ["a hub's coroutine must be awaited inside an asyncio task"]


def test_without_a_loop_it_is_refused(hub: ToolHub) -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        hub.execute("quick").send(None)


def test_closing_closes_the_tool(hub: ToolHub, world: World) -> None:
    log: list[str] = []

    async def tool() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except GeneratorExit:
            log.append("closed")
            raise

    hub.register(tool)

    async def main() -> None:
        call = hub.execute("tool")
        call.send(None)
        call.close()
        assert log == ["closed"]
        call.close()  # closing twice is fine

    world.run(main())


def test_closing_a_race_cancels_its_tasks(hub: ToolHub, world: World) -> None:
    tools = [Hanging(), Hanging()]
    offer(hub, "race", *tools)

    async def main() -> None:
        call = hub.execute("race", strategy="first")
        call.send(None)
        await turns()
        call.close()
        await tasks_end()
        assert [tool.log for tool in tools] == [CLEAN, CLEAN]

    world.run(main())


@pytest.mark.usefixtures("pool")
def test_closing_abandons_a_thread(hub: ToolHub, world: World) -> None:
    blocked = Blocked()
    hub.register(blocked, name="blocked")

    async def main() -> None:
        call = hub.execute("blocked")
        call.send(None)
        await blocked.has_begun()
        call.close()
        assert hub.stats()["blocked"][0]["abandoned"] == 1, "the thread works on, without a caller"

    try:
        world.run(main())
    finally:
        blocked.released.set()
    pool_at_rest()
    assert hub.stats()["blocked"][0]["abandoned"] == 0


def test_a_coroutine_that_is_dropped_in_the_middle(hub: ToolHub, world: World) -> None:
    tools = [Hanging(), Hanging()]
    offer(hub, "race", *tools)

    async def main() -> None:
        for name in ("quick", "race"):
            call = hub.execute(name, strategy="first")
            call.send(None)
            await turns()
            del call
            gc.collect(1)
        await tasks_end()
        assert [tool.log for tool in tools] == [CLEAN, CLEAN]

    world.run(main())


def test_an_exception_thrown_in_comes_out_again(hub: ToolHub, world: World) -> None:
    """Into a race: all candidates are stopped first. Into one coroutine: it is the coroutine's, as with a plain await."""
    tools = [Hanging(), Hanging()]
    offer(hub, "race", *tools)

    async def main() -> None:
        call = hub.execute("race", strategy="first")
        call.send(None)
        await turns()
        waiting = call.throw(LookupError("thrown"))
        assert waiting is not None
        await tasks_end()
        with pytest.raises(LookupError, match="thrown"):
            call.send(None)
        one = hub.execute("quick")
        one.send(None)
        with pytest.raises(StopIteration) as ended:
            one.throw(LookupError("thrown"))
        assert ended.value.value.error == "Tool 'quick' raised LookupError: thrown"

    world.run(main())


class Awaitable:
    """Not a coroutine, but something that can be awaited."""

    def __init__(self, *, broken: bool = False) -> None:
        self.broken = broken

    def __await__(self):  # type: ignore[no-untyped-def]
        if self.broken:
            raise OSError("cannot be awaited")
        yield from asyncio.sleep(0).__await__()
        return "awaited"


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("broken", [False, True])
def test_awaitables_of_any_kind(hub: ToolHub, world: World, count: int, broken: bool) -> None:
    class Tool:
        name, description = "tool", "gives an awaitable"

        async def execute(self, input: object) -> str:
            return await Awaitable(broken=broken)

    offer(hub, "own", *[Tool()] * count)
    result = world.run(hub.execute("own", "x", strategy="first"))
    assert (result.result, result.error) == (
        (None, "Tool 'own' raised OSError: cannot be awaited") if broken else ("awaited", None)
    )
