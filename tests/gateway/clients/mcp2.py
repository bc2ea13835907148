"""A client of the SDK for Python 2.x, in the mode of the second argument: does everything once and prints what came of it."""

import json
import sys
from typing import Any

import anyio

from mcp import Client, MCPError, types

FOUND: dict[str, Any] = {}


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    FOUND["question"] = params.message
    return types.ElicitResult(action="accept", content={"x": "yes"})


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

    async with Client(url, mode=mode, elicitation_callback=elicit, message_handler=heard) as client:
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
