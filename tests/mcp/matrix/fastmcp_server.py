"""An upstream of the matrix on FastMCP 4: `python fastmcp_server.py NAME MARKS (stdio | http PORT)`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from pydantic import BaseModel

NAME, MARKS, TRANSPORT = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
server = FastMCP(NAME)


class Person(BaseModel):
    name: str
    age: int


def mark(what: str) -> None:
    (MARKS / f"{NAME}-{what}").touch()


@server.tool(name=f"{NAME}_add")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(name=f"{NAME}_fail")
def fail() -> str:
    """Fail."""
    raise ToolError("no luck")


@server.tool(name=f"{NAME}_ask")
async def ask(ctx: Context) -> str:
    """Ask for a name and an age."""
    answer = await ctx.elicit("Who are you?", response_type=Person)
    return f"{answer.data.name} is {answer.data.age}" if answer.action == "accept" else answer.action


@server.tool(name=f"{NAME}_slow")
async def slow(steps: int, ctx: Context) -> str:
    """Work in steps and report each."""
    mark("started")
    try:
        for step in range(steps):
            await ctx.report_progress(step + 1, steps, f"step {step + 1}")
            await asyncio.sleep(0.02)
    except asyncio.CancelledError:
        mark("cancelled")
        raise
    return "done"


if TRANSPORT == "stdio":
    server.run(transport="stdio", show_banner=False)
else:
    server.run(transport="http", port=int(sys.argv[4]), show_banner=False, log_level="error")
