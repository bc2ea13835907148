"""A server of the official SDK with the tool `add`: PORT."""

import sys

from mcp.server import MCPServer

mcp = MCPServer("bench", log_level="WARNING")


@mcp.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


mcp.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
