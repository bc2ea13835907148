"""What happens while `approve` is waited for: the deadline, other candidates, a replaced tool, and the end of the hub."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolhub import ErrorKind, ToolHub, ToolResult
from toolhub.permissions import Approval

pytestmark = pytest.mark.anyio

CALL = {"tool_name": "handle", "arguments": {"count": "5"}}


def message(**arguments: Any) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": "1", "name": "handle", "input": arguments}]


async def answer(hub: ToolHub, approve: Callable[[Approval], Any], **options: Any) -> ToolResult:
    (result,) = (await hub.run(message(count="5"), approve=approve, **options)).results
    return result


def acting(hub: ToolHub, kind: type, ran: list[Any], label: str, **options: Any) -> None:
    """A candidate that takes a count of this type and notes what reaches it.

    After one of unknown effects that has failed another one may be tried; after one that acts it may not.
    """

    def handle(count: Any) -> str:
        ran.append((label, count))
        if options.get("fails"):
            raise ConnectionRefusedError
        return label

    json_type = {int: "integer", str: "string"}[kind]
    hub.register(
        handle,
        name="handle",
        source=options.get("source", "tools"),
        parameters={"type": "object", "properties": {"count": {"type": json_type}}, "required": ["count"]},
        effects=options.get("effects", True),
    )


@pytest.mark.parametrize("is_async", [True, False])
async def test_the_deadline_bounds_the_wait_for_an_approval(is_async: bool) -> None:
    hub, ran, released = ToolHub(), [], threading.Event()
    acting(hub, int, ran, "a")

    async def waits(approval: Approval) -> bool:
        await asyncio.Event().wait()
        return True

    def blocks(approval: Approval) -> bool:
        return released.wait(60)

    try:
        result = await asyncio.wait_for(answer(hub, waits if is_async else blocks, deadline=0.1), 30)
    finally:
        released.set()
    assert (result.kind, result.meta["error"]["outcome"]) == (ErrorKind.TIMEOUT, "not_sent")
    assert "(it was not started)" in str(result.error)
    assert ran == []


async def test_the_deadline_bounds_the_wait_behind_another_question() -> None:
    hub, ran = ToolHub(), []
    acting(hub, int, ran, "a")
    asked: list[Any] = []

    async def waits(approval: Approval) -> bool:
        asked.append(approval.arguments)
        await asyncio.Event().wait()
        return True

    both = await asyncio.wait_for(
        hub.run(message(count=1) + message(count=2), approve=waits, deadline=0.2), 30
    )
    assert [result.kind for result in both.results] == [ErrorKind.TIMEOUT] * 2
    assert ran == []


async def test_each_candidate_is_asked_about_and_gets_its_own_arguments() -> None:
    hub, ran = ToolHub(), []
    acting(hub, int, ran, "first", fails=True, effects=None)
    acting(hub, str, ran, "second", source="skills", effects=None)
    asked: list[Any] = []

    def approve(approval: Approval) -> bool:
        asked.append(dict(approval.arguments))
        return True

    result = await answer(hub, approve)
    assert (result.success, ran) == (True, [("first", 5), ("second", "5")])
    assert asked == [{"count": 5}, {"count": "5"}]


async def test_equal_arguments_are_one_question() -> None:
    hub, ran = ToolHub(), []
    acting(hub, int, ran, "first", fails=True, effects=None)
    acting(hub, int, ran, "second", source="skills", effects=None)
    asked: list[Any] = []

    def approve(approval: Approval) -> bool:
        asked.append(dict(approval.arguments))
        return True

    result = await answer(hub, approve)
    assert (result.result, ran) == ("second", [("first", 5), ("second", 5)])
    assert asked == [{"count": 5}]


@pytest.mark.parametrize(("yes", "expected"), [(5, [("first", 5)]), ("5", [("second", "5")]), (None, [])])
async def test_a_candidate_runs_only_with_what_was_approved(yes: Any, expected: list[Any]) -> None:
    hub, ran = ToolHub(), []
    acting(hub, int, ran, "first", fails=True)
    acting(hub, str, ran, "second", source="skills")
    result = await answer(hub, lambda approval: approval.arguments["count"] == yes and yes is not None)
    assert ran == expected
    assert result.success == (yes == "5")
    if yes is None:
        assert result.kind is ErrorKind.NOT_ALLOWED


@pytest.mark.parametrize("way", ["same name", "removed first", "same schema"])
async def test_a_tool_that_is_replaced_meanwhile_does_not_run_on_the_old_approval(way: str) -> None:
    hub, ran = ToolHub(), []

    def old(count: int) -> None:
        ran.append("old")

    def new(count: int) -> None:
        ran.append("new")

    if way == "same schema":
        new.__qualname__, new.__name__ = old.__qualname__, old.__name__
    hub.register(old, name="handle", effects=True)

    def approve(approval: Approval) -> bool:
        if way == "removed first":
            hub.unregister("handle")
        hub.register(new, name="handle", effects=True, replace=True)
        return True

    result = await answer(hub, approve)
    assert (result.kind, ran) == (ErrorKind.NOT_ALLOWED, [])
    assert "it changed while its approval was awaited" in str(result.error)
    assert (await answer(hub, lambda approval: True)).success
    assert ran == ["new"]


async def test_another_tool_that_is_registered_meanwhile_does_not_matter() -> None:
    hub, ran = ToolHub(), []
    acting(hub, int, ran, "a")

    def approve(approval: Approval) -> bool:
        hub.register(lambda: 1, name="other")
        acting(hub, int, ran, "late", source="skills")
        return True

    assert (await answer(hub, approve)).result == "a"
    assert ran == [("a", 5)]


def closers() -> list[Any]:
    return [
        pytest.param(lambda hub: hub.aclose(), id="aclose"),
        pytest.param(lambda hub: asyncio.to_thread(hub.close), id="close"),
    ]


@pytest.mark.parametrize("close", closers())
@pytest.mark.parametrize("is_async", [True, False])
async def test_closing_ends_a_call_that_waits_for_its_approval(close: Any, is_async: bool) -> None:
    hub, ran, released = ToolHub(), [], threading.Event()
    acting(hub, int, ran, "a")
    loop, asked, cancelled = asyncio.get_running_loop(), asyncio.Event(), []

    async def waits(approval: Approval) -> bool:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(1)
            raise
        return True

    def blocks(approval: Approval) -> bool:
        loop.call_soon_threadsafe(asked.set)
        return released.wait(60)

    call = asyncio.create_task(answer(hub, waits if is_async else blocks))
    try:
        await asked.wait()
        await asyncio.wait_for(close(hub), 30)
        result = await asyncio.wait_for(call, 30)
    finally:
        released.set()
    assert (result.kind, result.meta["error"]["outcome"]) == (ErrorKind.CLOSED, "not_sent")
    assert (ran, cancelled) == ([], [1] if is_async else [])


@pytest.mark.parametrize("close", closers())
async def test_closing_ends_a_call_that_waits_for_a_model(close: Any) -> None:
    asked = asyncio.Event()

    async def llm(prompt: str) -> str:
        asked.set()
        await asyncio.Event().wait()
        return "never"

    hub = ToolHub(llm=llm)
    hub.register(lambda: "one", name="search_x", read_only=True)
    hub.register(lambda: "two", name="search_x", source="skills", read_only=True)
    call = asyncio.create_task(hub.execute("search_x", strategy="all"))
    await asked.wait()
    await asyncio.wait_for(close(hub), 30)
    result = await asyncio.wait_for(call, 30)
    assert result.result == "[tools] one\n\n[skills] two"
    assert result.meta["synthesis_reason"] == "the hub was closed"


async def test_an_approval_may_close_the_hub() -> None:
    hub, ran = ToolHub(), []
    acting(hub, int, ran, "a")

    async def approve(approval: Approval) -> bool:
        await hub.aclose()
        return True

    result = await asyncio.wait_for(answer(hub, approve), 30)
    assert (result.kind, ran) == (ErrorKind.CLOSED, [])
