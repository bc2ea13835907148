"""FastMCP: its `Client`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

from . import ARGUMENTS

NAME = "FastMCP Client"
TRANSPORTS = ("http", "stdio")


@asynccontextmanager
async def connect(target: list[str]) -> AsyncIterator[Any]:
    remote = target[0].startswith("http")
    transport: Any = (
        StreamableHttpTransport(target[0]) if remote else StdioTransport(command=target[0], args=target[1:])
    )
    async with Client(transport) as client:

        async def call() -> str:
            return (await client.call_tool("add", ARGUMENTS)).content[0].text

        yield call
