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

def ready(serving):
    print(f"serving at {serving.url}", file=sys.stderr, flush=True)

hub.serve("http", port=0, ready=ready, **json.loads(sys.argv[1]))
"""
TOKENS = {"ann": "token-of-ann", "bob": "token-of-bob"}
ANN, BOB = ({"Authorization": f"Bearer {token}"} for token in TOKENS.values())


@contextmanager
def served(**options: Any) -> Generator[tuple[str, int]]:
    """A hub in a process of its own: its address, and the id of the process."""
    with wire.running("-c", PROGRAM, json.dumps({"token": TOKENS, **options})) as program:
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


def unread(url: str, size: int, **headers: str) -> tuple[int, http.client.HTTPConnection, Any]:
    """The status of an answer of which no more is read."""
    connection = wire.send(url, "tools/call", {"name": "big", "arguments": {"size": size}}, **headers)
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
