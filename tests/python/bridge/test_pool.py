"""The threads of sync tools: bounded, reused, and never lost for good."""

import asyncio
import contextvars
import gc
import subprocess
import sys
import textwrap
import threading
import time
import tracemalloc

import pytest

from bridge.kit import Blocked, World, in_thread, pool_at_rest, quick, turns
from toolhub import ErrorKind, ToolHub, _core

pytestmark = pytest.mark.usefixtures("pool")

WORKERS = 32


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub(limits={"breaker_threshold": 0})
    hub.register(in_thread)
    return hub


def test_threads_have_our_name(hub: ToolHub, world: World) -> None:
    assert world.run(hub.execute("in_thread")).result == "toolhub-sync"


def test_thread_locals_survive(hub: ToolHub, world: World) -> None:
    local = threading.local()

    def counts() -> int:
        local.count = getattr(local, "count", 0) + 1
        return local.count

    hub.register(counts)

    async def main() -> None:
        seen = [(await hub.execute("counts")).result for _ in range(2 * WORKERS)]
        assert max(seen) > 1

    world.run(main())


def test_idle_threads_end(hub: ToolHub, world: World) -> None:
    async def main() -> None:
        await asyncio.gather(*(hub.execute("in_thread") for _ in range(8)))

    world.run(main())
    idle = [thread for thread in threading.enumerate() if thread.name == "toolhub-sync"]
    assert idle
    for thread in idle:
        thread.join(30)
    assert not any(thread.is_alive() for thread in idle)
    world.run(main())


def test_so_many_run_at_once_and_no_more(hub: ToolHub, world: World) -> None:
    blocked = Blocked()
    hub.register(blocked, name="blocked")

    async def main() -> None:
        calls = [asyncio.create_task(hub.execute("blocked")) for _ in range(WORKERS + 8)]
        for _ in range(WORKERS):
            await blocked.has_begun()
        await turns()
        assert blocked.runs == WORKERS
        blocked.released.set()
        assert all(await asyncio.gather(*calls))
        assert blocked.runs == WORKERS + 8

    world.run(main())


def test_a_function_that_blocks_forever_is_abandoned(hub: ToolHub, world: World) -> None:
    blocked = Blocked()
    hub.register(blocked, name="blocked")

    async def main() -> None:
        for _ in range(3):
            result = await hub.execute("blocked", timeout=0.01)
            assert result.kind is ErrorKind.TIMEOUT
        results = await asyncio.gather(*[hub.execute("in_thread") for _ in range(100)])
        assert all(results)

    try:
        world.run(main())
        assert _core.pool_state()[2] <= 3
    finally:
        blocked.released.set()


def test_more_threads_are_abandoned_than_there_are_workers(hub: ToolHub, world: World) -> None:
    blocked = Blocked()
    hub.register(blocked, name="blocked")

    async def main() -> None:
        for _ in range(2):
            calls = [asyncio.create_task(hub.execute("blocked")) for _ in range(WORKERS)]
            for _ in range(WORKERS):
                await blocked.has_begun()
            for call in calls:
                call.cancel()
            await asyncio.wait(calls)
        assert _core.pool_state()[2] == 2 * WORKERS
        assert all(await asyncio.gather(*[hub.execute("in_thread") for _ in range(100)]))
        blocked.released.set()

    world.run(main())
    workers, _, _ = pool_at_rest()
    assert workers <= WORKERS  # the surplus workers that came back have ended


def test_an_abandoned_thread_is_replaced_for_waiting_calls(hub: ToolHub, world: World) -> None:
    blocked = Blocked()
    hub.register(blocked, name="blocked")

    async def main() -> None:
        calls = [asyncio.create_task(hub.execute("blocked")) for _ in range(WORKERS)]
        for _ in range(WORKERS):
            await blocked.has_begun()
        waiting = asyncio.create_task(hub.execute("in_thread"))
        await turns()
        assert not waiting.done()
        calls[0].cancel()
        assert (await waiting).success
        blocked.released.set()
        await asyncio.wait(calls)

    world.run(main())


def test_queued_work_of_cancelled_callers_never_runs(hub: ToolHub, world: World) -> None:
    blocked, unwanted = Blocked(), Blocked()
    unwanted.released.set()
    hub.register(blocked, name="blocked")
    hub.register(unwanted, name="unwanted")

    async def main() -> None:
        calls = [asyncio.create_task(hub.execute("blocked")) for _ in range(WORKERS)]
        for _ in range(WORKERS):
            await blocked.has_begun()
        waiting = [asyncio.create_task(hub.execute("unwanted")) for _ in range(10)]
        await turns()
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        assert all(task.cancelled() for task in waiting)
        last = asyncio.create_task(hub.execute("in_thread"))
        await turns()
        blocked.released.set()
        assert (await last).success  # whatever was queued before it has had its turn
        await asyncio.wait(calls)
        assert unwanted.runs == 0

    world.run(main())


