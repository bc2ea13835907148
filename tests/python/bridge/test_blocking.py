"""`hub.call` and its siblings: from scripts, threads, tools and inside running loops."""

import asyncio
import threading
from typing import Any

import pytest

from bridge.kit import Hanging, World, fails, in_thread, instant, offer, pool_at_rest, quick
from toolhub import ErrorKind, ToolHub, _background, _core


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub(limits={"breaker_threshold": 0})
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
def test_from_an_async_tool_on_a_background_loop(hub: ToolHub, method: str) -> None:
    args = {"call": "quick", "call_by_capability": "fast", "call_many": [("quick", {})]}[method]

    async def asks() -> str:
        found = getattr(hub, method)(args)
        result = found[0] if isinstance(found, list) else found
        return "asked for " + result.result

    async def fast() -> str:
        return "quick"

    hub.register(asks)
    hub.register(fast, capabilities=["fast"])
    assert hub.call("asks").result == "asked for quick"
    assert hub.call("quick").success


def test_async_tools_that_call_each_other_deeply(hub: ToolHub) -> None:
    async def nested(depth: int) -> str:
        return hub.call("nested", {"depth": depth - 1}).unwrap() if depth else "bottom"

    hub.register(nested)
    assert hub.call("nested", {"depth": 20}).result == "bottom"


def test_async_tools_that_call_each_other_without_end(hub: ToolHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_background, "_MOST_NESTED", 30)

    async def endless() -> str:
        return hub.call("endless").unwrap()

    hub.register(endless)
    result = hub.call("endless")
    assert "use 'await hub.execute(...)' there" in str(result.error)
    assert hub.call("quick").success


def test_a_tool_that_blocks_its_loop_delays_only_its_own_caller(hub: ToolHub) -> None:
    """Each of these blocks the thread of its event loop until all the others have answered."""
    blocked, release = threading.Semaphore(0), threading.Event()

    async def blocks() -> str:
        blocked.release()
        release.wait()
        return "released"

    hub.register(blocks)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(hub.call("blocks").result)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in threads:
        blocked.acquire()
    # Three loops are blocked now; this thread and new ones are not affected, whatever kind of tool they call.
    others: list[Any] = []
    for name in ("quick", "in_thread", "race"):
        assert hub.call(name, strategy="first").success
        one = threading.Thread(target=lambda name=name: others.append(hub.call(name, strategy="first")))
        one.start()
        one.join()
    assert [other.success for other in others] == [True] * 3
    assert found == []
    release.set()
    for thread in threads:
        thread.join()
    assert found == ["released"] * 3


def test_a_thread_has_one_loop_and_a_thread_that_has_ended_leaves_it_to_others(hub: ToolHub) -> None:
    async def where() -> int:
        return id(asyncio.get_running_loop())

    hub.register(where)
    mine = {hub.call("where").result for _ in range(3)}
    assert len(mine) == 1
    found: list[set[int]] = []
    for _ in range(3):
        thread = threading.Thread(target=lambda: found.append({hub.call("where").result for _ in range(3)}))
        thread.start()
        thread.join()
    assert all(len(one) == 1 and one != mine for one in found)
    assert len(set.union(*found)) == 1
    assert {hub.call("where").result} == mine


def test_loops_without_a_caller_end(hub: ToolHub) -> None:
    count, inside = 20, threading.Barrier(20)

    async def meets() -> None:
        inside.wait()

    hub.register(meets)
    threads = [threading.Thread(target=hub.call, args=("meets",)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hub.call("quick")
    spare = [loop for loop in _background._loops if loop.is_spare()]
    assert len(spare) <= _background._SPARE_LOOPS


def test_with_many_callers_loops_are_shared(hub: ToolHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_background, "_MOST_LOOPS", 1)
    started, go = threading.Semaphore(0), threading.Event()

    async def waits() -> str:
        started.release()
        await asyncio.to_thread(go.wait)
        return "done"

    hub.register(waits)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(hub.call("waits").result)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in threads:
        started.acquire()
    go.set()
    for thread in threads:
        thread.join()
    assert found == ["done"] * 4


@pytest.mark.usefixtures("pool")
def test_all_workers_wait_for_tools_that_need_a_worker(hub: ToolHub) -> None:
    """Waiting calls step aside, so that others can run."""
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


def test_the_background_thread_is_ours_and_only_one_for_a_caller(hub: ToolHub) -> None:
    async def where() -> tuple[str, int]:
        return threading.current_thread().name, threading.get_ident()

    hub.register(where)
    ((name, _),) = {hub.call("where").result for _ in range(5)}
    assert name == "toolhub-loop"


def test_nothing_is_left_on_the_background_loop(hub: ToolHub) -> None:
    async def look() -> tuple[int, int, int]:
        bridge = _core.current_bridge()
        return bridge.pending_mail, bridge.pending_deadlines, len(asyncio.all_tasks())

    hub.register(look)
    for name in ("quick", "in_thread", "race", "fails"):
        hub.call(name, strategy="first")
    # A tool that never waits has no deadline and no mail; its call is the one task.
    assert hub.call("look").result == (0, 0, 1)


def test_two_calls_at_once_wait_for_each_other(hub: ToolHub) -> None:
    """Neither blocks the other's way; each has a loop of its own, so they meet as threads do."""
    meeting: list[Any] = []
    first_come = threading.Lock()

    async def meets() -> int:
        with first_come:
            is_first = not meeting
            if is_first:
                meeting.append(asyncio.get_running_loop().create_future())
        if is_first:
            return await meeting[0]
        meeting[0].get_loop().call_soon_threadsafe(meeting[0].set_result, 7)
        return 7

    hub.register(meets)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(hub.call("meets").result)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [7, 7]
