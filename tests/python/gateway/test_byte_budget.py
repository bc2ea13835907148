"""The bytes that a served hub holds for its callers: bodies that arrive, and answers that nobody reads."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gateway.test_old_sse import INITIALIZE as OLD_INITIALIZE
from gateway.test_old_sse import OldClient
from support import wire

MB = 1_000_000
PROGRAM = """
import json, sys
from toolhub import ToolHub

hub = ToolHub()

@hub.tool(read_only=True)
def big(size: int) -> str:
    "A large answer."
    return "x" * size

if len(sys.argv) > 2:
    hub.add_server("large", command=sys.executable, args=["-c", sys.argv[2]])

def ready(serving):
    print(f"serving at {serving.url}", file=sys.stderr, flush=True)

hub.serve("http", port=0, ready=ready, **json.loads(sys.argv[1]))
"""
UPSTREAM = """
import json, sys

TOOL = {"name": "fetch_large", "description": "A large answer.", "inputSchema": {"type": "object"}}
CAPABILITIES = {"capabilities": {"tools": {}}, "serverInfo": {"name": "large", "version": "1"}}
for line in sys.stdin:
    request = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": request.get("id")}
    match request["method"]:
        case "initialize":
            answer["result"] = {"protocolVersion": request["params"]["protocolVersion"], **CAPABILITIES}
        case "tools/list":
            answer["result"] = {"tools": [{**TOOL, "annotations": {"readOnlyHint": True}}]}
        case "tools/call":
            text = "x" * request["params"]["arguments"]["size"]
            answer["result"] = {"content": [{"type": "text", "text": text}]}
        case method:
            answer["error"] = {"code": -32601, "message": method}
    if "id" in request:
        print(json.dumps(answer), flush=True)
