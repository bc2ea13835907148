"""`hub.call` and its siblings: from scripts, threads, tools and inside running loops."""

import asyncio
import threading
from typing import Any

import pytest

from bridge.kit import Hanging, World, fails, in_thread, instant, offer, pool_at_rest, quick
from toolhub import ErrorKind, ToolHub, _core


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub(breaker_threshold=0)
    for function in (quick, instant, in_thread, fails):
        hub.register(function)
    offer(hub, "race", Hanging(), quick)
    return hub


def test_from_a_script(hub: ToolHub) -> None:
    assert hub.call("quick").result == "quick"
    assert hub.call("instant").result == "instant"
    assert hub.call("in_thread").result == "toolhub-sync"
    assert hub.call("race", strategy="first").result == "quick"
    assert hub.call("fails").kind is ErrorKind.TOOL_ERROR
    assert hub.call("quack").kind is ErrorKind.NOT_FOUND
    assert len(hub.call_many(["quick"] * 5)) == 5
    hub.register(quick, name="tagged", capabilities=["tag"])
    assert hub.call_by_capability("tag").result == "quick"


def test_a_wrong_option_is_raised_in_the_callers_thread(hub: ToolHub) -> None:
    with pytest.raises(ValueError, match="strategy must be"):
        hub.call("quick", strategy="fastest")
    with pytest.raises(TypeError, match="has no option 'speed'"):
        hub.call("quick", speed=3)


def test_inside_a_running_loop(hub: ToolHub, world: World) -> None:
    """As in a notebook: the loop of the cell stands still meanwhile, and goes on afterwards."""

    async def main() -> None:
        for _ in range(3):
            for name in ("quick", "in_thread", "race"):
                assert hub.call(name, strategy="first").success
                assert (await hub.execute(name, strategy="first")).success

    world.run(main())


def test_from_eight_threads(hub: ToolHub) -> None:
    results: list[bool] = []

    def work() -> None:
        for _ in range(20):
            for name in ("quick", "in_thread", "race"):
                results.append(hub.call(name, strategy="first").success)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 480


def test_from_a_sync_tool(hub: ToolHub, world: World) -> None:
    def asks() -> str:
        return "asked for " + hub.call("quick").result

    hub.register(asks)
    assert hub.call("asks").result == "asked for quick"
    assert world.run(hub.execute("asks")).result == "asked for quick"


def test_from_an_async_tool_on_a_loop_of_the_callers(hub: ToolHub, world: World) -> None:
    async def asks() -> str:
        return "asked for " + hub.call("quick").result

    hub.register(asks)
    assert world.run(hub.execute("asks")).result == "asked for quick"


@pytest.mark.parametrize("method", ["call", "call_by_capability", "call_many"])
def test_from_an_async_tool_on_the_background_loop_it_is_refused(hub: ToolHub, method: str) -> None:
    async def asks() -> str:
        getattr(hub, method)("quick")
        return "never"

    hub.register(asks)
    result = hub.call("asks")
    assert isinstance(result.exception, RuntimeError)
    assert "use 'await hub.execute(...)' there" in str(result.error)
    assert hub.call("quick").success


@pytest.mark.usefixtures("pool")
def test_all_workers_wait_for_tools_that_need_a_worker(hub: ToolHub) -> None:
    """Those who wait step aside, so that others can work."""
    all_inside = threading.Barrier(32)

    def asks() -> str:
        all_inside.wait()
        return hub.call("in_thread").result

    hub.register(asks)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(hub.call("asks").result)) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == ["toolhub-sync"] * 32
    workers, _, _ = pool_at_rest()
    assert workers <= 32


@pytest.mark.usefixtures("pool")
def test_sync_tools_that_call_each_other_deeply(hub: ToolHub) -> None:
    def nested(depth: int) -> str:
        return hub.call("nested", {"depth": depth - 1}).result if depth else "bottom"

    hub.register(nested)
    assert hub.call("nested", {"depth": 60}).result == "bottom"


def test_the_background_thread_is_ours_and_only_one(hub: ToolHub) -> None:
    async def where() -> str:
        return threading.current_thread().name

    hub.register(where)
    assert {hub.call("where").result for _ in range(5)} == {"toolhub-loop"}
    assert [thread.name for thread in threading.enumerate()].count("toolhub-loop") == 1


def test_nothing_is_left_on_the_background_loop(hub: ToolHub) -> None:
    async def look() -> tuple[int, int, int]:
        bridge = _core.current_bridge()
        return bridge.pending_mail, bridge.pending_deadlines, len(asyncio.all_tasks())

    hub.register(look)
    for name in ("quick", "in_thread", "race", "fails"):
        hub.call(name, strategy="first")
    # A tool that never waits has no deadline and no mail; its call is the one task.
    assert hub.call("look").result == (0, 0, 1)


def test_two_calls_at_once_share_the_loop(hub: ToolHub) -> None:
    """Two blocking calls that wait for each other: neither blocks the other's way."""
    meeting: list[Any] = []

    async def meets() -> int:
        if not meeting:
            meeting.append(asyncio.get_running_loop().create_future())
            return await meeting[0]
        meeting[0].set_result(7)
        return 7

    hub.register(meets)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(hub.call("meets").result)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [7, 7]
