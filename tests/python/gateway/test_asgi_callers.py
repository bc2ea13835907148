"""A hub inside an ASGI server asks who calls before it reads what they send."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from support import wire
from support.gateway import python_of

ROOT = Path(__file__).parents[3]
PROGRAM = """
import socket
import uvicorn
from toolhub import ToolHub

hub = ToolHub()
hub.register(lambda text: len(text), name="length", read_only=True)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
app = hub.asgi(token="token-of-ann", max_buffered=1_000_000, max_body=800_000)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
"""


@contextmanager
def on_uvicorn() -> Generator[int]:
    """The port of a hub on uvicorn, in a process of its own."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    words = [python_of("fastapi"), "-c", PROGRAM]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environ) as program:
        try:
            assert program.stdout is not None
            yield int(program.stdout.readline())
        finally:
            program.kill()


def begun(port: int, length: int, *headers: str) -> socket.socket:
    """A request of which the head and one byte are sent."""
    opened = socket.create_connection(("127.0.0.1", port), timeout=wire.PATIENCE)
    lines = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *headers]
    opened.sendall("\r\n".join([*lines, f"Content-Length: {length}", "", "{"]).encode())
    return opened


def reply_to(opened: socket.socket) -> bytes:
    """The whole reply; the connection ends with it."""
    reply = b""
    while part := opened.recv(65_536):
        reply += part
    return reply


def test_a_stranger_is_refused_before_the_body_is_read() -> None:
    with on_uvicorn() as port, begun(port, 700_000) as stranger:
        # Nothing more is sent, and the answer comes.
        assert reply_to(stranger).startswith(b"HTTP/1.1 401 ")


def test_a_body_is_bounded_and_what_callers_send_together() -> None:
    own = "Authorization: Bearer token-of-ann"
    with on_uvicorn() as port:
        with begun(port, 900_000, own) as declared:
            assert reply_to(declared).startswith(b"HTTP/1.1 413 ")
        with begun(port, 700_000, own) as first, begun(port, 700_000, own) as second:
            for body in (first, second):
                body.sendall(b" " * 400_000)
            # Each alone would fit; the one that comes later does not.
            (refused, *_), _, _ = select.select([first, second], [], [], wire.PATIENCE)
            reply = reply_to(refused)
            assert reply.startswith(b"HTTP/1.1 429 ")
            assert b"Too much of your requests" in reply
        url = f"http://127.0.0.1:{port}/mcp"
        text = "x" * 300_000
        called = wire.call(url, "length", {"text": text}, Authorization="Bearer token-of-ann")
        assert json.loads(called) == len(text)
