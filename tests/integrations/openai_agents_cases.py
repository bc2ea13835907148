"""The OpenAI Agents SDK: the tools of a hub as function tools of an agent."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import cases
from agents import Agent, RunConfig, Runner, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from mcp.server.mcpserver import Context, MCPServer
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from toolhub import ToolHub
from toolhub.integrations.openai_agents import to_openai_agents

set_tracing_disabled(True)


class Script(Model):
    """A model that makes the calls it is given, one step each, and then answers."""

    def __init__(self, *calls: tuple[str, str]) -> None:
        self.calls = list(calls)
        self.tools: list[Any] = []
        self.outputs: list[Any] = []

    async def get_response(
        self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any
    ) -> ModelResponse:
        self.tools = args[1] if len(args) > 1 else kwargs["tools"]
        if not isinstance(input, str):
            self.outputs = [item["output"] for item in input if item.get("type") == "function_call_output"]
        if self.calls:
            name, arguments = self.calls.pop(0)
            call_id = f"call_{len(self.calls)}"
            item: Any = ResponseFunctionToolCall(
                type="function_call", call_id=call_id, name=name, arguments=arguments
            )
        else:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            item = ResponseOutputMessage(
                id="1", type="message", role="assistant", status="completed", content=[text]
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


async def run(model: Script, tools: list[Any]) -> Any:
    agent = Agent(name="Assistant", model=model, tools=tools)
    return await Runner.run(agent, "?", run_config=RunConfig(tracing_disabled=True))


def shop() -> ToolHub:
    hub = ToolHub()

    @hub.tool
    def price(item: str, pieces: int = 1) -> float:
        """The price of an item."""
        return 1.5 * pieces

    @hub.tool(name="list.items")
    async def list_items() -> list[str]:
        return ["pen", "paper"]

    @hub.tool
    def broken() -> str:
        raise ValueError("the shelf is empty")

    return hub


async def test_an_agent_calls_the_tools_of_a_hub() -> None:
    hub = shop()
    tools = {hub.original_name(tool.name): tool for tool in to_openai_agents(hub)}
    assert set(tools) == {"price", "list.items", "broken"}
    assert tools["price"].params_json_schema["required"] == ["item"]
    model = Script(
        ("price", json.dumps({"item": "pen", "pieces": "4"})),
        (tools["list.items"].name, "{}"),
        ("broken", ""),
        ("price", '{"pieces": 2}'),
        ("price", "{'item': 'pen', 'pieces': 2}"),
        ("price", '{"item": "pen", "pieces": 2'),
        ("price", "pen"),
    )
    outcome = await run(model, list(tools.values()))
    assert outcome.final_output == "done"
    price, items, broken, refused, repaired, cut, unread = model.outputs
    assert price == "6.0"
    assert json.loads(items) == ["pen", "paper"]
    assert "the shelf is empty" in broken
    assert "item" in refused
    assert repaired == "3.0", "the hub reads arguments in Python notation"
    assert cut != "3.0", "more arguments may have been meant"
    assert unread == "The arguments must be an object, but are a text."


async def test_patterns_and_options() -> None:
    hub = ToolHub()

    @hub.tool
    async def wait() -> str:
        await asyncio.sleep(60)
        return "late"

    hub.register(len, name="length")
    tools = to_openai_agents(hub, tools="w*", timeout=0.2)
    assert [tool.name for tool in tools] == ["wait"]
    model = Script(("wait", "{}"))
    await run(model, tools)
    assert "timed out" in model.outputs[0]


async def test_cancelling_the_run_cancels_the_call() -> None:
    hub, started, ended = ToolHub(), asyncio.Event(), asyncio.Event()

    @hub.tool
    async def wait() -> str:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return "late"

    running = asyncio.ensure_future(run(Script(("wait", "{}")), to_openai_agents(hub)))
    await started.wait()
    running.cancel()
    await ended.wait()


async def test_progress_goes_to_the_function_of_the_options() -> None:
    mcp = MCPServer("back")

    @mcp.tool()
    async def count(n: int, ctx: Context) -> str:
        for step in range(n):
            await ctx.report_progress(step + 1, n)
        return "counted"

    reports: list[dict[str, Any]] = []
    async with ToolHub() as hub:
        hub.add_fastmcp(mcp)
        model = Script(("count", '{"n": 3}'))
        await run(model, to_openai_agents(hub, progress=reports.append))
        assert model.outputs == ["counted"]
        assert reports[-1]["progress"] == 3


cases.run(globals())
