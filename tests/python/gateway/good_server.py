"""A server with a note and a prompt: `python good_server.py`. It runs with `mcp` 1.x and 2.x."""

from __future__ import annotations

from typing import Any

try:
    from mcp.server import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server

server: Any = Server("good")


@server.prompt()
def greet(name: str = "") -> str:
    """Greet somebody."""
    return "good greets"


@server.prompt(name="good__bye")
def bye() -> str:
    """A prompt whose name begins like that of its server."""
    return "good says bye"


@server.resource("note://one")
def note() -> str:
    """A note."""
    return "good has this"


@server.resource("toolhub://good/own")
def own() -> str:
    """A resource inside its own space."""
    return "good has this too"


server.run()