def test_queued_work_whose_time_is_over_never_runs(hub: ToolHub, world: World) -> None:
    blocked, late = Blocked(), Blocked()
    hub.register(blocked, name="blocked")
    hub.register(late, name="late")

    async def main() -> None:
        calls = [asyncio.create_task(hub.execute("blocked")) for _ in range(WORKERS)]
        for _ in range(WORKERS):
            await blocked.has_begun()
        assert (await hub.execute("late", timeout=0.01)).kind is ErrorKind.TIMEOUT
        blocked.released.set()
        await asyncio.wait(calls)
        assert (await hub.execute("in_thread")).success
        assert late.runs == 0

    world.run(main())


def test_a_worker_that_has_taken_a_call_counts_as_busy_at_once(hub: ToolHub) -> None:
    """One idle worker, two calls, and a loop that does not release the interpreter in between: the worker has the
    first call in its hands and waits for the interpreter, and must not be counted on for the second."""
    met = threading.Event()

    def waits() -> bool:
        return met.wait(20)

    def comes() -> str:
        met.set()
        return "came"

    hub.register(waits)
    hub.register(comes)
    _core.stop_workers()  # start without workers, then have exactly one

    async def main() -> None:
        assert (await hub.execute("in_thread")).success
        await asyncio.to_thread(pool_at_rest)
        assert _core.pool_state()[:2] == (1, 1)
        before = sys.getswitchinterval()
        sys.setswitchinterval(10)
        try:
            first = asyncio.create_task(hub.execute("waits"))
            asyncio.get_running_loop().call_soon(sum, range(2_000_000))
            second = asyncio.create_task(hub.execute("comes"))
            await asyncio.sleep(0)
        finally:
            sys.setswitchinterval(before)
        assert (await second).result == "came"
        assert (await first).result is True

    asyncio.run(main())


def test_after_a_stop_new_work_finds_new_workers(hub: ToolHub, world: World) -> None:
    blocked = Blocked()
    hub.register(blocked, name="blocked")

    async def main() -> None:
        call = asyncio.create_task(hub.execute("blocked"))
        await blocked.has_begun()
        _core.stop_workers()
        assert (await hub.execute("in_thread")).success
        blocked.released.set()
        assert (await call).result == "released"

    world.run(main())


def test_a_thread_that_cannot_be_started_is_a_result(hub: ToolHub, monkeypatch: pytest.MonkeyPatch) -> None:
    _core.stop_workers()

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    hub.register(quick)

    async def main() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            result = await hub.execute("in_thread")
        assert result.error == "Tool 'in_thread' raised RuntimeError: can't start new thread"
        assert (await hub.execute("in_thread")).success
        assert (await hub.execute("quick")).success

    World("asyncio").run(main())


RECURSION = """
    import asyncio, sys, threading
    from toolhub import ToolHub

    hub = ToolHub()

    @hub.tool
    def again(n: int = 0):
        return hub.call("again", {"n": n + 1})

    @hub.tool
    def one_of_two(n: int = 0):
        return hub.call("one_of_two", {"n": n + 1})

    def call(name):
        result = hub.call(name)
        print(result.success, str(result.kind), "raised RecursionError" in result.error)

    threading.stack_size(int(sys.argv[1]))
    for names in (["again"], ["again", "one_of_two", "again"]):
        callers = [threading.Thread(target=call, args=[name]) for name in names]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    # The threads are free again.
    hub.register(lambda: "works", name="works")
    print(hub.call("works").result)
"""


@pytest.mark.parametrize("stack", [0, 512 * 1024])
def test_sync_tools_that_call_themselves_end_in_a_recursion_error(stack: int) -> None:
    script = textwrap.dedent(RECURSION)
    ended = subprocess.run([sys.executable, "-c", script, str(stack)], capture_output=True, text=True)
    assert ended.stdout.splitlines() == ["False tool_error True"] * 4 + ["works"], ended.stderr
    assert ended.returncode == 0


def test_calls_whose_callers_have_ended_are_not_nested(hub: ToolHub) -> None:
    """Each call starts a thread in a copy of its context that makes the next call."""
    over = threading.Event()
    results: list[str | None] = []

    def call(left: int) -> None:
        result = hub.call("step", {"left": left})
        if not result or left == 0:
            results.append(result.error)
            over.set()

    def step(left: int) -> None:
        if left > 0:
            context = contextvars.copy_context()
            threading.Thread(target=context.run, args=[call, left - 1]).start()

    hub.register(step)
    call(600)
    assert over.wait(60)
    assert results == [None]


