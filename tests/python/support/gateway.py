"""Helpers of the tests that serve a hub and call it over HTTP by hand."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub
from toolhub.serving import Serving

SERVERS = Path(__file__).parents[3] / ".servers"
MODERN = "2026-07-28"


def python_of(environment: str) -> str:
    """The interpreter of an environment with other packages. A CI run must not pass by testing nothing."""
    python = SERVERS / environment / "bin" / "python"
    if not python.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{environment} is not installed")
    return str(python)


@asynccontextmanager
async def served(hub: ToolHub, **options: Any) -> AsyncGenerator[Serving]:
    """The hub over HTTP, on the loop of the test."""
    ready: asyncio.Future[Serving] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(hub.aserve("http", port=0, ready=ready.set_result, **options))
    done, _ = await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
    if task in done:
        await task
    serving = await ready
    try:
        yield serving
    finally:
        serving.stop()
        await task


@contextmanager
def serving(hub: ToolHub, **options: Any) -> Generator[Serving]:
    """The hub over HTTP, on a thread, because the test waits for the browser."""
    started: list[Serving] = []
    ready = threading.Event()

    def begun(own: Serving) -> None:
        started.append(own)
        ready.set()

    thread = threading.Thread(target=lambda: hub.serve("http", port=0, ready=begun, **options))
    thread.start()
    assert ready.wait(30)
    try:
        yield started[0]
    finally:
        started[0].stop()
        thread.join(30)
        hub.close()


@dataclass
class Reply:
    """What a server answered over HTTP."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def message(self) -> Any:
        """The JSON-RPC message, also of an event stream."""
        lines = [line[5:] for line in self.text.splitlines() if line.startswith("data:")]
        return json.loads(lines[-1] if lines else self.text)

    @property
    def result(self) -> Any:
        """The result of a request that was answered."""
        return self.message["result"]

    @property
    def content(self) -> str:
        """The text of a tool's result."""
        return self.result["content"][0]["text"]


def send(url: str, method: str, body: str | None, headers: dict[str, str]) -> Reply:
    """One HTTP request on a connection of its own."""
    host, _, path = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=30)
    # A server may answer and close before it has read all.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.request(method, f"/{path}", body, headers)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, text)


def bearer(token: str | None) -> dict[str, str]:
    """The header for a token."""
    return {} if token is None else {"Authorization": f"Bearer {token}"}


async def ask(
    url: str, method: str, params: dict[str, Any] | None = None, token: str | None = None, **headers: str
) -> Reply:
    """One request of a modern client."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    given: dict[str, Any] = {**(params or {}), "_meta": {**meta, **(params or {}).get("_meta", {})}}
    own = {"Mcp-Method": method, "MCP-Protocol-Version": MODERN, "Content-Type": "application/json"}
    if name := given.get("name", given.get("uri")):
        own["Mcp-Name"] = name
    own |= {"Accept": "application/json, text/event-stream", **bearer(token), **headers}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": given})
    return await asyncio.to_thread(send, url, "POST", body, own)


async def call(url: str, tool: str, token: str | None = None, **arguments: Any) -> Reply:
    """A call of a modern client."""
    return await ask(url, "tools/call", {"name": tool, "arguments": arguments}, token)


class LegacyClient:
    """A client of the older protocol: `initialize`, then requests in a session."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url, self.token, self.session = url, token, ""

    async def start(self, capabilities: dict[str, Any] | None = None) -> Reply:
        """Open the session."""
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities or {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        reply = await self.ask("initialize", params)
        self.session = reply.headers.get("mcp-session-id", "")
        return reply

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> Reply:
        """One request in the session."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": "2025-11-25"}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}})
        return await asyncio.to_thread(send, self.url, "POST", body, {**headers, **bearer(self.token)})

    async def notify(self, method: str, params: dict[str, Any]) -> Reply:
        """Send a message that gets no answer."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": "2025-11-25"}
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params})
        return await asyncio.to_thread(send, self.url, "POST", body, {**headers, **bearer(self.token)})

    async def call(self, tool: str, **arguments: Any) -> Reply:
        """Call a tool."""
        return await self.ask("tools/call", {"name": tool, "arguments": arguments})
