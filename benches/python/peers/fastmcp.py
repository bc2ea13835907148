"""FastMCP: a server's tool, called in process."""

from __future__ import annotations

from typing import Any

from fastmcp import FastMCP

NAME = "FastMCP call_tool"


def make(tool: Any) -> Any:
    server = FastMCP("bench")
    server.tool(tool, name="add")
    return lambda: server.call_tool("add", {"a": 1, "b": 2})
