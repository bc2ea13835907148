"""A client of the SDK for Python 1.x: does everything once with a served hub, and prints what came of it."""

import json
import sys
from typing import Any

import anyio
from mcp.client.streamable_http import streamable_http_client

from mcp import ClientSession, McpError, types

FOUND: dict[str, Any] = {}


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    FOUND["question"] = params.message
    return types.ElicitResult(action="accept", content={"x": "yes"})


async def as_task(session: ClientSession, name: str) -> Any:
    """Calls a tool as a task: follows its states, then fetches the result (and answers questions meanwhile)."""
    created = await session.experimental.call_tool_as_task(name)
    id = created.task.taskId
    async for state in session.experimental.poll_task(id):
        if state.status == "input_required":
            break
    result = await session.experimental.get_task_result(id, types.CallToolResult)
    listed = [task.taskId for task in (await session.experimental.list_tasks()).tasks]
    ended = (await session.experimental.get_task(id)).status
    return [ended, id in listed, result.structuredContent]


async def main(url: str) -> None:
    changed = anyio.Event()

    async def heard(message: Any) -> None:
        if isinstance(getattr(message, "root", None), types.ToolListChangedNotification):
            changed.set()

    async with (
        streamable_http_client(url) as (read, write, _),
        ClientSession(read, write, elicitation_callback=elicit, message_handler=heard) as session,
    ):
        FOUND["version"] = (await session.initialize()).protocolVersion
        await session.send_ping()
        FOUND["tools"] = [tool.name for tool in (await session.list_tools()).tools]
        FOUND["sum"] = (await session.call_tool("sum", {"a": 2, "b": 3})).content[0].text
        FOUND["structured"] = (await session.call_tool("profile")).structuredContent
        FOUND["failed"] = (await session.call_tool("fail")).isError
        reports: list[Any] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            reports.append([done, total, message])

        await session.call_tool("report", progress_callback=progress)
        FOUND["progress"] = reports
        FOUND["answer"] = (await session.call_tool("ask")).structuredContent
        FOUND["tasks"] = [await as_task(session, name) for name in ("profile", "ask")]
        try:
            await session.call_tool("nonsuch")
        except McpError as error:
            FOUND["unknown"] = error.error.code
        with anyio.fail_after(20):
            await session.call_tool("grow")
            await changed.wait()
        FOUND["changed"] = True
        with anyio.CancelScope() as scope:

            async def started(*_: Any) -> None:
                scope.cancel()

            await session.call_tool("wait", progress_callback=started)
        FOUND["cancelled"] = scope.cancelled_caught
    print(json.dumps(FOUND))


anyio.run(main, sys.argv[1])
