"""What ends with what: streams with their session, waits with their task, answers with the patience for their client; and
reads that end before a server is asked."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support import wire
from support.gateway import LegacyClient, ask, send, served
from toolhub import ToolHub
from toolhub.serving import Serving

pytestmark = pytest.mark.anyio
PATIENCE = 60
LAST_CHUNK = b"\r\n0\r\n\r\n"
"""The end of a stream; its connection stays open for another request."""

HALF_MUTE = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        offered = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "resources": {}},
                   "serverInfo": {"name": "half mute", "version": "1"}}
    elif method == "tools/list":
        offered = {"tools": []}
    else:
        # Never answered.
        if method == "resources/list":
            open(sys.argv[1], "a").write("asked\\n")
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": id, "result": offered}), flush=True)
"""


@asynccontextmanager
async def stream_of(serving: Serving, client: LegacyClient) -> AsyncIterator[asyncio.StreamReader]:
    """The standing stream of a session, open."""
    reader, writer = await asyncio.open_connection(serving.host, serving.port)
    head = (
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
        f"Mcp-Session-Id: {client.session}\r\nMCP-Protocol-Version: 2025-11-25\r\n\r\n"
    )
    writer.write(head.encode())
    await writer.drain()
    assert b" 200 " in await reader.readline()
    yield reader
    writer.close()


async def test_a_stream_ends_when_its_session_is_ended() -> None:
    async with served(ToolHub()) as serving:
        client, other = LegacyClient(serving.url), LegacyClient(serving.url)
        await client.start()
        await other.start()
        headers = {"Mcp-Session-Id": client.session, "MCP-Protocol-Version": "2025-11-25"}
        async with stream_of(serving, client) as stream, stream_of(serving, other) as kept:
            assert (await asyncio.to_thread(send, serving.url, "DELETE", None, headers)).status == 204
            await asyncio.wait_for(stream.readuntil(LAST_CHUNK), PATIENCE)
            assert not kept.at_eof()


async def test_a_stream_ends_when_the_time_of_its_session_is_over() -> None:
    async with served(ToolHub(), session_lifetime=2) as serving:
        client = LegacyClient(serving.url)
        await client.start()
        async with stream_of(serving, client) as stream:
            await asyncio.wait_for(stream.readuntil(LAST_CHUNK), PATIENCE)
        assert (await client.ask("ping")).status == 404


async def test_a_wait_ends_when_the_time_of_its_task_is_over() -> None:
    hub = ToolHub()

    @hub.tool
    async def endless() -> None:  # pyright: ignore[reportUnusedFunction]
        """Wait for ever."""
        await asyncio.Event().wait()

    async with served(hub) as serving:
        client = LegacyClient(serving.url)
        await client.start()
        reply = await client.ask("tools/call", {"name": "endless", "arguments": {}, "task": {"ttl": 1_000}})
        waited = await client.ask("tasks/result", {"taskId": reply.result["task"]["taskId"]})
        assert "no such task" in waited.message["error"]["message"]


async def test_a_server_that_hangs_is_asked_once_and_then_left_alone(tmp_path: Path) -> None:
    hub, program, asked = ToolHub(), tmp_path / "mute.py", tmp_path / "asked"
    program.write_text(HALF_MUTE)
    hub.add_server("mute", command=sys.executable, args=[str(program), str(asked)])

    @hub.resources.add("memo://own")
    def memo() -> str:  # pyright: ignore[reportUnusedFunction]
        """A memo."""
        return "text"

    async with hub, served(hub) as serving:
        for _ in range(3):
            listed = (await ask(serving.url, "resources/list")).result["resources"]
            assert [one["uri"] for one in listed] == ["memo://own"]
    assert asked.read_text() == "asked\n"


async def test_reads_that_no_server_is_asked_for_are_in_the_audit_log(tmp_path: Path) -> None:
    hub, audit = ToolHub(), tmp_path / "audit.ndjson"

    @hub.resources.add("memo://all")
    def memo() -> str:  # pyright: ignore[reportUnusedFunction]
        """A memo."""
        return "text"

    async with served(hub, views={"none": {"tools": ["x"], "resources": []}}, audit=str(audit)) as running:
        hidden = await ask(f"{running.url}/none", "resources/read", {"uri": "memo://all"})
        absent = await ask(running.url, "prompts/get", {"name": "hello"})
        unnamed = await ask(running.url, "resources/read", {"uri": 5}, **{"Mcp-Name": "5"})
        assert all("error" in reply.message for reply in (hidden, absent, unnamed))
    found = [
        (line["type"], line["view"], line.get("uri", line.get("prompt")), line["outcome"])
        for line in wire.audit_lines(audit)
    ]
    assert found[:2] == [
        ("resource", "none", "memo://all", "not_found"),
        ("prompt", "", "hello", "not_found"),
    ]
    assert len(found) == 3


async def test_an_answer_that_an_asgi_server_does_not_take_is_given_up() -> None:
    hub, sent = ToolHub(), list[str]()
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    headers = {"content-type": "application/json", "accept": "application/json", "host": "localhost"}
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    received = [{"type": "http.request", "body": body}]

    async def receive() -> Any:
        return received.pop() if received else await asyncio.Event().wait()

    async def take(message: Any) -> None:
        sent.append(message["type"])
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    await asyncio.wait_for(hub.asgi(write_timeout=0.2)(scope, receive, take), PATIENCE)
    assert sent == ["http.response.start", "http.response.body"]
    hub.close()
