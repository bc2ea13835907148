"""A client of the SDK for Python 2.x, in the mode of the second argument: does everything once and prints what came of it."""

import json
import sys
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import anyio
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

from mcp import Client, MCPError, types

FOUND: dict[str, Any] = {}


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    FOUND["question"] = params.message
    return types.ElicitResult(action="accept", content={"x": "yes"})


class TaskHandle(types.Result):
    """A call that was answered with a task."""

    result_type: Literal["task"]
    task_id: str


class TaskState(types.Result):
    status: str
    result: dict[str, Any] | None = None


class TaskParams(types.RequestParams):
    task_id: str


class GetTask(types.Request[TaskParams, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: TaskParams
    name_param: ClassVar[str | None] = "taskId"


class Tasks(ClientExtension):
    """The extension for tasks, as its specification asks of a client: ask for the task until it has ended."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=TaskHandle, resolve=self.follow)]

    async def follow(self, handle: TaskHandle, ctx: ClaimContext) -> types.CallToolResult:
        while True:
            request = GetTask(params=TaskParams(task_id=handle.task_id))
            state = await ctx.session.send_request(request, TaskState)
            if state.status == "completed":
                FOUND["followed"] = ctx.tool_name
                return types.CallToolResult.model_validate(state.result)
            assert state.status == "working", state
            await anyio.sleep(0.05)


async def grown(client: Client, mode: str, changed: anyio.Event) -> None:
    """Waits for the change of the list of tools that a call makes."""
    with anyio.fail_after(20):
        if mode == "legacy":
            await client.call_tool("grow")
            await changed.wait()
            return
        async with client.listen(tools_list_changed=True) as changes:
            await client.call_tool("grow")
            async for _ in changes:
                return


async def main(url: str, mode: str) -> None:
    changed = anyio.Event()

    async def heard(message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed.set()

    async with Client(
        url, mode=mode, elicitation_callback=elicit, message_handler=heard, extensions=[Tasks()]
    ) as client:
        FOUND["version"] = client.protocol_version
        FOUND["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        FOUND["sum"] = (await client.call_tool("sum", {"a": 2, "b": 3})).content[0].text
        FOUND["structured"] = (await client.call_tool("profile")).structured_content
        FOUND["failed"] = (await client.call_tool("fail")).is_error
        reports: list[Any] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            reports.append([done, total, message])

        await client.call_tool("report", progress_callback=progress)
        FOUND["progress"] = reports
        FOUND["answer"] = (await client.call_tool("ask")).structured_content
        FOUND["mirrored"] = (await client.call_tool("region", {"region": "日本", "n": 7})).structured_content
        FOUND["background"] = (await client.call_tool("background", {"then": "end"})).content[0].text
        try:
            await client.call_tool("nonsuch")
        except MCPError as error:
            FOUND["unknown"] = error.code
        await grown(client, mode, changed)
        FOUND["changed"] = True
        with anyio.CancelScope() as scope:

            async def started(*_: Any) -> None:
                scope.cancel()

            await client.call_tool("wait", progress_callback=started)
        FOUND["cancelled"] = scope.cancelled_caught
    print(json.dumps(FOUND))


anyio.run(main, sys.argv[1], sys.argv[2])
