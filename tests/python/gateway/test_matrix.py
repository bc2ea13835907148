"""Every client with every upstream through one served hub, feature by feature: 2 × 5 × 10 cells.

Clients and servers are those of the SDKs for Python, each in its own environment.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.test_serving import served_over_http
from support.gateway import python_of

ROOT = Path(__file__).parents[3]
MATRIX = ROOT / "tests/mcp/matrix"
sys.path.insert(0, str(ROOT / "tests/mcp"))  # the catalogue is not installed

import catalogue  # noqa: E402

CLIENTS = {"legacy": "mcp1", "modern": "mcp2"}
UPSTREAMS = {
    "legacy_stdio": ("mcp1", "stdio"),
    "legacy_http": ("mcp1", "http"),
    "legacy_sse": ("mcp1", "sse"),
    "modern_stdio": ("mcp2", "stdio"),
    "modern_http": ("mcp2", "http"),
}
FEATURES = (
    "list",
    "call",
    "structured output",
    "progress",
    "cancel",
    "elicitation",
    "tool error",
    "protocol error",
    "task",
    "list change",
)

HUB = """
import json, sys
from toolhub import ToolHub

with ToolHub(mcp={"mcpServers": json.loads(sys.argv[1])}) as hub:
    report = hub.connect_sync()
    assert not report.failed, report.failed
    hub.serve("http", port=0, ready=lambda serving: print(serving.url, flush=True))
"""


@contextlib.contextmanager
def upstreams(marks: Path) -> Iterator[dict[str, Any]]:
    """The configuration of all upstreams; those over HTTP run."""
    servers: dict[str, Any] = {}
    with contextlib.ExitStack() as running:
        waiting: list[int] = []
        for name, (environment, transport) in UPSTREAMS.items():
            program = [str(MATRIX / f"{name.partition('_')[0]}_server.py"), name, str(marks), transport]
            if transport == "stdio":
                servers[name] = {"command": python_of(environment), "args": program}
                continue
            port = catalogue.free_port()
            process = subprocess.Popen(
                [python_of(environment), *program, str(port)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            running.callback(process.wait)
            running.callback(process.kill)
            path = "/sse" if transport == "sse" else "/mcp"
            servers[name] = {"url": f"http://127.0.0.1:{port}{path}", "type": transport}
            waiting.append(port)
        for port in waiting:
            while not catalogue.answers(port):
                pass
        yield servers


def tried(marks: Path) -> dict[str, Any]:
    """What came of all cells: client → upstream → feature → `ok` or the error."""
    cells: dict[str, Any] = {}
    with upstreams(marks) as servers, served_over_http("-c", HUB, json.dumps(servers)) as (_, url):
        for client, environment in CLIENTS.items():
            words = [python_of(environment), str(MATRIX / "client.py"), url, str(marks), *UPSTREAMS]
            done = subprocess.run(words, capture_output=True, text=True, timeout=400)
            assert done.returncode == 0, done.stderr
            cells[client] = json.loads(done.stdout.splitlines()[-1])
    return cells


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> dict[str, Any]:
    """All cells, tried once for all workers of a run."""
    marks = tmp_path_factory.mktemp("marks")
    if worker_id == "master":
        return tried(marks)
    shared = tmp_path_factory.getbasetemp().parent / "matrix.json"
    with shared.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        if known := file.read():
            return json.loads(known)
        cells = tried(marks)
        file.write(json.dumps(cells))
        file.flush()
        return cells


@pytest.mark.timeout(600)
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("client", CLIENTS)
def test_the_cell_works(found: dict[str, Any], client: str, upstream: str, feature: str) -> None:
    assert found[client][upstream][feature] == "ok"
