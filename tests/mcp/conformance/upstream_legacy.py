"""A server with the tools, resources and prompts that the conformance suite calls by name, for 2025-11-25.

It runs on the low-level server of the MCP SDK 1.x. The hub stands in front of it, so that the suite sees what passes
through the gateway.
"""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import anyio
import common
import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.stdio import stdio_server

server: Server[Any, Any] = Server("conformance-upstream", version="1.0.0")
EMPTY = {"type": "object", "properties": {}}
TOOLS = {
    **dict.fromkeys(common.PLAIN_TOOLS, EMPTY),
    **dict.fromkeys(common.FORMS, EMPTY),
    "test_tool_with_progress": EMPTY,
    "test_tool_with_logging": EMPTY,
    "test_error_handling": EMPTY,
    "test_sampling": common.form(prompt={"type": "string"}),
    "test_elicitation": common.form(message={"type": "string"}),
}


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    return [types.Tool(name=name, description=name, inputSchema=schema) for name, schema in TOOLS.items()]


@server.call_tool()
async def call_tool(name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    context = server.request_context
    content = common.contents(name) if name in common.PLAIN_TOOLS else [common.text("done")]
    if name == "test_error_handling":
        content = [common.text(common.FAILURE)]
    if name == "test_tool_with_logging":
        for line in common.LOG:
            await context.session.send_log_message("info", line, related_request_id=context.request_id)
            await asyncio.sleep(0.05)
    if name == "test_tool_with_progress" and context.meta and context.meta.progressToken is not None:
        for done in (0, 50, 100):
            await context.session.send_progress_notification(context.meta.progressToken, done, 100)
            await asyncio.sleep(0.05)
    if name == "test_sampling":
        message = {"role": "user", "content": common.text(arguments["prompt"])}
        answer = await context.session.create_message(
            [types.SamplingMessage.model_validate(message)], max_tokens=100
        )
        content = [common.text(f"LLM response: {getattr(answer.content, 'text', answer.content)}")]
    if name in common.FORMS or name == "test_elicitation":
        default = (arguments.get("message", ""), common.form(response={"type": "string"}))
        message, form = common.FORMS.get(name, default)
        reply = await context.session.elicit_form(message, form, context.request_id)
        content = [common.text(f"Elicitation completed: action={reply.action}, content={reply.content}")]
    result = {"content": content, "isError": name == "test_error_handling"}
    return types.CallToolResult.model_validate(result)


@server.list_resources()
async def list_resources() -> list[types.Resource]:
    listed = [{"uri": uri, "name": uri, "mimeType": kind} for uri, (kind, _) in common.RESOURCES.items()]
    return [types.Resource.model_validate(one) for one in listed]


@server.list_resource_templates()
async def list_templates() -> list[types.ResourceTemplate]:
    return [types.ResourceTemplate(uriTemplate=common.TEMPLATE, name="template", mimeType="application/json")]


@server.read_resource()
async def read_resource(uri: Any) -> list[ReadResourceContents]:
    content = common.resource(str(uri))
    if content is None:
        raise ValueError(f"Resource not found: {uri}")
    data = content["text"] if "text" in content else base64.b64decode(content["blob"])
    return [ReadResourceContents(content=data, mime_type=content["mimeType"])]


@server.subscribe_resource()
async def subscribe(uri: Any) -> None:
    """Accepted; the resources of this server never change."""


@server.unsubscribe_resource()
async def unsubscribe(uri: Any) -> None:
    """Accepted as well."""


@server.list_prompts()
async def list_prompts() -> list[types.Prompt]:
    def arguments(names: tuple[str, ...]) -> list[types.PromptArgument]:
        return [types.PromptArgument(name=name, required=True) for name in names]

    return [
        types.Prompt(name=name, description=name, arguments=arguments(given))
        for name, given in common.PROMPTS.items()
    ]


@server.get_prompt()
async def get_prompt(name: str, arguments: dict[str, str] | None) -> types.GetPromptResult:
    return types.GetPromptResult.model_validate({"messages": common.messages(name, arguments or {})})


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> types.Completion:
    values = [word for word in ("paris", "park", "party") if word.startswith(argument.value)]
    return types.Completion(values=values, total=len(values), hasMore=False)


@server.set_logging_level()
async def set_level(level: types.LoggingLevel) -> None:
    """Accepted; every message is sent."""


async def main() -> None:
    options = server.create_initialization_options()
    # The SDK declares no subscriptions, not even with handlers for them.
    assert options.capabilities.resources is not None
    options.capabilities.resources.subscribe = True
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, options)


if __name__ == "__main__":
    anyio.run(main)
