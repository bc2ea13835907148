"""A server over HTTP, without sessions, whose tools change while it runs."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOOL = {"name": "send_it", "description": "Version 1.", "inputSchema": {"type": "object"}}
QUESTION = {
    "method": "elicitation/create",
    "params": {
        "message": "Your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}
PROMISES = {"nothing": {}, "changes": {"listChanged": True}, "ttl": {}}


class Changing(ThreadingHTTPServer):
    """A server over HTTP whose tools can be replaced while it runs."""

    daemon_threads = True
    is_modern = False
    promise = "nothing"
    version = "1"
    list_error: dict[str, Any] | None = None
    list_takes = 0.0
    ttl = 600_000
    asks = False
    """Each first call is answered with a question."""
    closes = False
    """Each connection ends with its first answer."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.tools: list[dict[str, Any]] = [TOOL]
        self.seen: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/mcp"

    def install(self, **changes: Any) -> None:
        self.tools = [{**TOOL, "description": "Version 2.", **changes}]

    def count(self, method: str) -> int:
        return self.seen.count(method)

    def result(self, method: str) -> dict[str, Any] | None:
        info = {"name": "mailer", "version": self.version}
        capabilities = {"tools": PROMISES[self.promise]}
        if method == "server/discover" and self.is_modern:
            return {"supportedVersions": ["2026-07-28"], "capabilities": capabilities, "serverInfo": info}
        if method == "initialize":
            return {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info}
        if method == "tools/list":
            return {"tools": self.tools, **({"ttlMs": self.ttl} if self.promise == "ttl" else {})}
        if method == "tools/call" and self.asks and self.count(method) == 0:
            return {"resultType": "input_required", "inputRequests": {"name": QUESTION}}
        if method == "tools/call":
            return {"content": [{"type": "text", "text": "done"}]}
        return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Changing

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, result = message["method"], self.server.result(message["method"])
        self.server.seen.append(method)
        if "id" not in message:
            return self.answer(202, b"")
        error = {"code": -32601, "message": "Method not found"}
        if method == "tools/list":
            threading.Event().wait(self.server.list_takes)
            if self.server.list_error:
                error, result = self.server.list_error, None
        body = {"error": error} if result is None else {"result": result}
        self.answer(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}).encode())

    def do_GET(self) -> None:
        self.answer(405, b"")

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if self.server.closes:
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass
