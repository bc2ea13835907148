"""An MCP server over HTTP that answers each call of its one tool as it is told, and counts the calls."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}}
SENT = {"content": [{"type": "text", "text": "sent"}]}


class Reply(NamedTuple):
    """One response. `ID` in the body is the id of the call; no body: the connection is closed without an answer."""

    body: str | None = ""
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012


def message(**members: Any) -> str:
    """A JSON-RPC message for the call. A member that is `...` is left out."""
    members = {"jsonrpc": "2.0", "id": "ID", **members}
    return json.dumps({key: value for key, value in members.items() if value is not ...}).replace(
        '"ID"', "ID"
    )


def error(code: Any, text: Any = "no") -> dict[str, Any]:
    return {"code": code, "message": text}


def events(*messages: str) -> Reply:
    body = "".join(f"data: {message}\n\n" for message in messages)
    return Reply(body, headers={"content-type": "text/event-stream"})


class Answering(ThreadingHTTPServer):
    """What it answers to the first call, the second one and so on; the last answer stays."""

    daemon_threads = True

    def __init__(self, *replies: Reply, **definition: Any) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies = list(replies) or [Reply(message(result=SENT))]
        self.tool = {"name": "send_mail", "description": "Send a mail", "inputSchema": SCHEMA, **definition}
        self.calls: list[str] = []
        """The path of each call."""
        self.slash = False
        """Requests for /mcp are redirected to /mcp/, as frameworks do it."""
        self.sessions = 0
        self.session: str | None = None
        """The one that it knows; `None`: it has no sessions."""

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def next_reply(self) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Answering

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method = request["method"]
        if self.server.slash and self.path == "/mcp":
            return self.answer(Reply("", 307, {"location": "/mcp/"}))
        if method == "initialize" and self.server.session is not None:
            self.server.sessions += 1
            self.server.session = f"s{self.server.sessions}"
        elif self.server.session and self.headers["mcp-session-id"] != self.server.session:
            return self.answer(Reply("", 404))
        if method == "tools/call":
            self.server.calls.append(self.path)
            reply = self.server.next_reply()
            if reply.body is None:
                self.close_connection = True
                return None
            return self.answer(reply._replace(body=reply.body.replace("ID", str(request["id"]))))
        if "id" not in request:
            return self.answer(Reply("", 202))
        greeting = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        results = {
            "initialize": {**greeting, "serverInfo": {"name": "t", "version": "1"}},
            "tools/list": {"tools": [self.server.tool]},
            "ping": {},
        }
        outcome = {"result": results[method]} if method in results else {"error": error(-32601)}
        headers = {"mcp-session-id": self.server.session} if self.server.session else {}
        return self.answer(
            Reply(json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome}), 200, headers)
        )

    def do_GET(self) -> None:
        self.answer(Reply("", 405))

    do_DELETE = do_GET

    def answer(self, reply: Reply) -> None:
        body = (reply.body or "").encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), **reply.headers}
        with suppress(OSError):
            self.send_response(reply.status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def answering(*replies: Reply, **definition: Any) -> Generator[Answering]:
    """The server while it runs."""
    with Answering(*replies, **definition) as server:
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
