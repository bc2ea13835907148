"""The examples as modules, the page that they read, and the small model of `make test-llm`."""

from __future__ import annotations

import http.server
import importlib.util
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from toolhub.llm import OpenAI

EXAMPLES = Path(__file__).parents[3] / "examples"
PAGE = b"<html><body><main><h1>Nile</h1><p>The Nile is about 6,650 km long and flows to the north.</p></main></body></html>"
SMALL_MODEL = os.environ.get("TOOLHUB_LLM_BASE_URL")
"""The endpoint of the model; `scripts/llm_server.py` starts one."""


def example(name: str) -> ModuleType:
    """An example as a module of its own."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def page(port: int = 0) -> Iterator[str]:
    """A server with one page; its address."""

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(PAGE)))
            self.end_headers()
            self.wfile.write(PAGE)

        def log_message(self, *args: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", port), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/nile"
        server.shutdown()


def small_model(max_tokens: int = 200) -> OpenAI:
    """The small model, or one that nobody answers for: in a replay none is asked."""
    url = SMALL_MODEL or "http://127.0.0.1:9/v1"
    return OpenAI(url, "none", "SmolLM2-135M", timeout=240, temperature=0.0, max_tokens=max_tokens)
