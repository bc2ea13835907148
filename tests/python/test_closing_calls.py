"""Closing a hub ends its calls in flight: on this loop, on other loops and in threads."""

import asyncio
import threading
from typing import Any

import pytest

from support.tools import Run, turns
from toolhub import ErrorKind, ToolHub, ToolResult

GRACE = 0.2


async def ended(call: "asyncio.Future[ToolResult]") -> ToolResult:
    """The result of a call that has to end long before its timeout."""
    return await asyncio.wait_for(call, 15)


def check(result: ToolResult, name: str = "hold") -> None:
    assert (result.success, result.kind) == (False, ErrorKind.CLOSED)
    assert result.error == f"'{name}' was ended because the hub was closed (it may still have run)."
    assert result.meta["error"]["outcome"] == "unknown"


@pytest.mark.parametrize("candidates", [1, 3])
def test_aclose_cancels_async_calls(run: Run, candidates: int) -> None:
    """One candidate runs inside the caller's task, several run in tasks of their own."""

    async def scene() -> None:
        hub, begun, cancelled = ToolHub(), [], []

        async def hold() -> None:
            begun.append(1)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(1)
                raise

        for number in range(candidates):
            hub.register(lambda: hold(), name="hold", priority=number, read_only=True)
        call = asyncio.create_task(hub.execute("hold", strategy="first"))
        while len(begun) < candidates:
            await asyncio.sleep(0)
        await hub.aclose()
        assert len(cancelled) == candidates
        await turns()
        assert call.done()
        check(await call)
        assert not call.cancelling()

    run(scene())


def test_aclose_does_not_wait_for_a_tool_that_ignores_its_cancellation(run: Run) -> None:
    async def scene() -> None:
        hub, go = ToolHub(limits={"cancel_grace": GRACE}), asyncio.Event()

        async def hold() -> str:
            while not go.is_set():
                try:
                    await go.wait()
                except asyncio.CancelledError:
                    continue
            return "late"

        hub.register(hold, effects=True)
        call = asyncio.create_task(hub.execute("hold"))
        await turns()
        await asyncio.wait_for(hub.aclose(), 15)
        check(await ended(call))
        go.set()
        await turns()

    run(scene())


def test_aclose_gives_a_tool_time_to_clean_up(run: Run) -> None:
    async def scene() -> None:
        hub, cleaned = ToolHub(), []

        async def hold() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await turns()
                cleaned.append(1)

        hub.register(hold)
        call = asyncio.create_task(hub.execute("hold"))
        await turns()
        await hub.aclose()
        assert cleaned == [1]
        check(await ended(call))

    run(scene())


def test_aclose_abandons_sync_calls(run: Run) -> None:
    async def scene() -> None:
        hub, begun, go = ToolHub(), threading.Event(), threading.Event()

        def hold() -> str:
            begun.set()
            go.wait(30)
            return "late"

        hub.register(hold)
        call = asyncio.create_task(hub.execute("hold"))
        assert await asyncio.to_thread(begun.wait, 30)
        try:
            await hub.aclose()
            check(await ended(call))
        finally:
            go.set()

    run(scene())


def test_a_call_that_waits_for_a_slot_is_not_started(run: Run) -> None:
    async def scene() -> None:
        hub, runs = ToolHub(), []

        async def hold() -> None:
            runs.append(1)
            await asyncio.Event().wait()

        hub.register(hold, max_concurrency=1)
        calls = [asyncio.create_task(hub.execute("hold")) for _ in range(2)]
        await turns()
        await hub.aclose()
        first, second = [await ended(call) for call in calls]
        check(first)
        assert second.error == "'hold' was ended because the hub was closed (it was not started)."
        assert second.meta["error"]["outcome"] == "not_sent"
        assert runs == [1]

    run(scene())


