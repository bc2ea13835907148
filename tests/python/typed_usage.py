# pyright: strict, reportUnnecessaryTypeIgnoreComment=true
"""What a type checker must see in code that uses the hub. `test_typing.py` checks this file with pyright; it never runs.

A line with `pyright: ignore` must be an error: a comment that is not needed is reported.
"""

from collections.abc import Callable
from typing import Any, Unpack, assert_type

import toolhub
from toolhub import (
    Candidate,
    ErrorKind,
    Explanation,
    Hit,
    ParsedCall,
    RunOutcome,
    Strategy,
    ToolError,
    ToolHub,
    ToolInfo,
    ToolResult,
    ToolTimeout,
)
from toolhub.offers import Offers, PromptText, Resource, ResourceContent
from toolhub.options import CallOptions
from toolhub.servers import ConnectReport, LoadReport

hub = ToolHub(timeout=5, prefer="mcps", shadow="deny", llm=lambda prompt: prompt.upper())
ToolHub(prefer="fastest")  # pyright: ignore[reportArgumentType]
ToolHub(shadow="hide")  # pyright: ignore[reportArgumentType]
ToolHub(llm=5)  # pyright: ignore[reportArgumentType]
ToolHub("mcp.json", timeout=5, limits={"hub": 10, "cancel_grace": 0.5}, login={"token_file": None})
ToolHub(limits={"hbu": 10})  # pyright: ignore[reportArgumentType]


@hub.tool
def add(a: int, b: int) -> int:
    return a + b


@hub.tool(read_only=True)
def double(number: int) -> int:
    return 2 * number


@hub.tool("times_three", read_only=True)
def triple(number: int) -> int:
    return 3 * number


@toolhub.tool("times_four")
def quadruple(number: int) -> int:
    return 4 * number


assert_type(triple(quadruple(2)), int)


@toolhub.tool
def halve(number: float) -> float:
    return number / 2


@toolhub.tool(read_only=True)
async def fetch(url: str) -> bytes:
    return url.encode()


@toolhub.tool
class Echo:
    def execute(self, input: str) -> str:
        return input


assert_type(halve(3), float)
halve("3")  # pyright: ignore[reportArgumentType]
assert_type(Echo().execute("x"), str)
fetch(5)  # pyright: ignore[reportArgumentType, reportUnusedCoroutine]
assert_type(add(1, 2), int)
assert_type(double(1), int)
assert_type(hub.register(add, source="skills"), Candidate)
hub.register(add, source="elsewhere")  # pyright: ignore[reportArgumentType]


def inspect() -> None:
    assert_type(hub.tools(), list[ToolInfo])
    assert_type(hub.tools()[0].parameters, dict[str, Any])
    assert_type(hub.tools()[0].candidates[0].meta, dict[str, Any])
    assert_type(hub.search("x"), list[Hit])
    assert_type(hub.explain("add"), Explanation)
    assert_type(hub.stats(), dict[str, list[dict[str, Any]]])
    assert_type(hub.stats(rows=True), list[dict[str, Any]])
    assert_type(hub.load_tools("tools"), LoadReport)


def blocking() -> None:
    result = hub.call("add", {"a": 1}, strategy="first", timeout=2, source="tools")
    assert_type(result, ToolResult)
    assert_type(result.kind, ErrorKind | None)
    assert_type(hub.call_many([("add", {"a": 1}), "double"], deadline=3), list[ToolResult])
    assert_type(hub.run_sync("text").calls, list[ParsedCall])
    assert_type(hub.connect_sync(), ConnectReport)
    hub.call("add", strategy=Strategy.FALLBACK)
    hub.call("add", strategy="fastest")  # pyright: ignore[reportArgumentType]
    hub.call("add", timout=2)  # pyright: ignore[reportCallIssue]
    hub.call("add", source="mcp")  # pyright: ignore[reportArgumentType]
    hub.dispatch_sync({}, source="tools")  # pyright: ignore[reportCallIssue]
    hub.add_server("files", command="files", startup_timeout=5, include=["read_*"])
    hub.add_server("files", command="files", start_timeout=5)  # pyright: ignore[reportCallIssue]


async def asynchronous() -> None:
    assert_type(await hub.execute("add", {"a": 1}, hedge_after=0.1, prefer="priority"), ToolResult)
    assert_type(await hub.execute_by_capability("calculate", {"a": 1}, 2, validate=False), ToolResult)
    outcome = await hub.run("text", allowed=["add"], results="openai", deadline=5)
    assert_type(outcome, RunOutcome)
    assert_type(outcome.messages, list[dict[str, Any]])
    await hub.execute("add", timout=2)  # pyright: ignore[reportCallIssue]
    await hub.run("text", results="xml")  # pyright: ignore[reportArgumentType]
    assert_type(hub.load_mcp({"mcpServers": {}}), LoadReport)
    async with ToolHub() as other:
        assert_type(other, ToolHub)


async def agents() -> None:
    agent = toolhub.agents.CoordinationAgent(hub, str.upper, profile={"max_calls": 3})
    assert_type(await agent.answer("Why?"), toolhub.agents.AgentAnswer)
    async for event in agent.stream("Why?"):
        assert_type(event, toolhub.agents.AgentEvent)
        if isinstance(event, toolhub.agents.StepFinished):
            assert_type(event.success, bool)
    checked = await toolhub.agents.VerificationAgent().verify_result("42", evidence=[{"result": 42}])
    assert_type(checked.issues, list[str])
    assert_type(toolhub.agents.ChatLoop(hub, str.upper).messages, list[dict[str, Any]])
    toolhub.agents.PlanningAgent(hub, 5)  # pyright: ignore[reportArgumentType]


def of_my_own(name: str, **options: Unpack[CallOptions]) -> ToolResult:
    return hub.call(name, **options)


of_my_own("add", timeout=1)


def errors() -> None:
    try:
        hub.call("add").unwrap()
    except ToolTimeout as error:
        assert_type(error.kind, ErrorKind)
        assert_type(error.result, ToolResult | None)
    assert_type(ToolError("x", "auth"), ToolError)


assert_type(hub.on_event(print), Callable[[], None])
assert_type(toolhub.parse("x").calls, list[ParsedCall])


@hub.resources.add("notes://{year}", mime_type="text/plain")
def notes(year: int) -> str:
    return str(year)


@hub.prompts.add
def review(code: str) -> str:
    return code


assert_type(notes(2026), str)
assert_type(review("1 + 1"), str)
assert_type(hub.resources.list_sync(timeout=1), Offers[Resource])
assert_type(hub.resources.read_sync("notes://2026"), list[ResourceContent])
assert_type(hub.prompts.get_sync("review", {"code": "1"}), PromptText)
hub.resources.list_sync(ids=5)  # pyright: ignore[reportArgumentType]
hub.resources.read_sync()  # pyright: ignore[reportCallIssue]
assert_type(hub.skills.read_file_sync("greet", "words.md"), str | bytes)
assert_type(hub.pins.list(), list[dict[str, Any]])
assert_type(hub.dispatch_sync({"name": "add"}, timeout=1), ToolResult)
assert_type(hub.call_many(["add"], 2), list[ToolResult])
hub.run_sync("text", formt="auto")  # pyright: ignore[reportCallIssue]
hub.resources()  # pyright: ignore[reportCallIssue]
hub.prompts.add(review, nam="x")  # pyright: ignore[reportCallIssue]
