"""A server that floods its event stream takes time from nobody else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio

# A process of its own: its stream has no end, and a thread of the test would take the GIL for it.
FLOOD = """
import json, sys, zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

packer = zlib.compressobj(9, zlib.DEFLATED, 31)
begin, again = (packer.compress(b": still here\\n\\n" * 200_000) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(begin)
        print("flooding", flush=True)
        try:
            while True:
                self.wfile.write(again)
        except OSError:
            self.close_connection = True

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        results = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "flood", "version": "1"}},
            "tools/list": {"tools": [{"name": "flood", "inputSchema": {"type": "object"}}]},
        }
        result = results.get(message.get("method"))
        answer = {"result": result} if result else {"error": {"code": -32601, "message": "unknown"}}
        body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), **answer}).encode()
        self.send_response(200 if "id" in message else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if "id" in message else 0))
        self.end_headers()
        if "id" in message:
            self.wfile.write(body)

    def log_message(self, *_): pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""

ECHO = """
import sys, json
for line in sys.stdin:
    message = json.loads(line)
    results = {
        "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                       "serverInfo": {"name": "echo", "version": "1"}},
        "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"},
                                  "annotations": {"readOnlyHint": True}}]},
        "tools/call": {"content": [{"type": "text", "text": "here"}]},
    }
    if "id" in message:
        result = results.get(message["method"])
        answer = {"result": result} if result else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


@pytest.fixture
def flood() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    with subprocess.Popen([sys.executable, "-c", FLOOD], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp", process
        process.kill()


async def test_packed_comments_without_end_hold_up_no_other_server(
    flood: tuple[str, subprocess.Popen[str]], tmp_path: Path
) -> None:
    url, process = flood
    program = tmp_path / "echo.py"
    program.write_text(ECHO)
    servers = {"bad": {"url": url}, "good": {"command": sys.executable, "args": [str(program)]}}
    async with ToolHub(mcp={"mcpServers": servers}) as hub:
        await hub.connect()
        assert process.stdout
        assert process.stdout.readline() == "flooding\n"
        # Each of these took seconds; together they would not end within the limit of a test.
        for _ in range(100):
            assert (await hub.execute("echo", {})).result == "here"
