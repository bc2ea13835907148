"""The tools of a hub on a FastMCP server, or on the `MCPServer` of the MCP SDK. Needs `fastmcp` or `mcp`.

The other way round, `hub.add_fastmcp(mcp)` takes the tools of such a server into a hub.
"""

import asyncio
import contextlib
import inspect
import json
import weakref
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from .._core import ToolInfo
from ..hub import ToolHub
from ._calls import OfferedTools, imported, in_this_context

__all__ = ["attach"]


def attach(mcp: Any, hub: ToolHub, tools: Iterable[str] | None = None) -> None:
    """Offer the tools of a hub on an existing server, beside its own. A tool of the server hides one of the same name.

    `mcp` is a server of FastMCP (2 to 4) or of the SDK (`MCPServer`, in version 1 `FastMCP`). `tools` are names or patterns
    (`"search_*"`, `"!delete_*"`). The hub checks the arguments and chooses the candidates; tools that it gets later are
    offered too, and clients are told that the list has changed. Progress goes to the client, and a client that cancels its
    request cancels the call.

        mcp = FastMCP("Notes")
        attach(mcp, hub)
        mcp.run()
    """
    offered = OfferedTools(hub, tools)
    modules = {cls.__module__.partition(".")[0] for cls in type(mcp).__mro__}
    if "fastmcp" in modules and hasattr(mcp, "add_provider"):
        _to_provider(mcp, offered)
    elif "fastmcp" in modules:
        _to_middleware(mcp, offered)
    elif "mcp" in modules and hasattr(mcp, "call_tool"):
        _to_sdk(mcp, offered)
    else:
        raise TypeError(
            f"attach takes a FastMCP server or an MCPServer of the mcp package, got {type(mcp).__name__}"
        )


async def _call(
    hub: ToolHub, name: str, arguments: dict[str, Any], report: Callable[..., Awaitable[Any]]
) -> dict[str, Any]:
    """Call a tool; the result as `tools/call` has it. `report` gets `progress`, `total` and `message`."""

    async def send(update: dict[str, Any]) -> None:
        await report(update.get("progress", 0), update.get("total"), update.get("message"))

    result = await hub.execute(name, arguments, progress=in_this_context(send))
    content = result.content or [{"type": "text", "text": result.text}]
    answer: dict[str, Any] = {"content": content, "isError": not result.success}
    if result.structured is not None:
        answer["structuredContent"] = result.structured
    return answer


def _validated(types: Any, answer: dict[str, Any]) -> Any:
    """The answer as a type of the package. A content block of a kind that it does not know becomes text, as JSON."""

    def known(block: dict[str, Any]) -> dict[str, Any]:
        try:
            types.CallToolResult.model_validate({"content": [block]})
        except ValueError:
            return {"type": "text", "text": json.dumps(block, ensure_ascii=False)}
        return block

    return types.CallToolResult.model_validate(
        {**answer, "content": [known(one) for one in answer["content"]]}
    )


def _definition(tool: ToolInfo) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.parameters,
        "annotations": tool.annotations or None,
    }


def _component(types: Any, tools: Any, offered: OfferedTools) -> Callable[[ToolInfo], Any]:
    """Makes the tools of FastMCP that call the hub."""
    dependencies = imported("fastmcp.server.dependencies", "fastmcp", "fastmcp")
    errors = imported("fastmcp.exceptions", "fastmcp", "fastmcp")
    # FastMCP 2 knows errors only as exceptions.
    has_error_results = "is_error" in inspect.signature(tools.ToolResult.__init__).parameters

    class HubTool(tools.Tool):
        async def run(self, arguments: dict[str, Any]) -> Any:
            context = dependencies.get_context()
            answer = await _call(offered.hub, self.name, arguments, context.report_progress)
            result = _validated(types, answer)
            if answer["isError"] and not has_error_results:
                raise errors.ToolError(answer["content"][0].get("text", self.name))
            is_error = {"is_error": True} if answer["isError"] else {}
            return tools.ToolResult(
                content=result.content, structured_content=answer.get("structuredContent"), **is_error
            )

    def made(tool: ToolInfo) -> Any:
        annotations = types.ToolAnnotations.model_validate(tool.annotations) if tool.annotations else None
        return HubTool(
            name=tool.name, description=tool.description, parameters=tool.parameters, annotations=annotations
        )

    return made


def _types() -> Any:
    return imported("mcp.types", "mcp", "fastmcp")


def _session() -> Any:
    """The session of the present request."""
    return imported("fastmcp.server.dependencies", "fastmcp", "fastmcp").get_context().session


def _to_provider(mcp: Any, offered: OfferedTools) -> None:
    """FastMCP 3 and later: a provider. The server's own tools come first."""
    providers = imported("fastmcp.server.providers", "fastmcp", "fastmcp")
    made = _component(_types(), imported("fastmcp.tools.base", "fastmcp", "fastmcp"), offered)
    changes = ListChanges(offered)

    class HubProvider(providers.Provider):
        async def _list_tools(self) -> list[Any]:
            changes.request_of(_session)
            return [made(tool) for tool in await offered.all()]

        async def _get_tool(self, name: str, version: Any = None) -> Any:
            tool = await offered.get(name)
            return None if tool is None else made(tool)

    mcp.add_provider(HubProvider())


