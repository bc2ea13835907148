"""A FastMCP server with the tool `add`: PORT."""

import sys

from fastmcp import FastMCP

mcp = FastMCP("bench")


@mcp.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


mcp.run(transport="http", port=int(sys.argv[1]), path="/mcp", show_banner=False, log_level="warning")
