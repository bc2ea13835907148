"""A client that reports, logs and answers: `python talking_client.py URL (accept|decline|none)`, in an environment of an SDK.

It prints one line of JSON. No part of toolhub is used here.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any

import mcp
from mcp import types

URL, HABIT = sys.argv[1:]
logged: list[Any] = []


async def elicit(context: Any, params: Any) -> Any:
    assert params.message == "Which city?", params
    if HABIT == "accept":
        return types.ElicitResult(action="accept", content={"city": "Bergen"})
    return types.ElicitResult(action="decline")


async def log(params: Any) -> None:
    logged.append([params.level, params.logger, params.data])


async def use(session: Any) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for name in ("work", "work_in_thread"):
        reports: list[Any] = []
        logged.clear()

        async def report(done: float, total: float | None, message: str | None, to: Any = reports) -> None:
            to.append([done, total, message])

        result = await session.call_tool(name, {"steps": 3}, progress_callback=report)
        while len(reports) < 3 or not logged:  # they may be handled after the answer
            await asyncio.sleep(0.01)
        seen[name] = [result.content[0].text, reports, list(logged)]
    for name in ("travel", "travel_in_thread"):
        try:
            answer = await session.call_tool(name, {})
            seen[name] = json.loads(answer.content[0].text) if not failed(answer) else "failed"
        except Exception as error:
            seen[name] = getattr(getattr(error, "error", error), "code", None)
    begun = asyncio.Event()

    async def begins(*_: Any) -> None:
        begun.set()

    running = asyncio.ensure_future(session.call_tool("wait_for_cancel", {}, progress_callback=begins))
    await begun.wait()
    if not hasattr(mcp, "Client"):
        # A session of the SDK 1.x does not announce that it has given up.
        params = types.CancelledNotificationParams(requestId=session._request_id - 1)
        note = types.CancelledNotification(method="notifications/cancelled", params=params)
        await session.send_notification(types.ClientNotification(note))
    running.cancel()
    with contextlib.suppress(BaseException):
        await running
    seen["given up"] = (await session.call_tool("was_given_up", {})).content[0].text
    return seen


def failed(result: Any) -> bool:
    return bool(getattr(result, "is_error", getattr(result, "isError", False)))


async def main() -> None:
    answers: Any = {} if HABIT == "none" else {"elicitation_callback": elicit}
    if hasattr(mcp, "Client"):
        async with mcp.Client(URL, logging_callback=log, log_level="info", **answers) as client:
            return sys.stdout.write(json.dumps(await use(client)))
    if URL.endswith("/sse"):
        from mcp.client.sse import sse_client as connect
    else:
        from mcp.client.streamable_http import streamable_http_client as connect

    async with (
        connect(URL) as (read, write, *_),
        mcp.ClientSession(read, write, logging_callback=log, **answers) as session,
    ):
        await session.initialize()
        return sys.stdout.write(json.dumps(await use(session)))


asyncio.run(main())