"""
TOKENS = {"ann": "token-of-ann", "bob": "token-of-bob"}
ANN, BOB = ({"Authorization": f"Bearer {token}"} for token in TOKENS.values())


@contextmanager
def served(*upstream: str, **options: Any) -> Generator[tuple[str, int]]:
    """A hub in a process of its own: its address, and the id of the process."""
    with wire.running("-c", PROGRAM, json.dumps({"token": TOKENS, **options}), *upstream) as program:
        yield program.url, program.process.pid


def resident(pid: int) -> int:
    """The memory of a process, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    (found,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
    return int(found) // 1000


def settled(pid: int, below: int) -> int:
    """The memory when it is below this number of MB, or when that takes too long."""
    patience = threading.Event()
    for _ in range(int(wire.PATIENCE / 0.2)):
        if resident(pid) < below:
            break
        patience.wait(0.2)
    return resident(pid)


def unread(
    url: str, size: int, tool: str = "big", **headers: str
) -> tuple[int, http.client.HTTPConnection, Any]:
    """The status of an answer of which no more is read."""
    connection = wire.send(url, "tools/call", {"name": tool, "arguments": {"size": size}}, **headers)
    reply = connection.getresponse()
    return reply.status, connection, reply


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the memory of a process")
def test_answers_that_nobody_reads_are_bounded_and_their_memory_is_given_back() -> None:
    with served(max_buffered=42 * MB) as (url, pid):
        wire.call(url, "big", {"size": 1}, **ANN)
        before = resident(pid)
        answers = [unread(url, 10 * MB, **ANN) for _ in range(6)]
        # Half is for one caller.
        assert Counter(status for status, *_ in answers) == {200: 2, 429: 4}
        assert settled(pid, before + 60) < before + 60
        # Others are not concerned.
        assert len(wire.call(url, "big", {"size": 2 * MB}, **BOB)) == 2 * MB
        *_, last = answers[-1]
        assert last.headers["Retry-After"] == "1"
        assert "read the other answers first" in json.loads(last.read())["error"]["message"]
        for _, connection, reply in answers:
            reply.close()
            connection.close()
        assert settled(pid, before + 50) < before + 50
        assert len(wire.call(url, "big", {"size": 2 * MB}, **ANN)) == 2 * MB


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the memory of a process")
def test_large_answers_of_servers_leave_no_memory_behind() -> None:
    with served(UPSTREAM, max_buffered=200 * MB) as (url, pid):
        assert wire.call(url, "fetch_large", {"size": 1}, **ANN) == "x"
        before = resident(pid)
        answers = [unread(url, 20 * MB, "fetch_large", **ANN) for _ in range(4)]
        assert [status for status, *_ in answers] == [200] * 4
        for _, connection, reply in answers:
            reply.close()
            connection.close()
        # Less than one of them.
        assert settled(pid, before + 16) < before + 16


def test_answers_to_a_batch_are_bounded() -> None:
    with served(max_buffered=8 * MB) as (url, _):
        host, _, path = url.removeprefix("http://").partition("/")
        connection = http.client.HTTPConnection(host, timeout=wire.PATIENCE)
        accepts = {"Content-Type": "application/json", "Accept": "application/json", **ANN}
        opening = {
            "protocolVersion": "2025-03-26",
            "capabilities": {},
            "clientInfo": {"name": "a", "version": "1"},
        }
        request = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening}
        connection.request("POST", f"/{path}", json.dumps(request), accepts)
        reply = connection.getresponse()
        reply.read()
        large = {"name": "big", "arguments": {"size": 3 * MB}}
        batch = [{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": large} for id in (1, 2, 3)]
        session = {"Mcp-Session-Id": reply.headers["Mcp-Session-Id"], **accepts}
        connection.request("POST", f"/{path}", json.dumps(batch), session)
        answers = json.loads(connection.getresponse().read())
        connection.close()
        assert [answer["id"] for answer in answers] == [1, 2, 3]
        errors = [answer["error"]["message"] for answer in answers if "error" in answer]
        assert len(errors) == 2
        assert all("its answer is dropped" in error for error in errors)
        # They are held no longer.
        assert len(wire.call(url, "big", {"size": 3 * MB}, **ANN)) == 3 * MB


def test_answers_on_the_stream_of_an_old_client_are_bounded() -> None:
    with served(max_buffered=16 * MB, sse_path="/sse") as (url, _):
        client = OldClient(url.removeprefix("http://").partition("/")[0], "/sse", **ANN)
        assert client.open() == 200
        client.ask(1, "initialize", OLD_INITIALIZE)
        call = {"name": "big", "arguments": {"size": 9 * MB}}
        request = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
        assert client.post(json.dumps(request)) == 202
        ping = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
        patience, status = threading.Event(), 0
        for _ in range(int(wire.PATIENCE / 0.1)):
            if (status := client.post(ping)) != 202:
                break
            patience.wait(0.1)
        assert status == 429
        # Nothing is wrong with others, nor with the client when it has read.
        assert wire.call(url, "big", {"size": 1}, **BOB) == "x"
        _, data = client.event()
        assert len(json.loads(data)["result"]["content"][0]["text"]) == 9 * MB
        client.ask(3, "ping", {})
        client.close()


def body_of(url: str, length: int, **headers: str) -> socket.socket:
    """The head of a request whose body is to come."""
    host, _, path = url.removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    opened = socket.create_connection((name, int(port)), timeout=wire.PATIENCE)
    lines = [f"POST /{path} HTTP/1.1", f"Host: {host}", "Content-Type: application/json"]
    lines += [f"Content-Length: {length}", *(f"{key}: {value}" for key, value in headers.items()), "", ""]
    opened.sendall("\r\n".join(lines).encode())
    return opened


def test_bodies_that_arrive_are_bounded_together() -> None:
    with served(max_buffered=40 * MB) as (url, pid):
        before = resident(pid)
        halves = list[socket.socket]()
        refused = b""
        for _ in range(20):
            half = body_of(url, 15 * MB, **ANN)
            halves.append(half)
            try:
                half.sendall(b" " * (10 * MB))
            except OSError:
                # It was refused while it was sent.
                refused = half.recv(65_536)
                break
        assert refused.startswith(b"HTTP/1.1 429 ")
        assert b"Too much of your requests" in refused
        assert resident(pid) - before < 60
        # One more of another caller, then all together have too much.
        other = body_of(url, 15 * MB, **BOB)
        other.sendall(b" " * (10 * MB))
        assert wire.received(wire.send(url, "tools/list", **BOB))[0] == 200
        for one in (*halves, other):
            one.close()


def test_a_body_that_comes_too_slowly_frees_its_place() -> None:
    with served(max_in_flight=1) as (url, _):
        # One byte a second would do for 60 s.
        slow = body_of(url, 1000, **ANN)
        answer, leaves = list[bytes](), threading.Event()

        def trickle() -> None:
            while not leaves.wait(0.5):
                try:
                    slow.sendall(b" ")
                except OSError:
                    return

        sending = threading.Thread(target=trickle)
        sending.start()
        slow.settimeout(wire.PATIENCE)
        answer.append(slow.recv(100))
        leaves.set()
        sending.join()
        slow.close()
        assert answer[0].startswith(b"HTTP/1.1 408 ")
        assert wire.received(wire.send(url, "tools/list", **ANN))[0] == 200
