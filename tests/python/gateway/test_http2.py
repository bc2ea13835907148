"""HTTP/2 without TLS, by prior knowledge, as proxies in front of a served hub speak it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import struct
import subprocess
from typing import Any

import pytest

from gateway.test_serving import PROGRAM, served_over_http
from support import wire
from support.gateway import served
from toolhub import ToolHub

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "curl", "version": "1"},
    },
}


def test_curl_calls_over_http2() -> None:
    curl = shutil.which("curl")
    if curl is None or "HTTP2" not in subprocess.run([curl, "-V"], capture_output=True, text=True).stdout:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("there is no curl with HTTP/2")
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    call["params"] = {"name": "add", "arguments": {"a": 2, "b": 3}}
    with served_over_http(PROGRAM, "http") as (_, url):
        for message, expected in ((HELLO, '"protocolVersion":"2025-11-25"'), (call, '"text":"5"')):
            words = [
                curl,
                "-s",
                "-m",
                "30",
                "--http2-prior-knowledge",
                "-w",
                "\n%{http_version} %{http_code}",
            ]
            words += ["-H", "Content-Type: application/json", "-H", "Accept: application/json", url]
            done = subprocess.run(
                [*words, "-d", json.dumps(message)], capture_output=True, text=True, timeout=40
            )
            body, _, status = done.stdout.rpartition("\n")
            assert status == "2 200", done
            assert expected in body


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


DATA, HEADERS, RESET, SETTINGS, PING, WINDOW = 0, 1, 3, 4, 6, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
INITIAL_WINDOW = 4


class Http2Client:
    """A client that takes nothing of an answer before it says so."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        nothing = struct.pack(">HI", INITIAL_WINDOW, 0)
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, nothing))
        self.taken: dict[int, bytes] = {}

    def ask(self, stream: int, method: str, params: dict[str, Any]) -> None:
        body = json.dumps(wire.message(method, params)).encode()
        headers = {":method": "POST", ":path": "/mcp", ":scheme": "http", ":authority": "localhost"}
        headers |= {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
        if "name" in params:
            headers["mcp-name"] = params["name"]
        # Literals that are not indexed (HPACK).
        packed = b"".join(
            b"\x00" + bytes((len(name),)) + name.encode() + bytes((len(value),)) + value.encode()
            for name, value in headers.items()
        )
        self.socket.sendall(
            frame(HEADERS, END_HEADERS, stream, packed) + frame(DATA, END_STREAM, stream, body)
        )

    def take(self, stream: int, size: int) -> None:
        """Takes so much more of an answer."""
        self.socket.sendall(frame(WINDOW, 0, stream, struct.pack(">I", size)))

    def read(self) -> tuple[int, int, int]:
        """The kind, flags and stream of the next frame. Settings and pings are answered."""
        head = self._exactly(9)
        payload = self._exactly(int.from_bytes(head[:3]))
        kind, flags, stream = head[3], head[4], int.from_bytes(head[5:])
        if kind in (SETTINGS, PING) and not flags & ACK:
            self.socket.sendall(frame(kind, ACK, 0, payload if kind == PING else b""))
        if kind == DATA:
            self.taken[stream] = self.taken.get(stream, b"") + payload
        return kind, flags, stream

    def _exactly(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            part = self.socket.recv(size - len(got))
            assert part, "the server has closed the connection"
            got += part
        return got


@pytest.mark.anyio
async def test_an_answer_that_its_client_does_not_take_is_given_up_and_other_streams_go_on() -> None:
    hub = ToolHub()

    @hub.tool
    def much(size: int) -> str:  # pyright: ignore[reportUnusedFunction]
        """Answer with much text."""
        return "x" * size

    def use(port: int) -> bytes:
        client = Http2Client(port)
        with client.socket:
            client.ask(1, "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            client.take(1, 100_000)
            while b"acknowledged" not in client.taken.get(1, b""):
                client.read()
            client.ask(3, "tools/call", {"name": "much", "arguments": {"size": 500_000}})
            client.ask(5, "tools/call", {"name": "much", "arguments": {"size": 500_000}})
            client.take(5, 10)
            given_up: set[int] = set()
            while given_up != {3, 5}:
                kind, _, stream = client.read()
                if kind == RESET:
                    given_up.add(stream)
            # A stream that had nothing to say is still there, and so is the connection.
            hub.register(len, name="length")
            while b"list_changed" not in client.taken[1]:
                client.read()
            client.take(0, 1_000_000)
            client.ask(7, "tools/call", {"name": "much", "arguments": {"size": 500_000}})
            client.take(7, 1_000_000)
            while client.read()[1:] != (END_STREAM, 7):
                pass
            return client.taken[7]

    async with served(hub, write_timeout=0.5) as serving:
        answer = await asyncio.to_thread(use, serving.port)
    assert json.loads(answer)["result"]["content"][0]["text"] == "x" * 500_000


@pytest.mark.anyio
async def test_an_idle_client_that_answers_no_ping_does_not_hold_up_the_end() -> None:
    def use(port: int) -> Http2Client:
        client = Http2Client(port)
        client.ask(1, "tools/list", {})
        client.take(1, 100_000)
        while client.read()[1:] != (END_STREAM, 1):
            pass
        return client

    async with asyncio.timeout(wire.PATIENCE):
        async with served(ToolHub(), grace=600) as serving:
            client = await asyncio.to_thread(use, serving.port)
    client.socket.close()
