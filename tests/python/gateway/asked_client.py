"""A client of the installed SDK that keeps a secret: `python asked_client.py URL NAME TIMES TOOL…`.

It calls each tool TIMES times, four at once, answers questions with its secret, and prints the questions and the results as
JSON. It reads a line before it begins, so that two of them can begin together. No part of toolhub is used here.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp.client.streamable_http import streamable_http_client

import mcp
from mcp import types

try:
    import httpx2 as httpx
except ImportError:
    import httpx

URL, NAME, TIMES, TOOLS = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
questions: list[str] = []


async def elicit(context: Any, params: Any) -> Any:
    questions.append(params.message)
    return types.ElicitResult(action="accept", content={"word": f"word-of-{NAME}"})


async def use(session: Any) -> None:
    names = {tool.name for tool in (await session.list_tools()).tools}
    assert set(TOOLS) <= names, names
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    slots = asyncio.Semaphore(4)

    async def call(tool: str) -> str:
        async with slots:
            return (await session.call_tool(tool, {"who": NAME})).content[0].text

    results = await asyncio.gather(*(call(tool) for _ in range(TIMES) for tool in TOOLS))
    print(json.dumps({"questions": sorted(set(questions)), "results": results}), flush=True)


async def main() -> None:
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer token-of-{NAME}"}, timeout=50) as http:
        transport = streamable_http_client(URL, http_client=http)
        if hasattr(mcp, "Client"):
            async with mcp.Client(transport, mode="2026-07-28", elicitation_callback=elicit) as client:
                return await use(client)
        async with (
            transport as (read, write, *_),
            mcp.ClientSession(read, write, elicitation_callback=elicit) as session,
        ):
            await session.initialize()
            await use(session)


asyncio.run(main())
