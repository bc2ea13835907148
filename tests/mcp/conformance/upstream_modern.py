"""A server with the tools, resources and prompts that the conformance suite calls by name, for 2026-07-28.

It runs on the low-level server of the MCP SDK 2.x. The hub stands in front of it, so that the suite sees what passes
through the gateway.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anyio
import common
import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

MISSING_CAPABILITY = -32021
EMPTY = {"type": "object", "properties": {}}
TOOLS = (
    *common.PLAIN_TOOLS,
    *common.ASKING_TOOLS,
    "test_tool_with_progress",
    "test_error_handling",
    "test_missing_capability",
    "test_logging_tool",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
)
added: dict[str, int] = {"tools": 0, "prompts": 0}


def capabilities(ctx: Any) -> dict[str, Any]:
    declared = ctx.session.client_capabilities
    return declared.model_dump(by_alias=True, exclude_none=True) if declared else {}


def asked(name: str, ctx: Any, params: Any) -> types.InputRequiredResult | None:
    """The questions of the next round; None when all are answered."""
    answers = params.input_responses or {}
    rounds = common.rounds(name, capabilities(ctx)) or []
    done = json.loads(params.request_state)["done"] if params.request_state else 0
    for number, round_ in enumerate(rounds[done:], done):
        if any(key not in answers for key in round_):
            state = json.dumps({"name": name, "done": number})
            result = {"resultType": "input_required", "inputRequests": round_, "requestState": state}
            return types.InputRequiredResult.model_validate(result)
    return None


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    names = [*TOOLS, *(f"added_{number}" for number in range(added["tools"]))]
    return types.ListToolsResult.model_validate(
        {"tools": [{"name": name, "description": name, "inputSchema": EMPTY} for name in names]}
    )


async def call_tool(ctx: Any, params: Any) -> types.CallToolResult | types.InputRequiredResult:
    name = params.name
    if name == "test_missing_capability" and "sampling" not in capabilities(ctx):
        data = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_CAPABILITY, "This tool needs the capability 'sampling'", data)
    if name in common.ASKING_TOOLS and (question := asked(name, ctx, params)):
        return question
    if name == "test_tool_with_progress":
        for done in (0, 50, 100):
            await ctx.session.report_progress(done, 100, f"Completed step {done} of 100")
            await asyncio.sleep(0.05)
    if name.startswith("test_trigger_"):
        kind = name.removeprefix("test_trigger_").removesuffix("_change") + "s"
        added[kind] += 1
        await bus.publish({"tools": ToolsListChanged, "prompts": PromptsListChanged}[kind]())
    content = common.contents(name) if name in common.PLAIN_TOOLS else [common.text(f"state-ok: {name}")]
    if name == "test_error_handling":
        return types.CallToolResult.model_validate(
            {"content": [common.text(common.FAILURE)], "isError": True}
        )
    return types.CallToolResult.model_validate({"content": content})


bus = InMemorySubscriptionBus()


async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
    listed = [{"uri": uri, "name": uri, "mimeType": kind} for uri, (kind, _) in common.RESOURCES.items()]
    return types.ListResourcesResult.model_validate({"resources": listed})


async def list_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
    template = {"uriTemplate": common.TEMPLATE, "name": "template", "mimeType": "application/json"}
    return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": [template]})


async def read_resource(ctx: Any, params: Any) -> types.ReadResourceResult:
    content = common.resource(str(params.uri))
    if content is None:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": str(params.uri)})
    return types.ReadResourceResult.model_validate({"contents": [content]})


async def list_prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
    names = [*common.PROMPTS, common.ASKING_PROMPT, *(f"added_{n}" for n in range(added["prompts"]))]
    arguments = {
        name: [{"name": one, "required": True} for one in common.PROMPTS.get(name, ())] for name in names
    }
    listed = [{"name": name, "description": name, "arguments": arguments[name]} for name in names]
    return types.ListPromptsResult.model_validate({"prompts": listed})


async def get_prompt(ctx: Any, params: Any) -> types.GetPromptResult | types.InputRequiredResult:
    if params.name == common.ASKING_PROMPT:
        if question := asked(params.name, ctx, params):
            return question
        found = [{"role": "user", "content": common.text("Thank you for the context.")}]
    elif params.name in common.PROMPTS:
        found = common.messages(params.name, params.arguments or {})
    else:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    return types.GetPromptResult.model_validate({"messages": found})


async def complete(ctx: Any, params: Any) -> types.CompleteResult:
    values = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
    completion = {"values": values, "total": len(values), "hasMore": False}
    return types.CompleteResult.model_validate({"completion": completion})


async def main() -> None:
    server = Server(
        "conformance-upstream",
        version="1.0.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_subscriptions_listen=ListenHandler(bus),
    )
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
