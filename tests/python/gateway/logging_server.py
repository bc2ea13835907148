"""A server of the SDK 1.x on stdio whose tool sends a debug message and returns the levels that it was told.

No part of toolhub is used here.
"""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from mcp import types

server: Any = Server("logging")
levels: list[str] = []


@server.set_logging_level()
async def set_level(level: str) -> None:
    levels.append(level)


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    return [types.Tool(name="levels", description="The levels so far.", inputSchema={"type": "object"})]


@server.call_tool()
async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
    context = server.request_context
    await context.session.send_log_message("debug", "a detail", related_request_id=context.request_id)
    return [types.TextContent(type="text", text=",".join(levels))]


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
