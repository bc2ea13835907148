"""A server of the installed SDK that asks its caller: `python asking_server.py (stdio | http)`. Over HTTP it prints its URL.

`secret_of` asks for the word of a person and returns it; `task_of` does it in a task (SDK 1.x). No part of toolhub is used.
"""

from __future__ import annotations

import socket
import sys
from typing import Annotated, Any

from pydantic import BaseModel

TRANSPORT = sys.argv[1]


class Word(BaseModel):
    word: str


try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Elicit, Resolve

    server: Any = MCPServer("asking")

    def question(who: str) -> Elicit[Word]:
        return Elicit(f"word of {who}?", Word)

    @server.tool()
    async def secret_of(who: str, word: Annotated[Word, Resolve(question)]) -> str:
        """Ask for a word."""
        return f"{who}: {word.word}"

except ImportError:
    from mcp.server.fastmcp import Context, FastMCP

    from mcp import types

    server = FastMCP("asking")
    low = server._mcp_server
    low.experimental.enable_tasks()

    @server.tool()
    async def secret_of(who: str, ctx: Context) -> str:
        """Ask for a word."""
        answer = await ctx.elicit(f"word of {who}?", schema=Word)
        return f"{who}: {answer.data.word if answer.action == 'accept' else answer.action}"

    TASK = types.Tool(
        name="task_of",
        description="Ask for a word in a task.",
        inputSchema={"type": "object", "properties": {"who": {"type": "string"}}},
        execution=types.ToolExecution(taskSupport="required"),
    )

    async def list_tools() -> list[types.Tool]:
        return [*await server.list_tools(), TASK]

    async def call_tool(name: str, arguments: dict[str, Any]) -> Any:
        if name != TASK.name:
            return await server.call_tool(name, arguments)
        who = arguments["who"]

        async def work(task: Any) -> types.CallToolResult:
            answer = await task.elicit(message=f"word of {who}?", requestedSchema=Word.model_json_schema())
            word = answer.content["word"] if answer.action == "accept" else answer.action
            return types.CallToolResult(content=[types.TextContent(type="text", text=f"{who}: {word}")])

        return await low.request_context.experimental.run_task(work)

    low.list_tools()(list_tools)
    low.call_tool(validate_input=False)(call_tool)

if TRANSPORT == "stdio":
    server.run("stdio")
else:
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])
