"""anyio on top of asyncio: scopes around calls and inside tools."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from bridge.kit import CLEAN, Blocked, Hanging, in_thread, offer, quick, turns
from toolhub import ToolHub, _core

anyio = pytest.importorskip("anyio")


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub(limits={"breaker_threshold": 0})
    hub.register(quick)
    hub.register(in_thread)
    return hub


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Callable[[], Coroutine[Any, Any, None]]], None]:
    if request.param:
        pytest.importorskip("uvloop")

    def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def watched() -> None:
            await main()
            bridge = _core.current_bridge()
            assert (bridge.pending_mail, bridge.pending_deadlines) == (0, 0)
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0
            assert asyncio.all_tasks() == {task}

        for _ in range(2):
            anyio.run(watched, backend="asyncio", backend_options={"use_uvloop": request.param})

    return run


@pytest.mark.parametrize("count", [1, 3])
def test_move_on_after(hub: ToolHub, run: Any, count: int) -> None:
    async def main() -> None:
        tools = [Hanging() for _ in range(count)]
        offer(hub, "hang", *tools)
        with anyio.move_on_after(0.01) as scope:
            await hub.execute("hang", strategy="first")
        assert scope.cancelled_caught
        # anyio repeats its cancellation at every turn. Alone, a tool is inside the scope and gets it too; in a race it
        # has its own task, is cancelled once and cleans up undisturbed.
        clean = CLEAN if count > 1 else CLEAN[:2]
        assert [tool.log for tool in tools] == [clean] * count

    run(main)


def test_a_call_inside_a_cancelled_scope(hub: ToolHub, run: Any) -> None:
    async def main() -> None:
        racers, blocked = [Hanging(), Hanging()], Blocked()
        offer(hub, "race", *racers)
        hub.register(Hanging(), name="alone", replace=True)
        hub.register(blocked, name="blocked", replace=True)
        for name in ("alone", "blocked", "race"):
            with anyio.CancelScope() as scope:
                scope.cancel()
                await hub.execute(name, strategy="first")
                pytest.fail("the scope was cancelled")
            assert scope.cancelled_caught
        blocked.released.set()
        assert all(racer.log in ([], CLEAN) for racer in racers)
        assert (await hub.execute("quick")).result == "quick"

    run(main)


def test_a_shielded_call_in_a_cancelled_scope_ends(hub: ToolHub, run: Any) -> None:
    async def main() -> None:
        offer(hub, "race", Hanging(), quick)
        results = []
        with anyio.CancelScope() as scope:
            scope.cancel()
            with anyio.CancelScope(shield=True):
                for name in ("quick", "in_thread", "race"):
                    results.append((await hub.execute(name, strategy="first")).result)
        assert results == ["quick", "toolhub-sync", "quick"]

    run(main)


def test_task_groups(hub: ToolHub, run: Any) -> None:
    async def main() -> None:
        offer(hub, "race", Hanging(), quick, in_thread)
        results: list[bool] = []

        async def call(name: str) -> None:
            results.append((await hub.execute(name, strategy="first")).success)

        async with anyio.create_task_group() as group:
            for name in ("quick", "race", "in_thread") * 3:
                group.start_soon(call, name)
        assert results == [True] * 9

    run(main)


def test_a_cancelled_scope_around_a_race(hub: ToolHub, run: Any) -> None:
    async def main() -> None:
        racers = [Hanging(), Hanging(), Hanging()]
        offer(hub, "race", *racers)
        async with anyio.create_task_group() as group:

            async def call() -> None:
                await hub.execute("race", strategy="first")

            group.start_soon(call)
            for racer in racers:
                await racer.began.wait()
            group.cancel_scope.cancel()
        assert [racer.log for racer in racers] == [CLEAN] * 3

    run(main)


@pytest.mark.parametrize("count", [1, 2])
def test_scopes_and_groups_inside_tools(hub: ToolHub, run: Any, count: int) -> None:
    async def scoped() -> str:
        with anyio.move_on_after(0.01) as scope:
            await anyio.sleep_forever()
        assert scope.cancelled_caught
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(anyio.sleep, 0)
                group.start_soon(turns)
        return "scoped"

    async def main() -> None:
        offer(hub, "tool", *[scoped, Hanging()][:count])
        assert (await hub.execute("tool", strategy="first")).result == "scoped"

    run(main)


@pytest.mark.parametrize("count", [1, 2])
def test_the_hubs_timeout_goes_through_scopes_inside_tools(hub: ToolHub, run: Any, count: int) -> None:
    async def main() -> None:
        ended: list[str] = []

        async def grouped() -> str:
            try:
                with anyio.CancelScope():
                    async with anyio.create_task_group() as group:
                        group.start_soon(anyio.sleep_forever)
                        await anyio.sleep_forever()
            finally:
                ended.append("ended")
            return "never"

        offer(hub, "tool", *[grouped] * count)
        result = await hub.execute("tool", strategy="first", timeout=0.01)
        assert result.kind == "timeout"
        assert ended == ["ended"] * count

    run(main)
