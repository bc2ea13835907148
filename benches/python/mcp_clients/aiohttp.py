"""No MCP client at all: the same POST by hand, with aiohttp and the json module."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientSession

from . import ARGUMENTS

NAME = "raw aiohttp"
TRANSPORTS = ("http",)
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}


@asynccontextmanager
async def connect(target: list[str]) -> AsyncIterator[Any]:
    ids = itertools.count(1)
    async with ClientSession(headers=HEADERS) as session:

        async def call() -> str:
            params = {"name": "add", "arguments": ARGUMENTS}
            message = {"jsonrpc": "2.0", "id": next(ids), "method": "tools/call", "params": params}
            async with session.post(target[0], json=message) as response:
                answer = await response.json()
            return answer["result"]["content"][0]["text"]

        yield call
