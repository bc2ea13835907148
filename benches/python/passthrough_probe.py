"""What a client gets of the reference server `@modelcontextprotocol/server-everything`: URL. Prints a JSON object.

Runs with the official Python SDK 1.x as the client, with every capability that it has. Each probe gives a value that can be
compared with the one of a direct connection; `null` is nothing.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from mcp.client.streamable_http import streamablehttp_client
from pydantic import AnyUrl

from mcp import ClientSession, McpError, types

PATIENCE = 20
"""Seconds for each probe; the server sends logs and updates every five."""


class Client:
    """A session, and what the server has sent beside its answers."""

    session: ClientSession
    welcome: types.InitializeResult
    tools: dict[str, types.Tool]

    def __init__(self) -> None:
        self.logs: asyncio.Queue[str] = asyncio.Queue()
        self.updates: asyncio.Queue[str] = asyncio.Queue()

    async def sample(
        self, _context: Any, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        content = types.TextContent(type="text", text="sampled")
        return types.CreateMessageResult(role="assistant", model="probe", content=content)

    async def elicit(self, _context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": "Probe", "check": True})

    async def roots(self, _context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=AnyUrl("file:///probe"), name="probe")])

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.logs.put_nowait(params.level)

    async def message(self, message: Any) -> None:
        if isinstance(message, types.ServerNotification):
            root = message.root
            if isinstance(root, types.ResourceUpdatedNotification):
                self.updates.put_nowait(str(root.params.uri))

    async def call(self, name: str, **arguments: Any) -> types.CallToolResult:
        """Call a tool by the server's name of it; gateways may put something before it."""
        found = [one for one in self.tools if one == name or one.endswith(("_" + name, "." + name))]
        if not found:
            raise LookupError(f"{name} is not listed")
        return await self.session.call_tool(found[0], arguments, timedelta(seconds=PATIENCE))


Probe = Callable[[Client], Awaitable[Any]]
PROBES: dict[str, Probe] = {}


def probe(feature: str) -> Callable[[Probe], Probe]:
    def add(function: Probe) -> Probe:
        PROBES[feature] = function
        return function

    return add


def listed(client: Client, name: str) -> types.Tool:
    return next(tool for key, tool in client.tools.items() if key.endswith(name))


@probe("all tools are listed")
async def _(client: Client) -> Any:
    own = {"search_tools", "describe_tool", "call_tool"}
    return len([name for name in client.tools if name not in own])


@probe("titles and annotations of tools")
async def _(client: Client) -> Any:
    tool = listed(client, "get-sum")
    return [tool.title, tool.annotations and tool.annotations.model_dump(exclude_none=True)]


@probe("output schemas")
async def _(client: Client) -> Any:
    return listed(client, "get-structured-content").outputSchema


@probe("task support of tools")
async def _(client: Client) -> Any:
    execution = getattr(listed(client, "simulate-research-query"), "execution", None)
    return execution and execution.model_dump(exclude_none=True)


@probe("instructions of the server")
async def _(client: Client) -> Any:
    return bool(client.welcome.instructions and "Everything" in client.welcome.instructions)


@probe("text")
async def _(client: Client) -> Any:
    return [block.text for block in (await client.call("echo", message="hi")).content]


@probe("structured content")
async def _(client: Client) -> Any:
    return (await client.call("get-structured-content", location="Chicago")).structuredContent


@probe("images")
async def _(client: Client) -> Any:
    blocks = (await client.call("get-tiny-image")).content
    return [len(getattr(block, "data", "")) for block in blocks]


@probe("annotations of content")
async def _(client: Client) -> Any:
    result = await client.call("get-annotated-message", messageType="error", includeImage=True)
    return [block.annotations and block.annotations.model_dump(exclude_none=True) for block in result.content]


@probe("resource links, which can be read")
async def _(client: Client) -> Any:
    blocks = (await client.call("get-resource-links", count=2)).content
    links = [block for block in blocks if block.type == "resource_link"]
    return [len((await client.session.read_resource(link.uri)).contents) for link in links]


@probe("embedded resources")
async def _(client: Client) -> Any:
    result = await client.call("get-resource-reference", resourceType="Text", resourceId=1)
    return [block.type for block in result.content]


