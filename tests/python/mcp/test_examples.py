"""The examples work, with real servers and a model that plays a script."""

from __future__ import annotations

import http.server
import importlib.util
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support.agents import Roles

pytestmark = pytest.mark.anyio

PAGE = b"<html><body><main><h1>Nile</h1><p>The Nile is about 6,650 km long and flows to the north.</p></main></body></html>"


@pytest.fixture
def page() -> Iterator[str]:
    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(PAGE)))
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/nile"
        server.shutdown()


def example(name: str) -> ModuleType:
    path = Path(__file__).parents[3] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("said", "verified"), [("4,132 miles", True), ("5,132 miles", False)])
async def test_research_reads_pages_calculates_and_checks(
    page: str, installed: Callable[..., dict[str, Any]], said: str, verified: bool
) -> None:
    steps = [
        {"id": 1, "description": f"Read {page}", "tool_type": "fetch"},
        {"id": 2, "description": "Calculate 6650 / 1.60934", "tool_type": "calculate", "dependencies": [1]},
        {"id": 3, "description": "Answer the question", "tool_type": "none", "dependencies": [1, 2]},
    ]
    model = Roles(json.dumps(steps), f"The Nile is about {said} long.", json.dumps({"url": page}))
    server = installed("fetch", "--ignore-robots-txt", "--allow-private-ips")
    answer = await example("research").research("How long is the Nile, in miles?", [page], model, server)
    assert answer.text == f"The Nile is about {said} long."
    assert "6,650 km" in answer.steps[0]["result"]
    assert answer.verification["verified"] is verified
