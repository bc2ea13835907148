"""The examples as modules, the page that they read, and the small model of `make test-llm`."""

from __future__ import annotations

import http.server
import importlib.util
import json
import os
import re
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


TEXT = {"type": "string", "maxLength": 100}


def plan_shape(prompt: str) -> dict[str, Any]:
    """A plan of at most three steps."""
    needed = {"type": "array", "items": {"type": "integer"}, "maxItems": 2}
    step = {"id": {"type": "integer"}, "description": TEXT, "tool_type": TEXT, "dependencies": needed}
    row = {"type": "object", "properties": step, "required": list(step)}
    steps = {"type": "array", "minItems": 1, "maxItems": 3, "items": row}
    return {"type": "object", "properties": {"steps": steps}, "required": ["steps"]}


def arguments_shape(prompt: str) -> dict[str, Any]:
    """The schema that stands in the prompt."""
    return json.loads(prompt.partition("JSON Schema of its arguments:\n")[2].splitlines()[0])


def call_shape(prompt: str) -> dict[str, Any]:
    """A call of one of the tools of the prompt, with texts for its required arguments."""
    shapes: list[dict[str, Any]] = []
    for entry in re.split(r"^\d+\. ", prompt, flags=re.MULTILINE)[1:]:
        needed = re.findall(r"^    - (\w+) .*\[required\]$", entry, re.MULTILINE)
        arguments = {"type": "object", "properties": dict.fromkeys(needed, TEXT), "required": needed}
        call = {"tool_name": {"const": entry.split("**")[1]}, "arguments": arguments}
        shapes.append({"type": "object", "properties": call, "required": list(call)})
    return {"oneOf": shapes}


class SmallModel:
    """The small model of `make test-llm`.

    It is too small to keep to a format by itself. `is_held`: where it is asked for a plan or for arguments, and in the first
    round of a chat, the server lets it write only JSON of the right shape. What stands in the JSON is always its own.
    """

    model = "SmolLM2-135M"

    def __init__(self, is_held: bool) -> None:
        self._is_held = is_held

    async def chat(self, messages: list[dict[str, Any]]) -> str:
        first = not any(message["role"] == "assistant" for message in messages)
        return await self._answer(messages, call_shape(messages[0]["content"]) if first else None)

    async def __call__(self, prompt: str) -> str:
        shapes = {"You plan": plan_shape, "Write the arguments": arguments_shape}
        shape = next((shape(prompt) for begin, shape in shapes.items() if prompt.startswith(begin)), None)
        return await self._answer([{"role": "user", "content": prompt}], shape)

    async def _answer(self, messages: list[dict[str, Any]], shape: dict[str, Any] | None) -> str:
        held = {"response_format": {"type": "json_object", "schema": shape}}
        client = OpenAI(
            SMALL_MODEL or "http://127.0.0.1:9/v1",  # in a replay nobody is asked
            "none",
            self.model,
            timeout=240,
            temperature=0.0,
            max_tokens=200,
            extra=held if self._is_held and shape else {},
        )
        return (await client.chat(messages))["text"]
