"""An upstream of the matrix on the SDK 2.x: `python modern_server.py NAME MARKS (stdio | http PORT)`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import Context, Elicit, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import RequestParams
from pydantic import BaseModel, Field

NAME, MARKS, TRANSPORT = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
RESULT = {"content": [{"type": "text", "text": "the task is done"}]}


class TaskParams(RequestParams):
    task_id: str = Field(alias="taskId")


class Tasks(Extension):
    """The extension for tasks: a call of one tool is answered with a task, which is done when it is asked for twice."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}

    def methods(self) -> list[MethodBinding]:
        return [MethodBinding("tasks/get", TaskParams, self.get)]

    async def get(self, ctx: Any, params: TaskParams) -> dict[str, Any]:
        if params.task_id not in self.asked:
            raise MCPError(code=-32602, message="there is no such task")
        self.asked[params.task_id] += 1
        task = {"taskId": params.task_id, "ttlMs": None, "pollIntervalMs": 1}
        if self.asked[params.task_id] < 2:
            return {**task, "status": "working"}
        return {**task, "status": "completed", "result": RESULT}

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        if params.name != f"{NAME}_task":
            return await call_next(ctx)
        id = f"task-{len(self.asked)}"
        self.asked[id] = 0
        return {"resultType": "task", "taskId": id, "status": "working", "ttlMs": None, "pollIntervalMs": 1}


server = MCPServer(NAME, extensions=[Tasks()])


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


@server.tool(name=f"{NAME}_broken")
def broken() -> str:
    """Break."""
    raise MCPError(code=-31055, message="the database is locked", data={"file": 7})


@server.tool(name=f"{NAME}_task", structured_output=False)
def task() -> str:
    """Work as a task."""
    return "not as a task"


def who() -> Elicit[Person]:
    return Elicit("Who are you?", Person)


@server.tool(name=f"{NAME}_ask")
async def ask(person: Annotated[Person, Resolve(who)]) -> str:
    """Ask for a name and an age."""
    return f"{person.name} is {person.age}"


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
    await ctx.notify_tools_changed()
    return name


server.run(
    **(
        {"transport": "stdio"}
        if TRANSPORT == "stdio"
        else {"transport": "streamable-http", "port": int(sys.argv[4])}
    )
)