@probe("errors of arguments name what is wrong")
async def _(client: Client) -> Any:
    try:
        result = await client.call("get-sum", a="x", b=2)
    except McpError as error:
        return "a" in error.error.message
    return result.isError and "a" in str(result.content[0].text)


@probe("every progress report")
async def _(client: Client) -> Any:
    seen: list[float] = []

    async def report(progress: float, _total: float | None, _message: str | None) -> None:
        seen.append(progress)

    name = next(one for one in client.tools if one.endswith("trigger-long-running-operation"))
    arguments = {"duration": 2, "steps": 4}
    await client.session.call_tool(name, arguments, timedelta(seconds=PATIENCE), progress_callback=report)
    return seen


@probe("sampling")
async def _(client: Client) -> Any:
    result = await client.call("trigger-sampling-request", prompt="x", maxTokens=10)
    return "sampled" in result.model_dump_json()


@probe("elicitation (forms)")
async def _(client: Client) -> Any:
    result = await client.call("trigger-elicitation-request")
    return "Probe" in result.model_dump_json()


@probe("roots of the client")
async def _(client: Client) -> Any:
    return "file:///probe" in (await client.call("get-roots-list")).model_dump_json()


@probe("resources are listed")
async def _(client: Client) -> Any:
    return len((await client.session.list_resources()).resources)


@probe("resource templates, which can be read")
async def _(client: Client) -> Any:
    templates = (await client.session.list_resource_templates()).resourceTemplates
    text = next(one for one in templates if "text" in one.uriTemplate)
    uri = AnyUrl(text.uriTemplate.replace("{resourceId}", "1").replace("{index}", "1"))
    return [len(templates), len((await client.session.read_resource(uri)).contents)]


@probe("updates of subscribed resources")
async def _(client: Client) -> Any:
    templates = (await client.session.list_resource_templates()).resourceTemplates
    text = next(one for one in templates if "text" in one.uriTemplate)
    uri = text.uriTemplate.replace("{resourceId}", "1").replace("{index}", "1")
    await client.session.subscribe_resource(AnyUrl(uri))
    await client.call("toggle-subscriber-updates")
    return await asyncio.wait_for(client.updates.get(), PATIENCE) == uri


@probe("prompts with arguments")
async def _(client: Client) -> Any:
    prompts = (await client.session.list_prompts()).prompts
    name = next(one.name for one in prompts if one.name.endswith("args-prompt"))
    made = await client.session.get_prompt(name, {"city": "Oslo", "state": "x"})
    return [len(prompts), "Oslo" in made.model_dump_json()]


@probe("completion of arguments")
async def _(client: Client) -> Any:
    prompts = (await client.session.list_prompts()).prompts
    name = next(one.name for one in prompts if one.name.endswith("completable-prompt"))
    reference = types.PromptReference(type="ref/prompt", name=name)
    found = await client.session.complete(reference, {"name": "department", "value": "E"})
    return found.completion.values


@probe("log messages")
async def _(client: Client) -> Any:
    await client.session.set_logging_level("debug")
    await client.call("toggle-simulated-logging")
    return bool(await asyncio.wait_for(client.logs.get(), PATIENCE))


@probe("the error code of an unknown resource")
async def _(client: Client) -> Any:
    try:
        await client.session.read_resource(AnyUrl("demo://resource/dynamic/text/none"))
    except McpError as error:
        return error.error.code
    return None


async def main(url: str) -> None:
    client, results = Client(), dict[str, Any]()
    async with (
        streamablehttp_client(url) as (reader, writer, _),
        ClientSession(
            reader,
            writer,
            sampling_callback=client.sample,
            elicitation_callback=client.elicit,
            list_roots_callback=client.roots,
            logging_callback=client.log,
            message_handler=client.message,
        ) as session,
    ):
        client.session, client.welcome = session, await session.initialize()
        # The server adds tools for what its client can do after the handshake.
        for _ in range(PATIENCE):
            client.tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            if len(client.tools) > 17:
                break
            await asyncio.sleep(0.5)
        for feature, ask in PROBES.items():
            try:
                results[feature] = await asyncio.wait_for(ask(client), PATIENCE)
            except Exception as error:
                results[feature] = f"{type(error).__name__}: {str(error)[:100]}"
    print(json.dumps(results))


asyncio.run(main(sys.argv[1]))
