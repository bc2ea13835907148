"""Followers of a shared call outlive their leader, and the cache of results is bounded in bytes and in time."""

import asyncio
import threading
import weakref
from typing import Any

from support.tools import Run, turns
from toolhub import ErrorKind, ToolHub


def on_new_loop(call: Any) -> tuple[asyncio.AbstractEventLoop, "asyncio.Task[Any]"]:
    """A call that is suspended on a loop which does not run any more."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(call)
    loop.run_until_complete(turns())
    return loop, task


def finish(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[Any]") -> None:
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()


class FirstHangs:
    """A read-only tool whose first run never ends."""

    def __init__(self) -> None:
        self.runs = 0

    async def __call__(self) -> str:
        self.runs += 1
        run = self.runs
        if run == 1:
            await asyncio.Event().wait()
        await turns()
        return f"run {run}"


def test_a_follower_takes_over_when_the_loop_of_its_leader_does_not_run(run: Run) -> None:
    hub, tool = ToolHub(), FirstHangs()
    hub.register(tool, name="get", read_only=True)
    loop, leader = on_new_loop(hub.execute("get", single_flight=True))
    result = run(asyncio.wait_for(hub.execute("get", single_flight=True), 15))
    assert (result.result, tool.runs) == ("run 2", 2)
    finish(loop, leader)


def test_a_follower_takes_over_when_the_loop_of_its_leader_is_closed(run: Run) -> None:
    hub, tool = ToolHub(), FirstHangs()
    hub.register(tool, name="get", read_only=True)
    loop, leader = on_new_loop(hub.execute("get", single_flight=True))
    leader._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.close()
    result = run(asyncio.wait_for(hub.execute("get", single_flight=True), 15))
    assert (result.result, tool.runs) == ("run 2", 2)
    assert not leader.done()


def test_followers_take_over_when_the_loop_of_their_leader_stops_later(run: Run) -> None:
    hub, tool, begun, stop = ToolHub(), FirstHangs(), threading.Event(), threading.Event()
    hub.register(tool, name="get", read_only=True)
    left: list[Any] = []

    def lead() -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(hub.execute("get", single_flight=True))

        async def until_stopped() -> None:
            await turns()
            begun.set()
            await asyncio.to_thread(stop.wait, 30)

        loop.run_until_complete(until_stopped())
        left.append((loop, task))

    thread = threading.Thread(target=lead)
    thread.start()
    assert begun.wait(30)

    async def follow() -> None:
        calls = [asyncio.create_task(hub.execute("get", single_flight=True)) for _ in range(3)]
        await turns()
        assert tool.runs == 1
        stop.set()
        results = await asyncio.wait_for(asyncio.gather(*calls), 15)
        assert [result.result for result in results] == ["run 2"] * 3

    run(follow())
    thread.join(30)
    finish(*left[0])


class BlocksItsLoop:
    """Its first run blocks the event loop until it is released; the later ones wait for `finish`."""

    def __init__(self) -> None:
        self.runs = 0
        self.begun, self.go = threading.Event(), threading.Event()
        self.finish: asyncio.Event | None = None

    async def __call__(self) -> str:
        self.runs += 1
        if self.runs == 1:
            self.begun.set()
            self.go.wait(60)
            return "late"
        if self.finish is not None:
            await self.finish.wait()
        return "own"


def test_a_follower_has_its_own_deadline(run: Run) -> None:
    hub, tool = ToolHub(), BlocksItsLoop()
    hub.register(tool, name="get", read_only=True)
    options: dict[str, Any] = {"single_flight": True, "deadline": 0.2}
    leader = threading.Thread(target=lambda: hub.call("get", **options))
    leader.start()
    assert tool.begun.wait(30)
    result = run(asyncio.wait_for(hub.execute("get", **options), 15))
    tool.go.set()
    leader.join(30)
    assert (result.kind, tool.runs) == (ErrorKind.TIMEOUT, 1)


def test_a_follower_waits_no_longer_than_the_candidates_may_take(run: Run) -> None:
    """The loop of the leader is blocked, so it cannot even time out; a late leader does not end its successor's flight."""
    hub, tool = ToolHub(limits={"cancel_grace": 0.1}), BlocksItsLoop()
    hub.register(tool, name="get", read_only=True)
    options: dict[str, Any] = {"single_flight": True, "timeout": 5}
    late: list[Any] = []
    leader = threading.Thread(target=lambda: late.append(hub.call("get", **options)))
    leader.start()
    assert tool.begun.wait(30)

    async def follow() -> None:
        tool.finish = asyncio.Event()
        successor = asyncio.create_task(hub.execute("get", **options))
        while tool.runs < 2:
            await asyncio.sleep(0.01)
        tool.go.set()
        await asyncio.to_thread(leader.join, 30)
        third = asyncio.create_task(hub.execute("get", **options))
        await turns()
        assert tool.runs == 2
        tool.finish.set()
        assert [(await call).result for call in (successor, third)] == ["own", "own"]

    run(asyncio.wait_for(follow(), 30))
    assert len(late) == 1


