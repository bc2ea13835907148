"""Every installed server has the same life: connected, listed, called, killed in the middle of a call, called again."""

from __future__ import annotations

import asyncio
import http.server
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio


@dataclass
class Real:
    """A server, one harmless call of it, and what it offers in addition to tools."""

    server: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    answer: str = ""
    """A part of the text of the result."""
    words: list[str] = field(default_factory=list[str])
    env: dict[str, str] = field(default_factory=dict[str, str])
    resources: bool = False
    prompts: bool = False


OURS = {"tool": "add", "arguments": {"a": 2, "b": 3}, "answer": "5", "words": ["stdio"]}
THOUGHT = {"thought": "it works", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}

SERVERS = [
    Real("everything", "echo", {"message": "hi"}, "hi", resources=True, prompts=True),
    Real("filesystem", "list_allowed_directories", answer="{folder}", words=["{folder}"]),
    Real(
        "memory",
        "read_graph",
        answer="entities",
        env={"MEMORY_FILE_PATH": "{folder}/memory.jsonl"},
        resources=True,
    ),
    Real("thinking", "sequentialthinking", THOUGHT, "thoughtNumber"),
    Real("hello", "add", {"a": 2, "b": 3}, "5", resources=True, prompts=True),
    Real("commands", "run_command", {"command": "echo hi"}, "hi", prompts=True),
    Real("sqlite", "list_tables", words=["--db-path", "{folder}/x.db"], resources=True, prompts=True),
    Real(
        "fetch",
        "fetch",
        {"url": "{page}"},
        "Guten Tag",
        words=["--ignore-robots-txt", "--allow-private-ips"],
        prompts=True,
    ),
    Real("calculator", "calculate", {"expression": "2 * 21"}, "42"),
    Real("time", "get_current_time", {"timezone": "Asia/Tokyo"}, "Asia/Tokyo"),
    Real("git", "git_status", {"repo_path": "{folder}"}, "status"),
    Real("excel-old", "create_workbook", {"filepath": "{folder}/a.xlsx"}, "a.xlsx"),
    Real(
        "excel",
        "create_workbook",
        {"path": "a.xlsx", "overwrite": True},
        "a.xlsx",
        env={"EXCEL_FILES_PATH": "{folder}"},
    ),
    Real("word", "list_available_documents", {"directory": "{folder}"}, env={"MCP_TRANSPORT": "stdio"}),
    *(
        Real(sdk, **OURS, resources=True, prompts=True)
        for sdk in ("mcp1", "mcp2", "fastmcp2", "fastmcp3", "fastmcp")
    ),
]


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    """A page on this machine, for a server that reads the web."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<html><body><h1>Guten Tag</h1></body></html>"
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder for the servers that work on files; one of them wants a repository."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return tmp_path


@pytest.mark.timeout(180)
@pytest.mark.parametrize("real", SERVERS, ids=lambda real: real.server)
async def test_the_life_of_a_server(
    real: Real,
    hub: ToolHub,
    installed: Callable[..., dict[str, Any]],
    connected: Callable[..., Any],
    until: Callable[..., Any],
    page: str,
    repository: Path,
) -> None:
    def filled(text: Any) -> Any:
        is_text = isinstance(text, str)
        return text.replace("{folder}", str(repository)).replace("{page}", page) if is_text else text

    arguments = {name: filled(value) for name, value in real.arguments.items()}
    env = {name: filled(value) for name, value in real.env.items()}
    first = await connected(hub, "s", **installed(real.server, *map(filled, real.words), **env))
    assert real.tool in {tool.name for tool in hub.tools(server="s")}
    assert first.notices == []

    async def call() -> Any:
        return await hub.execute(real.tool, arguments, server="s", timeout=60)

    result = await call()
    assert result.success, result.error
    assert filled(real.answer) in result.text

    resources, prompts = await hub.resources.list(["s"]), await hub.prompts.list(["s"])
    assert resources.failed == prompts.failed == {}
    assert (bool(resources), bool(prompts)) == (real.resources, real.prompts)

    # A stopped process does not answer, so the call is in the middle, however quick the tool is.
    started = asyncio.Event()
    hub.on_event(lambda event: started.set() if event["type"] == "started" else None)
    loop = asyncio.get_running_loop()
    os.kill(first.pid, signal.SIGSTOP)
    running = loop.create_task(call())
    await until(started.is_set)
    os.kill(first.pid, signal.SIGKILL)
    lost = await running
    # A call that only reads, or that was not sent yet, is repeated with a new process.
    assert lost.success or lost.kind == "closed", lost.error
    assert lost.success or lost.meta["error"]["outcome"] == "unknown", lost.error

    again = await call()
    assert again.success, again.error
    assert filled(real.answer) in again.text
    assert next(server for server in hub.servers()).pid != first.pid
