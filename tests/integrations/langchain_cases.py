"""LangChain: the tools of a hub for an agent, and LangChain's tools in a hub."""

from __future__ import annotations

import asyncio
from typing import Any

import cases
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import StructuredTool, ToolException, tool
from mcp.server.fastmcp import Context, FastMCP

from toolhub import ErrorKind, ToolHub
from toolhub.integrations.langchain import from_langchain, to_langchain


class Model(FakeMessagesListChatModel):
    """Gives prepared messages, and takes any tools."""

    def bind_tools(self, tools: Any, **_: Any) -> Model:
        return self


def shop() -> ToolHub:
    hub = ToolHub()

    @hub.tool
    def price(item: str, pieces: int = 1) -> float:
        """The price of an item."""
        return 1.5 * pieces

    @hub.tool(name="list.items")
    async def list_items(config: str = "all", callbacks: int = 0) -> list[str]:
        """The items; its parameters have names that LangChain uses too."""
        return ["pen", config, str(callbacks)]

    @hub.tool
    def broken() -> str:
        raise ValueError("the shelf is empty")

    return hub


async def test_an_agent_calls_the_tools_of_a_hub() -> None:
    calls = [
        {"name": "price", "args": {"item": "pen", "pieces": "4"}, "id": "1"},
        {"name": "broken", "args": {}, "id": "2"},
    ]
    model = Model(responses=[AIMessage("", tool_calls=calls), AIMessage("6 euros")])
    agent = create_agent(model, tools=to_langchain(shop()))
    state = await agent.ainvoke({"messages": [HumanMessage("How much are 4 pens?")]})
    answers = {message.tool_call_id: message for message in state["messages"] if message.type == "tool"}
    assert answers["1"].content == "6.0"
    assert answers["1"].artifact.result == 6.0
    assert answers["2"].status == "error"
    assert "the shelf is empty" in answers["2"].content
    assert state["messages"][-1].content == "6 euros"


async def test_names_and_schemas_are_those_of_model_apis() -> None:
    hub = shop()
    tools = {hub.original_name(one.name): one for one in to_langchain(hub, tools=["!broken", "*"])}
    assert set(tools) == {"price", "list.items"}
    items = tools["list.items"]
    assert "." not in items.name
    assert items.args_schema["properties"]["config"]["default"] == "all"
    assert await items.ainvoke({"config": "some", "callbacks": 3}) == '["pen", "some", "3"]'
    assert tools["price"].invoke({"item": "pen"}) == "1.5"
    refused = await tools["price"].ainvoke(
        {"type": "tool_call", "id": "1", "name": "price", "args": {"pieces": 2}}
    )
    assert refused.status == "error"
    assert "item" in refused.content


async def test_cancelling_a_tool_cancels_the_call() -> None:
    hub, started, ended = ToolHub(), asyncio.Event(), asyncio.Event()

    @hub.tool
    async def wait() -> str:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return "late"

    [one] = to_langchain(hub)
    call = asyncio.ensure_future(one.ainvoke({}))
    await started.wait()
    call.cancel()
    await ended.wait()
    [short] = to_langchain(hub, timeout=0.2)
    assert "timed out" in await short.ainvoke({})


async def test_progress_is_a_custom_event() -> None:
    mcp = FastMCP("back")

    @mcp.tool()
    async def count(n: int, ctx: Context) -> str:
        for step in range(n):
            await ctx.report_progress(step + 1, n)
        return "counted"

    async with ToolHub() as hub:
        hub.add_fastmcp(mcp)
        [one] = to_langchain(hub)
        seen = [
            event["data"]
            async for event in one.astream_events({"n": 3}, version="v2")
            if event["event"] == "on_custom_event" and event["name"] == "progress"
        ]
        assert seen[-1]["progress"] == 3
        reports: list[dict[str, Any]] = []
        [reporting] = to_langchain(hub, progress=reports.append)
        assert await reporting.ainvoke({"n": 2}) == "counted"
        assert reports[-1]["progress"] == 2


async def test_tools_of_langchain_in_a_hub() -> None:
    @tool
    def multiply(a: int, b: int) -> int:
        """Multiply two numbers."""
        return a * b

    async def fetch(url: str) -> str:
        """Fetch a page."""
        raise ToolException("the page is away")

    fetching = StructuredTool.from_function(coroutine=fetch, handle_tool_error=True)
    async with ToolHub() as hub:
        for function in from_langchain([multiply, fetching]):
            hub.register(function)
        found = hub.get("multiply")
        assert found is not None
        assert found.description == "Multiply two numbers."
        assert found.parameters["required"] == ["a", "b"]
        assert (await hub.execute("multiply", {"a": 6, "b": 7})).result == 42
        assert (await hub.execute("multiply", {"a": "six", "b": 7})).kind is ErrorKind.INVALID_ARGUMENTS
        failed = await hub.execute("fetch", {"url": "x"})
        assert (failed.kind, failed.error) == (ErrorKind.TOOL_ERROR, "the page is away")


async def test_a_cancelled_call_cancels_the_langchain_tool() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait."""
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return "late"

    async with ToolHub() as hub:
        [function] = from_langchain([wait])
        hub.register(function)
        call = asyncio.ensure_future(hub.execute("wait"))
        await started.wait()
        call.cancel()
        await ended.wait()


def test_blocking_calls_both_ways() -> None:
    @tool
    def shout(text: str) -> str:
        """Shout."""
        return text.upper()

    with ToolHub() as hub:
        [function] = from_langchain([shout])
        hub.register(function)
        assert hub.call("shout", {"text": "hi"}).result == "HI"
        [back] = to_langchain(hub)
        assert back.invoke({"text": "ho"}) == "HO"


def test_other_objects_are_refused() -> None:
    assert "LangChain" in cases.refused(lambda: from_langchain([len]))


cases.run(globals())
