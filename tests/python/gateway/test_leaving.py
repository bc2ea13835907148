"""Clients that leave in the middle of a call over HTTP/1.1, whatever they have sent after it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from support import wire
from support.gateway import served
from toolhub import ToolHub, current_call

SOON = 10.0
"""Seconds; a call that is not cancelled runs for longer."""


def request(tool: str, number: int = 1, **arguments: Any) -> bytes:
    """A whole request of a modern client."""
    params = {"name": tool, "arguments": arguments, "_meta": {**wire.META, "progressToken": 1}}
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    lines = (
        "POST /mcp HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        f"Mcp-Name: {tool}",
        f"Content-Length: {len(body)}",
    )
    return ("\r\n".join(lines) + f"\r\n\r\n{body}").encode()


AFTER = {
    "nothing": b"",
    "an empty line": b"\r\n",
    "another request": request("quick", 2),
    "more than hyper reads at once": request("quick", 2, text="x" * 100_000),
    "garbage": b"\x00" * 30,
}


class Watched:
    """A hub whose slow tool tells when it begins and how it ends."""

    def __init__(self) -> None:
        self.hub = ToolHub()
        self.begun, self.ended = asyncio.Event(), asyncio.Event()
        self.outcome = ""
        self.may_end = asyncio.Event()

        @self.hub.tool
        async def slow(talks: bool = False) -> str:
            """Wait to be cancelled."""
            if talks:
                current_call().report_progress(1, 2)
            self.begun.set()
            self.outcome = "cancelled"
            try:
                await asyncio.wait_for(self.may_end.wait(), 3 * SOON)
                self.outcome = "ended"
            finally:
                self.ended.set()
            return "slow is done"

        @self.hub.tool
        def quick(text: str = "") -> str:
            """Answer at once."""
            return f"quick is done{text[:0]}"


@pytest.mark.anyio
@pytest.mark.parametrize("talks", [False, True], ids=["json", "events"])
@pytest.mark.parametrize("after", AFTER)
async def test_a_client_that_leaves_cancels_its_call_whatever_it_has_sent_after_it(
    after: str, talks: bool
) -> None:
    watched = Watched()
    async with served(watched.hub) as serving:
        reader, writer = await asyncio.open_connection("127.0.0.1", serving.port)
        writer.write(request("slow", talks=talks) + AFTER[after])
        await writer.drain()
        await asyncio.wait_for(watched.begun.wait(), SOON)
        if talks:
            await asyncio.wait_for(reader.readuntil(b"notifications/progress"), SOON)
        writer.close()
        await asyncio.wait_for(watched.ended.wait(), SOON)
    assert watched.outcome == "cancelled"


@pytest.mark.anyio
async def test_bytes_that_come_while_a_call_runs_do_not_hide_that_the_client_leaves() -> None:
    watched = Watched()
    async with served(watched.hub) as serving:
        _, writer = await asyncio.open_connection("127.0.0.1", serving.port)
        writer.write(request("slow"))
        await asyncio.wait_for(watched.begun.wait(), SOON)
        for part in (b"\r\n", request("quick", 2), request("quick", 3)):
            writer.write(part)
            await writer.drain()
            # Another connection: what was sent before has reached the server.
            await asyncio.to_thread(wire.call, serving.url, "quick")
        writer.close()
        await asyncio.wait_for(watched.ended.wait(), SOON)
    assert watched.outcome == "cancelled"


@pytest.mark.anyio
async def test_a_client_that_sends_ahead_and_stays_gets_all_its_answers() -> None:
    watched = Watched()
    async with served(watched.hub) as serving:
        reader, writer = await asyncio.open_connection("127.0.0.1", serving.port)
        ahead = b"".join(request("quick", number, text="x" * 50_000) for number in range(2, 12))
        writer.write(request("slow") + b"\r\n" + ahead)
        await asyncio.wait_for(watched.begun.wait(), SOON)
        watched.may_end.set()
        received = b""
        for number in range(1, 12):
            while f'"id":{number},'.encode() not in received:
                part = await asyncio.wait_for(reader.read(65536), SOON)
                assert part, received[-500:]
                received += part
        writer.close()
    assert watched.outcome == "ended"
    assert received.count(b"slow is done") >= 1
