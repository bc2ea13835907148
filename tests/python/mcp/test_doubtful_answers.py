"""Answers that look as if nothing had happened: directly, and through a served hub. No other provider gets the call then."""

from __future__ import annotations

import asyncio
import json
import queue
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio

RESULT = {"content": [{"type": "text", "text": "sent"}]}


class BadServer(ThreadingHTTPServer):
    """An MCP server whose answer to `tools/call` is a function; it counts the calls. `/sse` is the older transport."""

    daemon_threads = True
    on_call: Callable[[Handler, Any], None]
    calls = 0
    sessions = 0
    known = ""
    is_answered: threading.Event
    # What the standing stream of the older transport sends.
    stream: queue.Queue[Any]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: BadServer

    def reply(self, status: int, message: Any = None, **headers: str) -> None:
        body = b"" if message is None else json.dumps(message).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def events(self, status: int, *messages: Any) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for message in messages:
            self.event(json.dumps(message))

    def event(self, data: str, name: str = "message") -> None:
        self.wfile.write(f"event: {name}\ndata: {data}\n\n".encode())
        self.wfile.flush()

    def do_GET(self) -> None:
        if self.path != "/sse":
            return self.reply(405)
        self.events(200)
        self.event("/messages", "endpoint")
        while (message := self.server.stream.get()) is not None:
            self.event(json.dumps(message))

    def do_DELETE(self) -> None:
        self.reply(200)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, is_old = message.get("method"), self.path == "/messages"
        if method is None:
            self.server.is_answered.set()
            return self.reply(202)
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2024-11-05" if is_old else "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "bad", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "send_mail", "inputSchema": {"type": "object"}}]},
            "ping": {},
        }
        headers = {}
        if method == "initialize" and not is_old:
            self.server.sessions += 1
            self.server.known = headers["Mcp_Session_Id"] = f"s{self.server.sessions}"
        elif not is_old and self.path == "/mcp" and self.headers["Mcp-Session-Id"] != self.server.known:
            return self.reply(404)
        if method == "tools/call":
            self.server.calls += self.path != "/two"
            self.server.on_call(self, message)
        elif "id" not in message:
            self.reply(202)
        else:
            found = results.get(method)
            error = {"code": -32601, "message": "Method not found"}
            answer = {"jsonrpc": "2.0", "id": message["id"]}
            answer |= {"error": error} if found is None else {"result": found}
            if is_old:
                self.server.stream.put(answer)
                self.reply(202)
            else:
                self.reply(200, answer, **headers)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[BadServer]:
    with BadServer(("127.0.0.1", 0), Handler) as server:
        server.is_answered, server.stream = threading.Event(), queue.Queue()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.stream.put(None)
        server.shutdown()


def error(message: Any, **data: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "bad", **data}}


def result(message: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message["id"], "result": RESULT}


async def end(server: dict[str, Any], folder: Path, **options: Any) -> tuple[str, list[str], list[str]]:
    """The outcome of a call, the states of its rows, and what the other provider did."""
    ran: list[str] = []
    async with ToolHub(store=folder / "hub.db") as hub:
        hub.add_server("bad", **server)
        hub.register(lambda: ran.append("sent"), name="send_mail", priority=9, effects=True)
        await hub.connect()
        called = await hub.execute("send_mail", {}, run="r", strategy="fallback", **options)
        outcome = called.meta["error"]["outcome"] if not called.success else "done"
        return outcome, [row.state for row in hub.ledger("r")], ran


UNKNOWN: tuple[str, list[str], list[str]] = ("unknown", ["unknown"], [])


@asynccontextmanager
async def served(server: BadServer, **options: Any) -> AsyncIterator[str]:
    async with ToolHub() as hub:
        hub.add_server("bad", url=f"{server.url}/mcp", **options)
        ready = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(hub.aserve("http", port=0, ready=ready.set_result))
        url = (await ready).url
        try:
            yield url
        finally:
            ready.result().stop()
            await serving


def moved(handler: Handler, message: Any) -> None:
    if handler.path == "/mcp":
        handler.reply(307, Location="/two")
    else:
        handler.reply(200, error(message))


LOGGED = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "sent"}}

