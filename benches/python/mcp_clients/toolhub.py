"""toolhub: validation, statistics, limits and the result object included."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from toolhub import ToolHub

from . import ARGUMENTS

NAME = "toolhub"
TRANSPORTS = ("http", "stdio")


@asynccontextmanager
async def connect(target: list[str]) -> AsyncIterator[Any]:
    async with ToolHub() as hub:
        add(hub, "bench", target)
        await hub.connect()

        async def call() -> str:
            return (await hub.execute("add", ARGUMENTS)).result

        yield call


@asynccontextmanager
async def fleet(target: list[str]) -> AsyncIterator[Any]:
    """Many servers in one hub; the body adds and connects so many more."""
    async with ToolHub() as hub:

        async def more(count: int) -> None:
            known = len(hub.servers())
            for number in range(count):
                add(hub, f"bench{known + number}", target)
            report = await hub.connect()
            if report.failed:
                raise SystemExit(f"not connected: {report.failed}")

        yield more


def add(hub: ToolHub, name: str, target: list[str]) -> None:
    """A server at an address, or a program with its arguments."""
    if target[0].startswith("http"):
        hub.add_server(name, url=target[0])
    else:
        hub.add_server(name, command=target[0], args=target[1:])
