"""Functions of the user that servers make the core call, and log lines that must not be in their way."""

from __future__ import annotations

import asyncio
import json
import logging
import mmap
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bridge.kit import SCRIPTS, turns
from toolhub import ToolHub


class _Web(BaseHTTPRequestHandler):
    """A modern MCP server over HTTP whose every tool answers "ok"."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        results = {
            "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {}},
            "tools/list": {"tools": []},
        }
        result = results.get(message["method"], {"content": [{"type": "text", "text": "ok"}]})
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are quiet."""


@pytest.fixture
def web() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Web)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    server.shutdown()
    server.server_close()


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A file of one byte, which the chatty server sets to 1 after its flood."""
    path = tmp_path / "mark"
    path.write_bytes(b"\0")
    return path


def compute_until(mark: Path) -> None:
    """Keep the GIL until the flood is over."""
    with mark.open("r+b") as file, mmap.mmap(file.fileno(), 1) as byte:
        limit, before = time.monotonic() + 60, sys.getswitchinterval()
        sys.setswitchinterval(1000)
        try:
            while not byte[0] and time.monotonic() < limit:
                pass
        finally:
            sys.setswitchinterval(before)
        assert byte[0], "the flood does not end"


def test_a_flood_of_log_lines_holds_up_no_token_function(web: str, mark: Path) -> None:
    async def scene() -> None:
        async with ToolHub() as hub:
            hub.add_server("a", command=sys.executable, args=[str(SCRIPTS / "chatty_server.py"), str(mark)])
            hub.add_server("b", url=web, auth=lambda: "today")
            assert not (await hub.connect()).failed
            flooding = asyncio.create_task(hub.execute("flood", server="a"))
            await turns()
            compute_until(mark)
            assert (await hub.execute("anything", server="b")).unwrap() == "ok"
            assert (await flooding).unwrap() == "flooded"

    asyncio.run(scene())


def test_log_lines_reach_a_logger_that_takes_them(mark: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "toolhub.mcp")
    with ToolHub() as hub:
        hub.add_server("a", command=sys.executable, args=[str(SCRIPTS / "chatty_server.py"), str(mark)])
        assert hub.call("flood", server="a").unwrap() == "flooded"
        _until(lambda: any("line 4999" in record.message for record in caplog.records))
    lines = [record for record in caplog.records if record.message.startswith("a: line")]
    assert {record.levelno for record in lines} == {logging.DEBUG}


def test_functions_of_the_user_share_a_few_threads(web: str) -> None:
    used: list[threading.Thread] = []

    def token() -> str:
        used.append(threading.current_thread())
        return "today"

    with ToolHub() as hub:
        hub.add_server("b", url=web, auth=token)
        for _ in range(20):
            assert hub.call("anything", server="b").unwrap() == "ok"
    assert len(used) >= 20
    # A worker that has just answered may not be free yet when the next request comes.
    assert len(set(used)) <= len(used) // 2


def test_a_function_that_thinks_holds_up_no_other(web: str) -> None:
    thinking, done = threading.Semaphore(0), threading.Event()

    def slow() -> str:
        thinking.release()
        assert done.wait(60)
        return "today"

    with ToolHub() as hub:
        for number in range(5):
            hub.add_server(f"slow{number}", url=web, auth=slow)
        hub.add_server("quick", url=web, auth=lambda: "today")
        waiting = [
            threading.Thread(target=hub.call, args=("anything",), kwargs={"server": f"slow{number}"})
            for number in range(5)
        ]
        for thread in waiting:
            thread.start()
        for _ in waiting:
            assert thinking.acquire(timeout=60)
        assert hub.call("anything", server="quick").unwrap() == "ok"
        done.set()
        for thread in waiting:
            thread.join()


def _until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < limit, "it does not come to that"
        time.sleep(0.002)
