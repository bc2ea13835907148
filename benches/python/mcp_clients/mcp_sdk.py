"""The official SDK, 2.x: its `Client`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.client.stdio import StdioServerParameters

from mcp import Client

from . import ARGUMENTS

NAME = "mcp Client"
TRANSPORTS = ("http", "stdio")


@asynccontextmanager
async def connect(target: list[str]) -> AsyncIterator[Any]:
    remote = target[0].startswith("http")
    server: Any = target[0] if remote else StdioServerParameters(command=target[0], args=target[1:])
    async with Client(server) as client:

        async def call() -> str:
            return (await client.call_tool("add", ARGUMENTS)).content[0].text

        yield call
