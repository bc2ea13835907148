"""Servers of FastMCP and of the MCP SDK that run in this process: the hub is their client, without a socket.

The core is the client, as for every server; this module runs the server's side of its sessions. A server runs on the
event loop on which it was added. Without one, or after that loop has ended or was stopped by a blocking call, it runs on a
thread of its own.
"""

import contextlib
import importlib
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

from .. import _background, _core
from .._lazy import asyncio
from .._to_plain import readable

_log = logging.getLogger("toolhub.servers")


def check_server(mcp: Any) -> None:
    """Raise `TypeError` for what is not a server that can be hosted."""
    if not hasattr(_protocol_server(mcp), "create_initialization_options"):
        raise TypeError(
            f"add_fastmcp takes a FastMCP server or an MCPServer of the mcp package, got {type(mcp).__name__}"
        )


def _protocol_server(mcp: Any) -> Any:
    """The server of the SDK inside a FastMCP server or an MCPServer; one that is given itself stays."""
    for attribute in ("_mcp_server", "_lowlevel_server"):
        if (server := getattr(mcp, attribute, None)) is not None:
            return server
    return mcp


class HostedServer:
    """One server in this process: serves its sessions and reports its tools to the core."""

    def __init__(self, mcp: Any, host: "_core.InProcessHost") -> None:
        self._mcp = mcp
        self._host = host
        self._task: asyncio.Task[None] | None = None
        self._sessions: set[_core.InProcessSession] = set()

    def start(self) -> None:
        """Report the tools, and serve."""
        self.report_tools()
        for owner, method in _changing_methods(self._mcp):
            _call_after(owner, method, self.report_tools)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._start_thread()
        else:
            self._task = loop.create_task(self._serve_on_loop())
            _background.before_blocking(loop, self._leave_loop)

    def report_tools(self) -> None:
        """Hand the tools to the core as they are now; the hub has them at once, connected or not."""
        try:
            tools = _background.run_beside(_definitions(self._mcp))
            self._host.set_tools(json.dumps(tools), _era())
        except Exception as error:
            # The first session lists them again, and its failure is the caller's.
            _log.warning("cannot list the tools of %r yet: %s", self._mcp, readable(error))

    def _start_thread(self) -> None:
        def serve() -> None:
            asyncio.run(self._serve())

        threading.Thread(target=serve, name="toolhub-server", daemon=True).start()

    def _leave_loop(self) -> None:
        """The thread of the loop is about to wait for a call, perhaps of this server: go on in a thread."""
        if self._task is None or self._task.done():
            return
        self._task = None
        self._host.hand_over()
        for session in list(self._sessions):
            session.end("a blocking call stopped its event loop, so it continues in a thread")
        self._start_thread()

    async def _serve_on_loop(self) -> None:
        try:
            await self._serve()
        except asyncio.CancelledError:
            # The loop ends, and the hub may go on.
            if self._task is not None:
                self._start_thread()
            raise

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as sessions:
            while (session := await cast("Any", self._host.accept())) is not None:
                sessions.create_task(self._serve_session(session))

    async def _serve_session(self, session: "_core.InProcessSession") -> None:
        """Run the server for one session, until the hub or the server ends it."""
        reason = None
        self._sessions.add(session)
        try:
            async with _lifespan(self._mcp):
                await _run(_protocol_server(self._mcp), session)
        except Exception as error:
            reason = f"{type(error).__name__}: {readable(_first(error))}"
            _log.debug("a session of %r has ended", self._mcp, exc_info=True)
        finally:
            self._sessions.discard(session)
            session.end(reason)


def _first(error: BaseException) -> BaseException:
    """The first exception inside groups of one: task groups wrap what their tasks raise."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseException", error.exceptions[0])
    return error


def _lifespan(mcp: Any) -> Any:
    """What a FastMCP server sets up before its sessions. Other servers do it when they run."""
    manager = getattr(mcp, "_lifespan_manager", None)
    return contextlib.nullcontext() if manager is None else manager()


async def _run(server: Any, session: Any) -> None:
    memory, wire = importlib.import_module("mcp.shared.memory"), _Wire()
    async with memory.create_client_server_memory_streams() as (ours, theirs), asyncio.TaskGroup() as group:
        moving = [
            group.create_task(_to_server(session, ours[1], wire)),
            group.create_task(_to_client(ours[0], session, wire)),
        ]
        try:
            await server.run(*theirs, server.create_initialization_options())
        finally:
            for task in moving:
                task.cancel()


async def _to_server(session: Any, stream: Any, wire: "_Wire") -> None:
    async with stream:
        while (text := await session.receive()) is not None:
            await stream.send(wire.read(text))


async def _to_client(stream: AsyncIterator[Any], session: Any, wire: "_Wire") -> None:
    async for message in stream:
        if not await session.send(wire.write(message)):
            return


class _Wire:
    """Messages between JSON text and the classes of the installed SDK."""

    def __init__(self) -> None:
        types: Any = importlib.import_module("mcp.types")
        self._message: Any = importlib.import_module("mcp.shared.message").SessionMessage
        adapter = getattr(types, "jsonrpc_message_adapter", None)
        # The SDK 1.x has a model of its own for messages, and writes what is None as if it were set.
        self._validate: Any = types.JSONRPCMessage.model_validate_json if adapter is None else None
        if adapter is not None:
            self._validate = adapter.validate_json
        self._written: dict[str, bool] = {"exclude_none" if adapter is None else "exclude_unset": True}

    def read(self, text: str) -> Any:
        return self._message(self._validate(text))

    def write(self, message: Any) -> str:
        return message.message.model_dump_json(by_alias=True, **self._written)


def _era() -> str:
    """The newest era that the installed SDK speaks, so that the hub need not ask."""
    return "modern" if hasattr(importlib.import_module("mcp.types"), "jsonrpc_message_adapter") else "legacy"


async def _definitions(mcp: Any) -> list[dict[str, Any]]:
    """The tools as `tools/list` has them. Of several versions of a tool, FastMCP lists the highest one first."""
    if hasattr(mcp, "list_tools"):
        tools = [
            tool.to_mcp_tool() if hasattr(tool, "to_mcp_tool") else tool for tool in await mcp.list_tools()
        ]
    elif hasattr(mcp, "get_tools"):  # FastMCP 2
        tools = [tool.to_mcp_tool(name=name) for name, tool in (await mcp.get_tools()).items()]
    else:
        return []
    by_name = {tool.name: tool for tool in reversed(tools)}
    ordered = {tool.name: by_name[tool.name] for tool in tools}
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in ordered.values()]


def _changing_methods(mcp: Any) -> list[tuple[Any, str]]:
    """The methods that change the tools of a server. Only inside a request do the servers announce a change themselves."""
    local = getattr(mcp, "_local_provider", None)  # FastMCP 3 and later
    manager = getattr(mcp, "_tool_manager", None)  # FastMCP 2 and the SDK
    known = [
        *((local, method) for method in ("_add_component", "_remove_component")),
        *((manager, method) for method in ("add_tool", "remove_tool")),
        *((mcp, method) for method in ("add_provider", "add_transform", "mount", "enable", "disable")),
    ]
    return [(owner, method) for owner, method in known if callable(getattr(owner, method, None))]


def _call_after(owner: Any, method: str, notify: Callable[[], None]) -> None:
    """Call `notify` after each call of a method of this object."""
    original = getattr(owner, method)

    def changed(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        notify()
        return result

    setattr(owner, method, changed)
