"""Requests by hand, and programs that serve a hub, for the tests."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PATIENCE = 30.0
"""Seconds after which a test fails rather than hang."""

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Lines:
    """The lines of a stream, read by a thread, so that a test can wait for one of them."""

    def __init__(self, stream: Any) -> None:
        self.lines: list[str] = []
        self._more = threading.Condition()
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: Any) -> None:
        for line in stream:
            with self._more:
                self.lines.append(line.rstrip("\n"))
                self._more.notify_all()

    def end(self) -> None:
        """Wait for the end of the stream."""
        self._thread.join(PATIENCE)

    @property
    def is_open(self) -> bool:
        """Whether more lines may come."""
        return self._thread.is_alive()

    def wait_for(self, part: str) -> str:
        """The first line with this part."""

        def found() -> str | None:
            return next((line for line in self.lines if part in line), None)

        with self._more:
            assert self._more.wait_for(found, PATIENCE), f"no {part!r} in {self.lines}"
            line = found()
        assert line is not None
        return line


class Program:
    """A program that serves a hub, in a process of its own."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self.output, self.errors = Lines(self.process.stdout), Lines(self.process.stderr)

    @property
    def url(self) -> str:
        """The address that `toolhub serve --http` has written to stderr."""
        return self.errors.wait_for("serving ").rpartition(" ")[2]

    def end(self) -> None:
        """Kill it; its servers end with it."""
        self.process.kill()
        self.process.wait()
        for lines, stream in ((self.output, self.process.stdout), (self.errors, self.process.stderr)):
            assert stream is not None
            lines.end()
            stream.close()
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def send(self, message: Any) -> None:
        """One message on stdin."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()


@contextmanager
def running(*arguments: str, **environment: str) -> Generator[Program]:
    """A program that is killed at the end of the test."""
    program = Program(*arguments, **environment)
    try:
        yield program
    finally:
        program.end()


@contextmanager
def command(*arguments: str, **environment: str) -> Generator[Program]:
    """`toolhub serve --http`."""
    serve = ["-m", "toolhub", "serve", "--http", "--port", "0"]
    with running(*serve, *arguments, **environment) as program:
        yield program


def message(method: str, params: Any = None, id: int = 1) -> dict[str, Any]:
    """A modern request."""
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**(params or {}), "_meta": META}}


def send(url: str, method: str, params: Any = None, **headers: str) -> http.client.HTTPConnection:
    """Sends a modern request; the reply is left to be read."""
    host, _, path = url.removeprefix("http://").partition("/")
    own = {"Mcp-Method": method, "MCP-Protocol-Version": "2026-07-28", "Content-Type": "application/json"}
    if params and "name" in params:
        own["Mcp-Name"] = params["name"]
    own |= {"Accept": "application/json, text/event-stream", **headers}
    connection = http.client.HTTPConnection(host, timeout=PATIENCE)
    connection.request("POST", f"/{path}", json.dumps(message(method, params)), own)
    return connection


def received(connection: http.client.HTTPConnection) -> tuple[int, Any, http.client.HTTPMessage]:
    """The reply: status, message, headers."""
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    if reply.headers.get_content_type() == "text/event-stream":
        text = [line for line in text.splitlines() if line.startswith("data: ")][-1].removeprefix("data: ")
    return reply.status, json.loads(text) if text else None, reply.headers


def call(url: str, tool: str, arguments: Any = None, **headers: str) -> Any:
    """The text of a result, or the error."""
    connection = send(url, "tools/call", {"name": tool, "arguments": arguments or {}}, **headers)
    _, answer, _ = received(connection)
    return answer["result"]["content"][0]["text"] if "result" in answer else answer["error"]


def tools(url: str) -> list[str]:
    """The names of the tools that are listed."""
    _, answer, _ = received(send(url, "tools/list"))
    return sorted(tool["name"] for tool in answer["result"]["tools"])


def get(url: str, path: str) -> int:
    """The status of a page beside the endpoint."""
    return _got(url, path)[0]


def page(url: str, path: str) -> str:
    """The text of a page beside the endpoint."""
    return _got(url, path)[1]


def _got(url: str, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(url.removeprefix("http://").partition("/")[0], timeout=PATIENCE)
    connection.request("GET", path)
    reply = connection.getresponse()
    got = reply.status, reply.read().decode()
    connection.close()
    return got


@contextmanager
def listening(url: str) -> Generator[Lines]:
    """The events of a stream that reports changes of the list of tools."""
    connection = send(url, "subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    # The reply takes the socket over, because the connection ends with it.
    opened = connection.sock
    assert opened is not None
    events = Lines(_decoded(connection.getresponse()))
    try:
        yield events
    finally:
        with suppress(OSError):
            opened.shutdown(socket.SHUT_RDWR)
        # Closing what a thread reads would break the thread.
        events.end()
        connection.close()


def _decoded(reply: http.client.HTTPResponse) -> Iterator[str]:
    # After a chunk that breaks off, http.client has no stream any more: AttributeError.
    with suppress(OSError, http.client.HTTPException, ValueError, AttributeError):
        while line := reply.readline():
            yield line.decode()


def audit_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of an audit log, without those that calls begin with."""
    lines = (json.loads(line) for line in path.read_text().splitlines())
    return [line for line in lines if line["type"] != "begin"]
