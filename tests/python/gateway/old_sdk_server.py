"""A server of the first SDKs, shared by all callers of a hub. They end when they read a request that the protocol forbids."""

from __future__ import annotations

from mcp.server.fastmcp import FastMCP

server = FastMCP("shared")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello {name}"


@server.resource("note://one")
def one() -> str:
    """A note."""
    return "one"


server.run()