def _to_middleware(mcp: Any, offered: OfferedTools) -> None:
    """FastMCP 2 has no providers, but its middleware may add to the list and answer calls."""
    middleware = imported("fastmcp.server.middleware", "fastmcp", "fastmcp")
    made = _component(_types(), imported("fastmcp.tools.tool", "fastmcp", "fastmcp"), offered)
    changes = ListChanges(offered)

    class HubMiddleware(middleware.Middleware):
        async def on_list_tools(self, context: Any, call_next: Any) -> list[Any]:
            changes.request_of(_session)
            own = list(await call_next(context))
            names = {tool.key for tool in own}
            return own + [made(tool) for tool in await offered.all() if tool.name not in names]

        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            name = context.message.name
            if name in await mcp.get_tools() or (tool := await offered.get(name)) is None:
                return await call_next(context)
            return await made(tool).run(context.message.arguments or {})

    mcp.add_middleware(HubMiddleware())


def _to_sdk(mcp: Any, offered: OfferedTools) -> None:
    """The SDK's server: its two methods that list and call are extended."""
    types = _types()
    list_own, call_own = mcp.list_tools, mcp.call_tool
    changes = ListChanges(offered, _publisher(mcp))

    async def list_tools() -> list[Any]:
        changes.request_of(lambda: mcp.get_context().session)
        own = list(await list_own())
        names = {tool.name for tool in own}
        others = (_definition(tool) for tool in await offered.all() if tool.name not in names)
        return own + [types.Tool.model_validate(other) for other in others]

    async def call_tool(name: str, arguments: dict[str, Any], *context: Any) -> Any:
        changes.request_of(lambda: (context[0] if context else mcp.get_context()).session)
        own = any(tool.name == name for tool in await list_own())
        if own or await offered.get(name) is None:
            return await call_own(name, arguments, *context)
        current = context[0] if context else mcp.get_context()
        answer = await _call(offered.hub, name, arguments, current.report_progress)
        return _validated(types, answer)

    mcp.list_tools, mcp.call_tool = list_tools, call_tool
    if (server := getattr(mcp, "_mcp_server", None)) is not None:  # SDK 1.x has registered the old ones
        server.list_tools()(list_tools)
        server.call_tool(validate_input=False)(call_tool)
        _announce(server)


def _publisher(mcp: Any) -> Callable[[], Awaitable[Any]] | None:
    """SDK 2.x has one place for changes, to which the clients of the modern protocol listen."""
    bus = getattr(mcp, "_subscriptions", None)
    if bus is None:
        return None
    subscriptions = imported("mcp.server.subscriptions", "mcp", "mcp")
    return lambda: bus.publish(subscriptions.ToolsListChanged())


def _announce(server: Any) -> None:
    """The server of SDK 1.x says in `initialize` that its list may change."""
    lowlevel = imported("mcp.server.lowlevel", "mcp", "mcp")
    options = server.create_initialization_options

    def with_changes(notification_options: Any = None, *rest: Any, **more: Any) -> Any:
        changing = notification_options or lowlevel.NotificationOptions()
        changing.tools_changed = True
        return options(changing, *rest, **more)

    server.create_initialization_options = with_changes


# Changes come in groups, such as the tools of a server; clients hear of a group once.
_SETTLING = 0.05


class ListChanges:
    """Sends `notifications/tools/list_changed` to the sessions that have used the server, and calls `publish` for servers that
    have a place for such events. Watching begins with the first request on an event loop, and ends with the loop.
    """

    def __init__(self, offered: OfferedTools, publish: Callable[[], Awaitable[Any]] | None = None) -> None:
        self._offered = offered
        self._publish = publish
        # A server may be run in several event loops. A session belongs to the one in which it was seen.
        self._sessions: weakref.WeakKeyDictionary[Any, asyncio.AbstractEventLoop] = (
            weakref.WeakKeyDictionary()
        )
        self._watching: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[None]] = (
            weakref.WeakKeyDictionary()
        )

    def request_of(self, find_session: Callable[[], Any]) -> None:
        """A request is running. `find_session` returns its session, or raises outside of one."""
        loop = asyncio.get_running_loop()
        with contextlib.suppress(Exception):  # each framework has an error of its own
            session = find_session()
            # In SDK 2.x each request has a session object of its own; the connection behind it stays.
            self._sessions[getattr(session, "_connection", session)] = loop
        task = self._watching.get(loop)
        if task is None or task.done():
            self._watching[loop] = loop.create_task(self._watch(loop))

    async def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        core: Any = self._offered.hub._core
        version, seen = core.version, self._offered.fingerprint()
        while True:
            await core.changed_after(version)
            await asyncio.sleep(_SETTLING)
            version, now = core.version, self._offered.fingerprint()
            if now == seen:
                continue
            seen = now
            for session, its_loop in list(self._sessions.items()):
                if its_loop is loop:
                    # One client that is gone must not keep the others from hearing of it.
                    with contextlib.suppress(Exception):
                        await session.send_tool_list_changed()
            if self._publish is not None:
                await self._publish()
