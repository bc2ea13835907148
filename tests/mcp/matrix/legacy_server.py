"""An upstream of the matrix on the SDK 1.x: `python legacy_server.py NAME MARKS (stdio | http PORT | sse PORT)`.

Its tools have the prefix NAME, so that several can be behind one hub. Marks are files that show what it has seen.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp.server.fastmcp import Context, FastMCP
from mcp.shared.exceptions import McpError
from pydantic import BaseModel

from mcp import types

NAME, MARKS, TRANSPORT = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
server = FastMCP(NAME, port=int(sys.argv[4]) if len(sys.argv) > 4 else 8000)
low = server._mcp_server
low.experimental.enable_tasks()


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
    raise ValueError("no luck")


@server.tool(name=f"{NAME}_ask")
async def ask(ctx: Context) -> str:
    """Ask for a name and an age."""
    answer = await ctx.elicit("Who are you?", schema=Person)
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


@server.tool(name=f"{NAME}_grow")
async def grow(name: str, ctx: Context) -> str:
    """Add a tool of that name, and announce that the list has changed."""
    server.add_tool(lambda: "grown", name=name, description="It was added later.")
    await ctx.session.send_tool_list_changed()
    return name


BROKEN = types.Tool(name=f"{NAME}_broken", description="Break.", inputSchema={"type": "object"})
TASK = types.Tool(
    name=f"{NAME}_task",
    description="Work as a task.",
    inputSchema={"type": "object"},
    execution=types.ToolExecution(taskSupport="required"),
)


async def list_tools() -> list[types.Tool]:
    return [*await server.list_tools(), BROKEN, TASK]


low.list_tools()(list_tools)


async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
    if name != TASK.name:
        return await server.call_tool(name, arguments)

    async def work(task: Any) -> types.CallToolResult:
        await task.update_status("half done")
        return types.CallToolResult(content=[types.TextContent(type="text", text="the task is done")])

    return await low.request_context.experimental.run_task(work)


low.call_tool(validate_input=False)(call_tool)
handle_call = low.request_handlers[types.CallToolRequest]


async def call_or_break(request: types.CallToolRequest) -> Any:
    if request.params.name == BROKEN.name:
        raise McpError(types.ErrorData(code=-31055, message="the database is locked", data={"file": 7}))
    return await handle_call(request)


low.request_handlers[types.CallToolRequest] = call_or_break
server.run({"stdio": "stdio", "http": "streamable-http", "sse": "sse"}[TRANSPORT])
