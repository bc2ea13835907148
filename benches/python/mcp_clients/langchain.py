"""LangChain's adapters, with a session that stays; without one they connect for every call."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

from . import ARGUMENTS

NAME = "langchain-mcp-adapters"
TRANSPORTS = ("http", "stdio")


@asynccontextmanager
async def connect(target: list[str]) -> AsyncIterator[Any]:
    server: Any = (
        {"transport": "streamable_http", "url": target[0]}
        if target[0].startswith("http")
        else {"transport": "stdio", "command": target[0], "args": target[1:]}
    )
    async with MultiServerMCPClient({"bench": server}).session("bench") as session:
        (tool,) = await load_mcp_tools(session)

        async def call() -> str:
            answer = await tool.ainvoke(ARGUMENTS)
            return answer if isinstance(answer, str) else answer[0]["text"]

        yield call
