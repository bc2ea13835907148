"""One small server for five SDKs: the Python that runs it brings mcp 1.x, mcp 2.x or FastMCP 2, 3 or 4.

    .servers/mcp1/bin/python ours.py stdio
    .servers/mcp2/bin/python ours.py http 8123
    .servers/fastmcp/bin/python ours.py sse 8124

Marks are files in the folder MARKS: they show a test what the server has seen, whatever came of the answer. With
several like servers, LABEL says which one this is, and PACE makes one slower than the others.
"""

from __future__ import annotations

import asyncio
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel

LABEL = os.environ.get("LABEL", "ours")
PACE = float(os.environ.get("PACE", "1"))
MARKS = Path(os.environ.get("MARKS", "."))
TRANSPORTS = {"stdio": "stdio", "http": "streamable-http", "sse": "sse"}
counted = 0
notes: list[str] = []


class Person(BaseModel):
    name: str
    age: int = 30


if find_spec("fastmcp"):
    from fastmcp import Context, FastMCP

    if find_spec("mcp_types"):
        from mcp_types import ToolListChangedNotification
    else:
        from mcp.types import ToolListChangedNotification

    server: Any = FastMCP("ours")

    def serve(transport: str, port: int) -> None:
        where = {} if transport == "stdio" else {"port": port}
        server.run(TRANSPORTS[transport], show_banner=False, **where)

    async def tell_change(ctx: Any) -> None:
        if hasattr(ctx, "send_tool_list_changed"):
            await ctx.send_tool_list_changed()
        else:
            await ctx.send_notification(ToolListChangedNotification())

elif find_spec("mcp.server.mcpserver"):
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context, Elicit, Resolve

    server = MCPServer("ours")

    def serve(transport: str, port: int) -> None:
        server.run(TRANSPORTS[transport], **({} if transport == "stdio" else {"port": port}))

    async def tell_change(ctx: Any) -> None:
        await ctx.notify_tools_changed()  # to those that listen: the modern way
        await ctx.session.send_tool_list_changed()  # to the session: the old way

    def who() -> Elicit[Person]:
        return Elicit("Who are you?", Person)

    @server.tool()
    async def ask(person: Annotated[Person, Resolve(who)]) -> str:
        """Ask the user for a name and an age."""
        return f"{person.name} is {person.age}"

else:
    from mcp.server.fastmcp import Context, FastMCP

    server = FastMCP("ours")

    def serve(transport: str, port: int) -> None:
        server.settings.port = port
        server.run(TRANSPORTS[transport])

    async def tell_change(ctx: Any) -> None:
        await ctx.session.send_tool_list_changed()

    @server.tool()
    async def ask(ctx: Context) -> str:
        """Ask the user for a name and an age."""
        answer = await ctx.elicit("Who are you?", schema=Person)
        return f"{answer.data.name} is {answer.data.age}" if answer.action == "accept" else answer.action


def mark(what: str) -> None:
    (MARKS / f"{LABEL}-{what}").touch()


@server.tool()
def label() -> str:
    """Say which of several like servers this is."""
    return LABEL


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail(text: str) -> str:
    """Fail with a text."""
    raise ValueError(text)


@server.tool()
def count() -> int:
    """Count the calls of this tool: twice is not once."""
    global counted
    counted += 1
    return counted


@server.tool()
def append(text: str) -> int:
    """Append a text to the notes, which is an effect, and say how many there are."""
    notes.append(text)
    return len(notes)


@server.tool()
async def slow(steps: int, pause: float, ctx: Context) -> str:
    """Work in steps and tell of each; leave a mark when it begins, and when it is cancelled."""
    mark("started")
    try:
        for step in range(steps):
            await ctx.report_progress(step + 1, steps, f"step {step + 1}")
            await asyncio.sleep(pause * PACE)
    except asyncio.CancelledError:
        mark("cancelled")
        raise
    return f"{LABEL} took {steps} steps"


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    """Add a tool of that name and tell the client that the list has changed."""

    def grown() -> str:
        return f"I am {name}"

    grown.__name__ = name
    server.tool()(grown)
    await tell_change(ctx)
    return name


@server.tool()
async def sprout(name: str) -> str:
    """Add a tool of that name and announce nothing."""

    def sprouted() -> str:
        return f"I am {name}"

    sprouted.__name__ = name
    server.tool()(sprouted)
    return name


@server.resource("note://hello", name="hello", description="A greeting", mime_type="text/plain")
def hello() -> str:
    return "Hello"


@server.resource("note://bytes", mime_type="application/octet-stream")
def raw_bytes() -> bytes:
    return bytes(range(4))


@server.resource("note://{name}/size")
def size(name: str) -> str:
    return f"{name} is {len(name)} long"


@server.prompt()
def greet(name: str) -> str:
    """Greet a person."""
    return f"Say hello to {name}."


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
