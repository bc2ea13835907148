"""A client that has a model and roots, and subscribes: `python asking_client.py URL`, in an environment of an SDK.

It prints one line of JSON. No part of toolhub is used here.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import mcp
from mcp import types

URL = sys.argv[1]
updated: asyncio.Queue[str] = asyncio.Queue()


async def elicit(context: Any, params: Any) -> Any:
    return types.ElicitResult(action="accept", content={"name": "Astrid"})


async def sample(context: Any, params: Any) -> Any:
    asked = params.messages[-1].content.text
    return types.CreateMessageResult.model_validate(
        {"role": "assistant", "content": {"type": "text", "text": f"re: {asked}"}, "model": "parrot-7"}
    )


async def roots(context: Any) -> Any:
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///home/astrid", "name": "home"}]})


async def hear(message: Any) -> None:
    note = getattr(message, "root", message)
    if getattr(note, "method", None) == "notifications/resources/updated":
        updated.put_nowait(str(note.params.uri))


async def texts(session: Any) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for name in ("everything", "everything_in_thread", "with_tools"):
        result = await session.call_tool(name, {})
        seen[name] = json.loads(result.content[0].text) if "{" in result.content[0].text else "refused"
    return seen


async def main() -> None:
    answers: Any = {
        "elicitation_callback": elicit,
        "sampling_callback": sample,
        "list_roots_callback": roots,
    }
    if hasattr(mcp, "Client"):
        async with mcp.Client(URL, **answers) as client:
            async with client.listen(resource_subscriptions=["app://clock"]) as events:
                await client.call_tool("touch", {})
                heard = await asyncio.wait_for(anext(aiter(events)), 30)
            # The clock was touched, so nothing that was read before counts.
            seen = {**await texts(client), "updated": str(heard.uri)}
        return print(json.dumps(seen))
    from mcp.client.streamable_http import streamable_http_client
    from pydantic import AnyUrl

    async with (
        streamable_http_client(URL) as (read, write, *_),
        mcp.ClientSession(read, write, message_handler=hear, **answers) as session,
    ):
        await session.initialize()
        await session.subscribe_resource(AnyUrl("app://clock"))
        # Notices come on the standing stream, which the client opens by itself.
        async with asyncio.timeout(30):
            while updated.empty():
                await session.call_tool("touch", {})
        print(json.dumps({**await texts(session), "updated": await updated.get()}))


asyncio.run(main())