def test_queued_work_never_begins_after_its_time_even_if_its_caller_has_not_noticed(world: World) -> None:
    """The deadline of all calls passes while the event loop is busy, so no caller can withdraw its call. The threads that
    become free then find the queue as it was."""
    hub = ToolHub(limits={"breaker_threshold": 0})
    blocked, late = Blocked(), Blocked()
    late.released.set()
    hub.register(blocked, name="blocked")
    hub.register(late, name="late")

    def let_threads_empty_the_queue(deadline: float) -> None:
        """Blocks the event loop, so that it cannot expire anything meanwhile."""
        end = time.monotonic() + deadline
        while time.monotonic() <= end:
            time.sleep(deadline)
        blocked.released.set()
        while _core.pool_state()[1] < WORKERS:
            time.sleep(0.001)

    async def main() -> None:
        calls = [asyncio.create_task(hub.execute("blocked")) for _ in range(WORKERS)]
        for _ in range(WORKERS):
            await blocked.has_begun()
        deadline = 0.05
        waiting = [asyncio.create_task(hub.execute("late", deadline=deadline)) for _ in range(WORKERS)]
        await turns()
        let_threads_empty_the_queue(deadline)
        results = await asyncio.gather(*waiting)
        await asyncio.wait(calls)
        assert late.runs == 0
        for result in results:
            assert (result.kind, result.meta["error"]["outcome"]) == (ErrorKind.TIMEOUT, "not_sent")
            assert "not started" in str(result.error)

    world.run(main())


@pytest.mark.parametrize("end", ["timeout", "cancel"])
def test_a_call_that_is_given_up_in_the_queue_keeps_nothing(world: World, end: str) -> None:
    """All threads are taken, so only the end of the call can release its arguments."""
    hub = ToolHub(limits={"breaker_threshold": 0})
    blocked = Blocked()
    hub.register(blocked, name="blocked")
    hub.register(lambda text: None, name="late")
    size, count = 1_000_000, 40

    async def main() -> None:
        calls = [asyncio.create_task(hub.execute("blocked")) for _ in range(WORKERS)]
        for _ in range(WORKERS):
            await blocked.has_begun()
        tracemalloc.start()
        try:
            timeout = 0.01 if end == "timeout" else None
            late = [
                asyncio.create_task(hub.execute("late", {"text": str(x) * size}, timeout=timeout))
                for x in range(10, 10 + count)
            ]
            if end == "cancel":
                await turns()
                for call in late:
                    call.cancel()
            await asyncio.wait(late)
            late.clear()
            gc.collect()
            kept = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
            blocked.released.set()
        await asyncio.wait(calls)
        assert kept < size * count / 4, f"{kept} bytes are kept of {2 * size * count}"

    world.run(main())


@pytest.mark.parametrize("option", ["timeout", "deadline"])
def test_a_call_that_only_waited_for_a_thread_was_not_sent(world: World, option: str) -> None:
    hub = ToolHub(limits={"breaker_threshold": 0})
    blocked, acts = Blocked(), Blocked()
    hub.register(blocked, name="blocked")
    hub.register(acts, name="delete_it")

    async def main() -> None:
        calls = [asyncio.create_task(hub.execute("blocked")) for _ in range(WORKERS)]
        for _ in range(WORKERS):
            await blocked.has_begun()
        result = await hub.execute("delete_it", None, **{option: 0.01})  # type: ignore[arg-type]
        assert result.meta["error"]["outcome"] == "not_sent"
        assert result.meta["error"]["retryable"]
        assert "not started" in str(result.error)
        blocked.released.set()
        await asyncio.wait(calls)
        assert acts.runs == 0

    world.run(main())


def test_after_a_wait_for_a_thread_the_next_candidate_is_tried(world: World) -> None:
    """The tool may act, but it has not begun, so nothing can have happened."""
    hub = ToolHub(limits={"breaker_threshold": 0})
    blocked, first = Blocked(), Blocked()
    hub.register(blocked, name="blocked")
    hub.register(first, name="delete_it", timeout=0.01)

    async def second() -> str:
        return "second"

    hub.register(second, name="delete_it", source="skills")

    async def main() -> None:
        calls = [asyncio.create_task(hub.execute("blocked")) for _ in range(WORKERS)]
        for _ in range(WORKERS):
            await blocked.has_begun()
        result = await hub.execute("delete_it", strategy="fallback")
        assert result.result == "second", result.meta
        blocked.released.set()
        await asyncio.wait(calls)
        assert first.runs == 0

    world.run(main())


def test_the_limit_of_abandoned_calls_holds_for_calls_that_were_queued_before(world: World) -> None:
    # No call may end for its time: on a busy machine this takes a while.
    hub = ToolHub(limits={"breaker_threshold": 0, "cancel_grace": 0.01}, timeout=300)
    blocked = Blocked()
    hub.register(blocked, name="blocked")
    limit = 256

    async def main() -> None:
        calls = [asyncio.create_task(hub.execute("blocked")) for _ in range(limit + 2 * WORKERS)]
        try:
            for call in calls[:limit]:
                await blocked.has_begun()
                call.cancel()  # the next one in the queue may begin
            rest = await asyncio.gather(*calls[limit:])
            assert {(result.kind, result.meta["error"]["outcome"]) for result in rest} == {
                (ErrorKind.OVERLOADED, "not_sent")
            }
            assert blocked.runs == limit
            assert _core.pool_state()[2] <= limit
        finally:
            blocked.released.set()
        await asyncio.wait(calls)

    world.run(main())
    pool_at_rest()