BAD: dict[str, Callable[[Handler, Any], None]] = {
    "500 with -32602": lambda handler, message: handler.reply(500, error(message)),
    "500 with data": lambda handler, message: handler.reply(500, error(message, data={"own": 1})),
    "500 with a text as data": lambda handler, message: handler.reply(500, error(message, data="own")),
    "307, then -32602": moved,
    "log message, then -32602": lambda handler, message: handler.events(200, LOGGED, error(message)),
    "died": lambda handler, message: handler.connection.shutdown(socket.SHUT_RDWR),
    "503": lambda handler, message: handler.reply(503),
    "malformed": lambda handler, message: handler.reply(200, {"jsonrpc": "2.0", "id": message["id"]}),
}


@pytest.mark.parametrize("case", BAD)
async def test_a_hub_in_front_knows_that_a_call_may_have_run(
    server: BadServer, tmp_path: Path, case: str
) -> None:
    server.on_call = BAD[case]
    async with served(server) as url:
        assert await end({"url": url}, tmp_path) == UNKNOWN
    assert server.calls == 1


async def test_a_hub_in_front_knows_that_a_call_ran_out_of_time(server: BadServer, tmp_path: Path) -> None:
    over = threading.Event()
    server.on_call = lambda handler, message: (over.wait(60), None)[1]
    async with served(server, timeout=0.5) as url:
        assert await end({"url": url}, tmp_path, timeout=30) == UNKNOWN
        over.set()
    assert server.calls == 1


async def test_a_hub_in_front_passes_a_clean_refusal_on(server: BadServer, tmp_path: Path) -> None:
    """The doubt is said where there is one: otherwise the other provider may have the call."""
    server.on_call = lambda handler, message: handler.reply(200, error(message))
    async with served(server) as url:
        assert await end({"url": url}, tmp_path) == ("done", ["failed", "done"], ["sent"])


@pytest.mark.parametrize("said", ["failed", "not_sent", None, 5])
async def test_a_server_cannot_say_that_a_call_is_more_certain(
    server: BadServer, tmp_path: Path, said: Any
) -> None:
    data = {"toolhub/outcome": said}
    server.on_call = lambda handler, message: handler.reply(500, error(message, data=data))
    assert await end({"url": f"{server.url}/mcp"}, tmp_path) == UNKNOWN


async def test_a_session_that_is_refused_twice_does_not_send_the_call_elsewhere(
    server: BadServer, tmp_path: Path
) -> None:
    def forget(handler: Handler, message: Any) -> None:
        server.known = ""
        handler.reply(404)

    server.on_call = forget
    assert await end({"url": f"{server.url}/mcp"}, tmp_path) == UNKNOWN
    assert (server.calls, server.sessions) == (2, 2)


async def test_429_with_a_stream_proves_nothing(server: BadServer, tmp_path: Path) -> None:
    server.on_call = lambda handler, message: handler.events(429, result(message))
    assert await end({"url": f"{server.url}/mcp", "retries": 0}, tmp_path) == UNKNOWN
    assert server.calls == 1


async def test_429_beside_the_stream_of_the_older_transport_proves_nothing(
    server: BadServer, tmp_path: Path
) -> None:
    server.on_call = lambda handler, message: handler.reply(429)
    old = {"url": f"{server.url}/sse", "transport": "sse", "retries": 0}
    assert await end(old, tmp_path) == UNKNOWN
    assert server.calls == 1


@pytest.mark.parametrize(("status", "is_proven"), [(202, True), (500, False), (400, False)])
async def test_an_error_on_the_older_stream_needs_a_post_that_was_taken(
    server: BadServer, tmp_path: Path, status: int, is_proven: bool
) -> None:
    def contradict(handler: Handler, message: Any) -> None:
        server.stream.put(error(message))
        # The stream is read in this order: who has answered the ping has read the error.
        server.stream.put({"jsonrpc": "2.0", "id": "p", "method": "ping"})
        server.is_answered.wait(30)
        handler.reply(status)

    server.on_call = contradict
    old = {"url": f"{server.url}/sse", "transport": "sse"}
    expected = ("done", ["failed", "done"], ["sent"]) if is_proven else UNKNOWN
    assert await end(old, tmp_path) == expected
