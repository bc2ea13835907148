"""Limits: never more at once than allowed, for the hub, a source or a tool; the others queue in order."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from support.tools import Crowd, Endless, Run, Scripted, offer, tried, turns
from toolhub import ErrorKind, ToolHub


class Door:
    """An async tool that begins, waits until it is released, and records which calls ran and in which order."""

    def __init__(self) -> None:
        self.order: list[int] = []
        self.inside = 0
        self.go = asyncio.Semaphore(0)

    async def __call__(self, n: int = 0) -> int:
        self.order.append(n)
        self.inside += 1
        try:
            await self.go.acquire()
        finally:
            self.inside -= 1
        return n


@pytest.mark.parametrize("limit", [1, 3])
def test_a_hub_never_runs_more_at_once_than_its_limit(run: Run, limit: int) -> None:
    async def scene() -> None:
        hub, crowds = ToolHub(limits={"hub": limit}), Crowd()
        hub.register(crowds, name="a")
        hub.register(crowds, name="b", source="skills")
        results = await asyncio.gather(*(hub.execute("ab"[n % 2], {"n": n}) for n in range(20)))
        assert [result.result for result in results] == list(range(20))
        assert crowds.most == limit

    run(scene())


def test_a_source_has_a_limit_of_its_own(run: Run) -> None:
    async def scene() -> None:
        hub, native, skill = ToolHub(limits={"skills": 2}), Crowd(), Crowd()
        hub.register(native, name="native")
        hub.register(skill, name="skill", source="skills")
        calls = [("native", {"n": n}) for n in range(10)] + [("skill", {"n": n}) for n in range(10)]
        assert all(await hub.execute_many(calls, concurrency=20))
        assert (native.most, skill.most) == (10, 2)

    run(scene())


def test_a_tool_has_a_limit_of_its_own(run: Run) -> None:
    async def scene() -> None:
        hub, narrow, wide = ToolHub(), Crowd(), Crowd()
        hub.register(narrow, name="narrow", max_concurrency=2)
        hub.register(wide, name="wide")
        calls = [(name, {"n": n}) for n in range(10) for name in ("narrow", "wide")]
        assert all(await hub.execute_many(calls, concurrency=20))
        assert (narrow.most, wide.most) == (2, 10)

    run(scene())


def test_all_limits_hold_together(run: Run) -> None:
    async def scene() -> None:
        hub, narrow, all_of_them = ToolHub(limits={"hub": 5, "tools": 4}), Crowd(), Crowd()

        async def both(n: int) -> int:
            await asyncio.gather(narrow(n), all_of_them(n))
            return n

        hub.register(both, name="narrow", max_concurrency=2)
        hub.register(all_of_them, name="wide")
        hub.register(all_of_them, name="skill", source="skills")
        calls = [(name, {"n": n}) for n in range(10) for name in ("narrow", "wide", "skill")]
        assert all(await hub.execute_many(calls, concurrency=30))
        assert narrow.most == 2
        assert all_of_them.most == 5

    run(scene())


@pytest.mark.parametrize("limited", ["hub", "source", "tool"])
def test_sync_tools_keep_the_limits_too(run: Run, limited: str) -> None:
    hub = ToolHub(limits={"hub": {"hub": 2}, "source": {"tools": 2}, "tool": {}}[limited])
    lock, full = threading.Lock(), threading.Event()
    counts = {"inside": 0, "most": 0}

    def counted() -> str:
        with lock:
            counts["inside"] += 1
            counts["most"] = max(counts["most"], counts["inside"])
            if counts["inside"] >= 2:
                full.set()
        full.wait(30)
        with lock:
            counts["inside"] -= 1
        return "done"

    hub.register(counted, max_concurrency=2 if limited == "tool" else None)
    assert all(run(hub.execute_many(["counted"] * 12, concurrency=12)))
    assert counts == {"inside": 0, "most": 2}


def test_those_who_wait_are_let_in_by_turns(run: Run) -> None:
    async def scene() -> None:
        hub, door = ToolHub(limits={"hub": 1}), Door()
        hub.register(door, name="t")
        calls = []
        for n in range(5):
            calls.append(asyncio.create_task(hub.execute("t", {"n": n})))
            await turns()
        assert door.order == [0]
        for n in range(5):
            door.go.release()
            assert (await calls[n]).result == n
        assert door.order == [0, 1, 2, 3, 4]

    run(scene())


def test_a_full_queue_refuses_at_once(run: Run) -> None:
    async def scene() -> None:
        hub, door = ToolHub(limits={"hub": 1, "max_waiting": 2}), Door()
        hub.register(door, name="t")
        calls = []
        for n in range(3):
            calls.append(asyncio.create_task(hub.execute("t", {"n": n})))
            await turns()
        refused = await hub.execute("t", {"n": 3})
        assert refused.kind is ErrorKind.OVERLOADED
        assert refused.meta["error"]["retryable"]
        assert refused.meta["error"]["outcome"] == "not_sent"
        for _ in calls:
            door.go.release()
        assert [(await call).result for call in calls] == [0, 1, 2]
        assert door.order == [0, 1, 2]
        door.go.release()
        assert (await hub.execute("t", {"n": 4})).result == 4

    run(scene())


def test_an_overloaded_candidate_gives_way_to_another_also_with_effects(run: Run) -> None:
    async def scene() -> None:
        hub, door = ToolHub(limits={"max_waiting": 0}), Door()
        hub.register(door, name="send", source="mcps", server="busy", max_concurrency=1)
        hub.register(lambda n=0: "sent", name="send", source="mcps", server="free")
        first = asyncio.create_task(hub.execute("send", server="busy"))
        await turns()
        result = await hub.execute("send")
        assert (result.result, tried(result)) == ("sent", ["busy", "free"])
        assert result.meta["errors"][0]["kind"] == "overloaded"
        door.go.release()
        assert (await first).success

    run(scene())


def test_one_who_is_cancelled_while_waiting_frees_his_place(run: Run) -> None:
    async def scene() -> None:
        hub, door = ToolHub(limits={"hub": 1, "max_waiting": 1}), Door()
        hub.register(door, name="t")
        first = asyncio.create_task(hub.execute("t", {"n": 1}))
        await turns()
        second = asyncio.create_task(hub.execute("t", {"n": 2}))
        await turns()
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        third = asyncio.create_task(hub.execute("t", {"n": 3}))
        await turns()
        door.go.release()
        door.go.release()
        assert (await first).result == 1
        assert (await third).result == 3
        assert door.order == [1, 3]

    run(scene())


@pytest.mark.parametrize("end", ["raises", "times out", "is cancelled", "reports failure"])
def test_a_call_that_ends_badly_frees_its_place(run: Run, end: str) -> None:
    async def scene() -> None:
        hub = ToolHub(limits={"hub": 1, "tools": 1})
        hub.register(Scripted(OSError("x")), name="raises", max_concurrency=1)
        hub.register(Endless(), name="times out", max_concurrency=1, timeout=0.01)
        hub.register(Endless(), name="is cancelled", max_concurrency=1)
        hub.register(Scripted({"success": False}), name="reports failure", max_concurrency=1)
        hub.register(lambda: "fine", name="other")
        for _ in range(3):
            call = asyncio.create_task(hub.execute(end))
            if end == "is cancelled":
                await turns()
                call.cancel()
            await asyncio.wait([call])
            assert call.cancelled() or not call.result().success
            assert (await hub.execute("other")).result == "fine"

    run(scene())


def test_losers_of_a_race_free_their_slots(run: Run) -> None:
    async def scene() -> None:
        hub = ToolHub(limits={"hub": 3})
        offer(hub, "race", a=Endless(), b=Endless(), c=Scripted("c"))
        for _ in range(5):
            assert (await hub.execute("race", strategy="first")).result == "c"

    run(scene())


def test_a_deadline_that_passes_in_the_queue_says_that_nothing_was_sent(run: Run) -> None:
    async def scene() -> None:
        hub, door = ToolHub(limits={"hub": 1}), Door()
        hub.register(door, name="t")
        first = asyncio.create_task(hub.execute("t", {"n": 1}))
        await turns()
        for options in ({"deadline": 0.01}, {"timeout": 0.01}):
            late: Any = await hub.execute("t", {"n": 2}, **options)
            assert late.kind is ErrorKind.TIMEOUT
            assert late.meta["error"]["outcome"] == "not_sent"
            assert "may still have run" not in str(late.error)
        door.go.release()
        assert (await first).result == 1
        assert door.order == [1]

    run(scene())


def test_waiting_in_the_queue_is_not_held_against_the_tool(run: Run) -> None:
    async def scene() -> None:
        hub, door = ToolHub(limits={"hub": 1, "breaker_threshold": 1, "breaker_rest": 1000}), Door()
        hub.register(door, name="t")
        first = asyncio.create_task(hub.execute("t"))
        await turns()
        assert (await hub.execute("t", deadline=0.01)).kind is ErrorKind.TIMEOUT
        assert hub.stats("t")["t"][0]["breaker"] == "closed"
        door.go.release()
        assert (await first).success

    run(scene())


def test_a_tool_that_calls_a_tool_lends_its_place(run: Run) -> None:
    async def scene() -> None:
        hub = ToolHub(limits={"hub": 1})
        hub.register(lambda: "inner", name="inner")

        async def outer() -> Any:
            return (await hub.execute("inner", deadline=20)).result

        hub.register(outer)
        assert (await hub.execute("outer")).result == "inner"
        assert (await hub.execute("inner")).result == "inner"

    run(scene())


def test_calls_in_an_executor_borrow_with_a_copy_of_the_context(run: Run) -> None:
    """A thread of an executor starts with an empty context: the remedy of the documentation."""
    hub = ToolHub(limits={"hub": 1}, timeout=30)

    @hub.tool
    def part(i: int) -> int:
        return i

    @hub.tool
    def whole() -> list[Any]:
        with ThreadPoolExecutor(3) as executor:
            calls = [
                executor.submit(contextvars.copy_context().run, hub.call, "part", {"i": i}) for i in range(3)
            ]
            return [call.result().unwrap() for call in calls]

    async def main() -> None:
        results = await asyncio.gather(*[hub.execute("whole") for _ in range(2)])
        assert [result.result for result in results] == [[0, 1, 2], [0, 1, 2]]

    run(main())
