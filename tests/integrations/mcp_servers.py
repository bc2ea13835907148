"""Servers and clients of the installed generation of FastMCP or of the MCP SDK, behind one face."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import logging
from typing import Any

logging.disable(logging.CRITICAL)  # the tools fail on purpose


def _found(*places: tuple[str, str]) -> Any:
    for module, name in places:
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(importlib.import_module(module), name)
    raise ImportError(f"none of {places} is installed")


Server = _found(
    ("fastmcp", "FastMCP"), ("mcp.server.mcpserver", "MCPServer"), ("mcp.server.fastmcp", "FastMCP")
)
Context = _found(
    ("fastmcp", "Context"), ("mcp.server.mcpserver", "Context"), ("mcp.server.fastmcp", "Context")
)
IS_FASTMCP = Server.__module__.startswith("fastmcp.")


@contextlib.asynccontextmanager
async def client(server: Any, progress: Any = None) -> Any:
    """A client of the same package, connected in memory: `list_tools()`, `call_tool(name, arguments)`."""
    if IS_FASTMCP:
        from fastmcp import Client

        async with Client(server) as connected:
            yield _FastMcpClient(connected, progress)
        return
    try:
        from mcp import Client
    except ImportError:
        from mcp.shared.memory import create_connected_server_and_client_session

        async with create_connected_server_and_client_session(server._mcp_server) as session:
            yield _SdkClient(session, progress)
    else:
        async with Client(server) as connected:
            yield _SdkClient(connected, progress)


@contextlib.asynccontextmanager
async def listening_client(server: Any) -> Any:
    """A client that hears of changes of the list of tools, and an event that is set with each."""
    changed = asyncio.Event()

    async def heard(message: Any) -> None:
        if type(getattr(message, "root", message)).__name__ == "ToolListChangedNotification":
            changed.set()

    if IS_FASTMCP:
        from fastmcp import Client

        # FastMCP 4 tells clients of the older protocol only.
        era = {"mode": "legacy"} if "mode" in inspect.signature(Client.__init__).parameters else {}
        async with Client(server, message_handler=heard, **era) as connected:
            yield _FastMcpClient(connected, None), changed
        return
    try:
        from mcp import Client
    except ImportError:
        from mcp.shared.memory import create_connected_server_and_client_session

        low = server._mcp_server
        assert low.create_initialization_options().capabilities.tools.listChanged
        async with create_connected_server_and_client_session(low, message_handler=heard) as session:
            yield _SdkClient(session, None), changed
        return

    async def listen(changes: Any) -> None:
        async for _ in changes:
            changed.set()

    async with Client(server) as connected, connected.listen(tools_list_changed=True) as changes:
        listening = asyncio.ensure_future(listen(changes))
        yield _SdkClient(connected, None), changed
        listening.cancel()


class _SdkClient:
    def __init__(self, session: Any, progress: Any) -> None:
        self.session = session
        self.progress = progress

    async def names(self) -> list[str]:
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        given = {"progress_callback": self.progress} if self.progress else {}
        result = await self.session.call_tool(name, arguments or {}, **given)
        return result.model_dump(mode="json", by_alias=True)


class _FastMcpClient:
    def __init__(self, connected: Any, progress: Any) -> None:
        self.client = connected
        self.progress = progress

    async def names(self) -> list[str]:
        return [tool.name for tool in await self.client.list_tools()]

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        given = {"progress_handler": self.progress} if self.progress else {}
        result = await self.client.call_tool_mcp(name, arguments or {}, **given)
        return result.model_dump(mode="json", by_alias=True)
