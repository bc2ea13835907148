"""pydantic-ai: the tools of a hub as a toolset of an agent."""

from __future__ import annotations

import asyncio
from typing import Any

import cases
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, RetryPromptPart, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from toolhub import ToolHub
from toolhub.integrations.pydantic_ai import to_pydantic_ai


class Script:
    """A model that makes the calls it is given, one step each, and then answers with what it has got last."""

    def __init__(self, *calls: tuple[str, Any]) -> None:
        self.calls = list(calls)
        self.tools: list[Any] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.tools = list(info.function_tools)
        if self.calls:
            name, arguments = self.calls.pop(0)
            return ModelResponse(parts=[ToolCallPart(name, arguments)])
        last = messages[-1].parts[-1]
        return ModelResponse(parts=[TextPart(f"{type(last).__name__}: {last.content}")])


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
    hub, model = shop(), Script(("price", {"item": "pen", "pieces": "4"}))
    agent = Agent(FunctionModel(model), toolsets=[to_pydantic_ai(hub)])
    answer = await agent.run("How much are 4 pens?")
    assert answer.output == "ToolReturnPart: 6.0"
    tools = {hub.original_name(tool.name): tool for tool in model.tools}
    assert set(tools) == {"price", "list.items", "broken"}
    assert tools["price"].parameters_json_schema["required"] == ["item"]
    assert tools["price"].description == "The price of an item."
    items = tools["list.items"].name
    answer = await Agent(FunctionModel(Script((items, {}))), toolsets=[to_pydantic_ai(hub)]).run("?")
    assert answer.output == "ToolReturnPart: ['pen', 'paper']"


async def test_wrong_arguments_are_a_retry_and_failures_are_told() -> None:
    model = Script(("price", {"pieces": 4}), ("price", {"item": "pen"}))
    agent = Agent(FunctionModel(model), toolsets=[to_pydantic_ai(shop())])
    run = await agent.run("?")
    assert run.output == "ToolReturnPart: 1.5"
    parts = [part for message in run.all_messages() for part in message.parts]
    [retry] = [
        part
        for part in parts
        if isinstance(part, RetryPromptPart) or "item" in str(getattr(part, "content", ""))
    ][:1]
    assert "item" in str(retry.content)
    run = await Agent(FunctionModel(Script(("broken", {}))), toolsets=[to_pydantic_ai(shop())]).run("?")
    assert "the shelf is empty" in run.output


async def test_the_toolset_follows_the_hub_and_its_patterns() -> None:
    hub, model = shop(), Script()
    agent = Agent(FunctionModel(model), toolsets=[to_pydantic_ai(hub, tools=["pri*"], id="hub")])
    await agent.run("?")
    assert [tool.name for tool in model.tools] == ["price"]
    hub.register(len, name="prime_length")
    await agent.run("?")
    assert [tool.name for tool in model.tools] == ["price", "prime_length"]


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

    agent = Agent(FunctionModel(Script(("wait", {}))), toolsets=[to_pydantic_ai(hub)])
    run = asyncio.ensure_future(agent.run("?"))
    await started.wait()
    run.cancel()
    await ended.wait()


async def test_options_go_to_the_calls() -> None:
    hub = ToolHub()

    @hub.tool
    async def wait() -> str:
        await asyncio.sleep(60)
        return "late"

    agent = Agent(FunctionModel(Script(("wait", {}))), toolsets=[to_pydantic_ai(hub, timeout=0.2)])
    assert "timed out" in (await agent.run("?")).output


cases.run(globals())
