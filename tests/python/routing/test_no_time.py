"""A call without time left starts nothing: no tool, no server, no question."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from toolhub import ToolHub, ToolResult

from .conftest import Lab

pytestmark = pytest.mark.anyio

TEXT = '<tool_call>{"tool_name": "%s", "arguments": {"text": "x"}}</tool_call>'


def request(name: str) -> dict[str, Any]:
    return {"tool_name": name, "arguments": {"text": "x"}}


async def by_run(hub: ToolHub, name: str, **options: Any) -> list[ToolResult]:
    return (await hub.run(TEXT % name, **options)).results


WAYS: dict[str, Callable[..., Awaitable[Any]]] = {
    "execute": lambda hub, name, **options: hub.execute(name, {"text": "x"}, **options),
    "validate": lambda hub, name, **options: hub.execute(name, {"text": "x"}, validate=False, **options),
    "shared": lambda hub, name, **options: hub.execute(name, {"text": "x"}, single_flight=True, **options),
    "many": lambda hub, name, **options: hub.execute_many([(name, {"text": "x"})] * 3, **options),
    "dispatch": lambda hub, name, **options: hub.dispatch(request(name), **options),
    "run": by_run,
}
BLOCKING: dict[str, Callable[..., Any]] = {
    "call": lambda hub, name, **options: hub.call(name, {"text": "x"}, **options),
    "call_many": lambda hub, name, **options: hub.call_many([(name, {"text": "x"})], **options),
    "call_by_capability": lambda hub, name, **options: hub.call_by_capability(
        "zap", {"text": "x"}, **options
    ),
}


def check(results: Any) -> None:
    for result in results if isinstance(results, list) else [results]:
        error = result.meta["error"]
        assert (result.success, error["kind"], error["outcome"]) == (False, "timeout", "not_sent"), result
        assert error["retryable"]
        assert "was not started" in result.error


@pytest.mark.parametrize("deadline", [0, 0.0, -1, -1e9, 1e-12])
@pytest.mark.parametrize("kind", ["sync", "async", "object", "several"])
async def test_no_tool_runs(kind: str, deadline: float) -> None:
    ran: list[str] = []
    hub = ToolHub()

    def sync(text: str) -> str:
        ran.append(text)
        return text

    async def coroutine(text: str) -> str:
        return sync(text)

    class Tool:
        name = "zapper"
        description = "zaps"

        def execute(self, input: Any) -> Any:
            ran.append(input)
            return input

    tools: dict[str, list[Any]] = {
        "sync": [sync],
        "async": [coroutine],
        "object": [Tool()],
        "several": [sync, coroutine, Tool()],
    }
    for tool in tools[kind]:
        hub.register(tool, name="zapper", capabilities=["zap"])
    for way in WAYS.values():
        check(await way(hub, "zapper", deadline=deadline))
    check(await hub.execute_by_capability("zap", {"text": "x"}, deadline=deadline))
    for blocking in BLOCKING.values():
        check(blocking(hub, "zapper", deadline=deadline))
    assert ran == []
    # It is the deadline, not the tool, that failed: its statistics are empty.
    assert all(row["calls"] == 0 for row in hub.stats("zapper")["zapper"])
    assert (await hub.execute("zapper", {"text": "x"}, deadline=30)).success


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("known", [True, False])
async def test_no_server_starts(lab: Lab, way: str, known: bool) -> None:
    lab.add("a", "far")
    if known:
        await lab.hub.connect()
        started, called = lab.asked("a", "start"), lab.asked("a", "tools/call")
    else:
        started = called = 0
    check(await WAYS[way](lab.hub, "far", deadline=0))
    assert (lab.asked("a", "start"), lab.asked("a", "tools/call")) == (started, called)


async def test_a_named_server_does_not_start(lab: Lab) -> None:
    lab.add("a", "far")
    check(await lab.hub.execute("far", {"text": "x"}, server="a", deadline=0))
    check(await lab.hub.dispatch({**request("far"), "source": "a"}, deadline=-1))
    assert lab.asked("a", "start") == 0


async def test_no_approval_is_requested() -> None:
    hub = ToolHub()
    hub.register(lambda text: text, name="send_mail")
    asked: list[Any] = []
    outcome = await hub.run(TEXT % "send_mail", approve=lambda call: asked.append(call) or True, deadline=0)
    check(outcome.results)
    assert asked == []


async def test_a_deadline_that_is_no_number_is_a_mistake() -> None:
    hub = ToolHub()
    hub.register(lambda: 1, name="one")
    with pytest.raises(ValueError, match="deadline must be a number of seconds"):
        await hub.execute("one", deadline=float("nan"))
    with pytest.raises(TypeError, match="deadline must be a number of seconds"):
        await hub.execute("one", deadline="soon")  # type: ignore[arg-type]