def test_a_follower_has_its_own_timeout(run: Run) -> None:
    """Not its timeout and the grace of a tool that it did not start."""
    hub, go, runs = ToolHub(limits={"cancel_grace": 60}), asyncio.Event(), 0

    async def get() -> str:
        nonlocal runs
        runs += 1
        await go.wait()
        return f"run {runs}"

    hub.register(get, read_only=True)

    async def both() -> None:
        leader = asyncio.create_task(hub.execute("get", single_flight=True, timeout=300))
        await turns()
        follower = await asyncio.wait_for(hub.execute("get", single_flight=True, timeout=0.05), 30)
        go.set()
        assert (follower.kind, (await leader).result) == (ErrorKind.TIMEOUT, "run 1")

    run(both())


def test_calls_with_other_time_options_share_one_run(run: Run) -> None:
    hub, go, runs = ToolHub(), asyncio.Event(), 0

    async def get() -> str:
        nonlocal runs
        runs += 1
        await go.wait()
        return "once"

    hub.register(get, read_only=True)

    async def main() -> None:
        times: list[dict[str, float]] = [
            {},
            {"timeout": 50},
            {"deadline": 60},
            {"timeout": 40, "deadline": 50},
        ]
        calls = [asyncio.create_task(hub.execute("get", **time, single_flight=True)) for time in times]
        await turns()
        hurried = [
            await hub.execute("get", deadline=0.05, single_flight=True),
            await hub.execute("get", timeout=0.05, single_flight=True),
        ]
        assert [result.kind for result in hurried] == [ErrorKind.TIMEOUT] * 2
        go.set()
        assert [(await call).result for call in calls] == ["once"] * len(times)

    run(asyncio.wait_for(main(), 30))
    assert runs == 1


def test_a_follower_with_more_time_runs_the_tool_when_its_leader_ran_out_of_time(run: Run) -> None:
    hub, tool = ToolHub(), FirstHangs()
    hub.register(tool, name="get", read_only=True)

    async def main() -> None:
        leader = asyncio.create_task(hub.execute("get", timeout=0.05, single_flight=True))
        await turns()
        follower = await hub.execute("get", timeout=30, single_flight=True)
        assert ((await leader).kind, follower.result) == (ErrorKind.TIMEOUT, "run 2")

    run(asyncio.wait_for(main(), 30))


class Uncopied:
    """A value that is cached as it is, so that a weak reference shows how long it is kept."""

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError("not copied")


def test_what_has_expired_is_forgotten_without_another_look_at_it() -> None:
    hub, made = ToolHub(), []

    def get(n: int) -> Any:
        value = Uncopied()
        made.append(weakref.ref(value))
        return value

    hub.register(get, read_only=True)
    hub.call("get", {"n": 0}, cache_ttl=1e-9)
    hub.call("get", {"n": 1}, cache_ttl=1000)
    assert [value() is None for value in made] == [True, False]


def test_the_cache_is_bounded_in_bytes() -> None:
    hub, runs = ToolHub(result_limit=1000), []

    def get(n: int, size: int) -> Any:
        runs.append(n)
        return {"rows": [bytes(size)]}

    hub.register(get, read_only=True)
    million = 1024 * 1024
    for n in range(4):
        hub.call("get", {"n": n, "size": 20 * million}, cache_ttl=1000)
    cached = [
        hub.call("get", {"n": n, "size": 20 * million}, cache_ttl=1000).meta["cached"] for n in (3, 2, 1)
    ]
    assert cached == [True, True, True]
    assert not hub.call("get", {"n": 0, "size": 20 * million}, cache_ttl=1000).meta["cached"]


def test_a_result_above_the_limit_is_not_cached_and_displaces_nothing() -> None:
    hub = ToolHub()
    hub.register(lambda size: bytes(size), name="get", read_only=True)
    for size, cached in [(10, False), (65 * 1024 * 1024, False), (65 * 1024 * 1024, False), (10, True)]:
        assert hub.call("get", {"size": size}, cache_ttl=1000).meta["cached"] is cached
