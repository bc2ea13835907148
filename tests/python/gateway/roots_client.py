"""A client of the installed SDK with roots: `python roots_client.py FIRST SECOND PROGRAM ARGUMENT…`.

It calls the tool that shows the roots until it shows the first one, changes its roots to the second, and calls it until it
shows that. It prints both texts as JSON. No part of toolhub is used here.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp.client.stdio import StdioServerParameters, stdio_client

import mcp
from mcp import types

FIRST, SECOND, *PROGRAM = sys.argv[1:]
TOOL = "get-roots-list"
PATIENCE = 30.0
roots = [FIRST]


async def give_roots(context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in roots])  # pyright: ignore[reportArgumentType]


async def shown(session: mcp.ClientSession, uri: str) -> str:
    """What the tool says, as soon as it says this URI. It is listed when the server has heard of the roots."""
    text = "the tool is not listed"
    async with asyncio.timeout(PATIENCE):
        while uri not in text:
            await asyncio.sleep(0.1)
            if any(tool.name == TOOL for tool in (await session.list_tools()).tools):
                (block,) = (await session.call_tool(TOOL, {})).content
                assert isinstance(block, types.TextContent)
                text = block.text
    return text


async def main() -> None:
    program = StdioServerParameters(command=PROGRAM[0], args=PROGRAM[1:])
    async with (
        stdio_client(program) as (read, write),
        mcp.ClientSession(read, write, list_roots_callback=give_roots) as session,
    ):
        await session.initialize()
        first = await shown(session, FIRST)
        roots[:] = [SECOND]
        await session.send_roots_list_changed()
        print(json.dumps([first, await shown(session, SECOND)]), flush=True)


asyncio.run(main())
