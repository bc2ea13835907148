"""The examples and agents on cassettes, without servers and models.

The cassettes hold the answers of the real servers. The models in them are the scripted ones of the other tests of agents, not a
language model: what they say is fixed here. `pytest --toolhub-record=all` records them again.
"""

from __future__ import annotations

import http.server
import importlib.util
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.agents import Roles, Script, call
from toolhub import ToolHub
from toolhub.agents import ChatLoop, CoordinationAgent

pytestmark = pytest.mark.anyio

PORT = 18976  # used when the cassette is recorded; prompts have the address
URL = f"http://127.0.0.1:{PORT}/nile"
PAGE = b"<html><body><main><h1>Nile</h1><p>The Nile is about 6,650 km long and flows to the north.</p></main></body></html>"
GONE = {"command": "/nonexistent/server"}


@pytest.fixture
def records(request: pytest.FixtureRequest, toolhub_cassette: Path) -> bool:
    """Whether this run records, so that the real parts are needed."""
    return request.config.getoption("--toolhub-record") is not None


@contextmanager
def page() -> Iterator[None]:
    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(PAGE)))
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


def no_model(prompt: str) -> str:
    raise AssertionError("a replay asks no model")


def example(name: str) -> ModuleType:
    path = Path(__file__).parents[3] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"recorded_example_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_research(records: bool, installed: Callable[..., dict[str, Any]]) -> None:
    """Recorded from mcp-server-fetch and a scripted model."""
    steps = [
        {"id": 1, "description": f"Read {URL}", "tool_type": "fetch"},
        {"id": 2, "description": "Calculate 6650 / 1.60934", "tool_type": "calculate", "dependencies": [1]},
        {"id": 3, "description": "Answer the question", "tool_type": "none", "dependencies": [1, 2]},
    ]
    model: Any = no_model
    server = GONE
    if records:
        model = Roles(json.dumps(steps), "The Nile is about 4,132 miles long.", json.dumps({"url": URL}))
        server = installed("fetch", "--ignore-robots-txt", "--allow-private-ips")
    research = example("research").research("How long is the Nile, in miles?", [URL], model, server)
    if records:
        with page():
            answer = await research
    else:
        answer = await research
    assert answer.text == "The Nile is about 4,132 miles long."
    assert "6,650 km" in answer.steps[0]["result"]
    assert answer.verification["verified"] is True


async def test_a_chat_with_prose_and_a_tool_that_does_not_exist(
    records: bool, installed: Callable[..., dict[str, Any]]
) -> None:
    """Recorded from a calculator server and a scripted model that first writes half of a call, then an unknown tool."""
    script = Script(
        '<tool_call>\n{"tool_name": "calculate", "arguments": {"expression": "2 *',
        call("compute", expression="2 * 21"),
        call("calculate", expression="2 * 21"),
        "It is 42.",
    )
    async with ToolHub() as hub:
        hub.add_server("calculator", **(installed("calculator") if records else GONE))
        chat = ChatLoop(hub, script if records else no_model)
        answer = await chat.answer("2 * 21?")
    assert answer.verification["verified"] is True
    assert answer.text == "It is 42."


async def test_a_plan_over_two_servers(records: bool, installed: Callable[..., dict[str, Any]]) -> None:
    """Recorded from a calculator and a time server, and a scripted model."""
    steps = [
        {"id": 1, "description": "Calculate 17 * 3 + 4", "tool_type": "calculate"},
        {"id": 2, "description": "Get the time in Asia/Tokyo", "tool_type": "get_current_time"},
        {"id": 3, "description": "Give the answer", "tool_type": "none", "dependencies": [1, 2]},
    ]
    model = Roles(json.dumps(steps), "It is 55.", '{"timezone": "Asia/Tokyo"}') if records else no_model
    async with ToolHub() as hub:
        for name in ("calculator", "time"):
            hub.add_server(name, **(installed(name) if records else GONE))
        answer = await CoordinationAgent(hub, model).answer(
            "What is 17 * 3 + 4, and what time is it in Tokyo?"
        )
    assert (answer.text, answer.success) == ("It is 55.", True)
    assert "Asia/Tokyo" in answer.steps[1]["result"]