@pytest.mark.parametrize("is_async", [True, False])
def test_close_ends_the_calls_of_other_threads(is_async: bool) -> None:
    hub, begun, go = ToolHub(), threading.Event(), threading.Event()

    async def wait_here() -> None:
        begun.set()
        await asyncio.Event().wait()

    def block() -> None:
        begun.set()
        go.wait(30)

    hub.register(wait_here if is_async else block, name="hold")
    results: list[ToolResult] = []
    caller = threading.Thread(target=lambda: results.append(hub.call("hold")))
    caller.start()
    assert begun.wait(30)
    try:
        hub.close()
        caller.join(15)
        assert not caller.is_alive()
        check(results[0])
    finally:
        go.set()


def test_aclose_ends_a_call_on_the_loop_of_another_thread(run: Run) -> None:
    hub, begun, results = ToolHub(), threading.Event(), []

    async def hold() -> None:
        begun.set()
        await asyncio.Event().wait()

    hub.register(hold)

    async def call() -> None:
        results.append(await hub.execute("hold"))

    caller = threading.Thread(target=lambda: asyncio.run(call()))
    caller.start()

    async def scene() -> None:
        assert await asyncio.to_thread(begun.wait, 30)
        await hub.aclose()

    run(scene())
    caller.join(15)
    assert not caller.is_alive()
    check(results[0])


def test_a_call_in_its_first_step_on_another_thread_ends_too(run: Run) -> None:
    """It has not suspended yet when the hub is closed."""
    hub, begun, go, results = ToolHub(), threading.Event(), threading.Event(), []

    async def hold() -> None:
        begun.set()
        go.wait(30)
        await asyncio.Event().wait()

    hub.register(hold)
    caller = threading.Thread(target=lambda: results.append(hub.call("hold")))
    caller.start()
    assert begun.wait(30)
    hub.close()
    go.set()
    caller.join(15)
    assert not caller.is_alive()
    check(results[0])


def test_a_call_made_before_and_awaited_after_the_end_is_not_started(run: Run) -> None:
    async def scene() -> None:
        hub, runs = ToolHub(), []
        hub.register(lambda: runs.append(1), name="act")
        call = hub.execute("act")
        await hub.aclose()
        result = await call
        assert (result.kind, runs) == (ErrorKind.CLOSED, [])

    run(scene())


def test_a_tool_may_close_its_own_hub(run: Run) -> None:
    async def scene(before: int) -> None:
        hub = ToolHub()

        async def other() -> None:
            await asyncio.Event().wait()

        async def shut_down() -> str:
            for _ in range(before):
                await asyncio.sleep(0)
            await hub.aclose()
            return "closed"

        hub.register(other)
        hub.register(shut_down)
        held = asyncio.create_task(hub.execute("other"))
        await turns()
        assert (await ended(asyncio.create_task(hub.execute("shut_down")))).result == "closed"
        check(await ended(held), "other")

    run(scene(0))
    run(scene(3))


def test_calls_of_another_hub_go_on(run: Run) -> None:
    async def scene() -> None:
        hub, other, go = ToolHub(), ToolHub(), asyncio.Event()

        async def hold() -> str:
            await go.wait()
            return "answer"

        other.register(hold)
        call = asyncio.create_task(other.execute("hold"))
        await turns()
        await hub.aclose()
        await turns()
        assert not call.done()
        go.set()
        assert (await call).result == "answer"

    run(scene())


def test_a_nested_call_ends_with_its_caller(run: Run) -> None:
    async def scene() -> None:
        hub = ToolHub()

        async def inner() -> None:
            await asyncio.Event().wait()

        async def outer() -> Any:
            return (await hub.execute("inner")).unwrap()

        hub.register(inner)
        hub.register(outer)
        call = asyncio.create_task(hub.execute("outer"))
        await turns()
        await hub.aclose()
        check(await ended(call), "outer")
        assert not call.cancelling()

    run(scene())


def test_followers_end_with_their_leader(run: Run) -> None:
    async def scene() -> None:
        hub = ToolHub()

        async def hold() -> None:
            await asyncio.Event().wait()

        hub.register(hold, read_only=True)
        calls = [asyncio.create_task(hub.execute("hold", single_flight=True)) for _ in range(3)]
        await turns()
        await hub.aclose()
        for call in calls:
            check(await ended(call))

    run(scene())
