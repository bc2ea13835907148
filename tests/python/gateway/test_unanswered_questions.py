"""A sync tool that waits for an answer of its client stops waiting when there is none to come: no thread stays behind."""

from __future__ import annotations

import asyncio
import json
import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest

from support.gateway import MODERN, served
from toolhub import ToolHub, _background, _core, current_call
from toolhub.calls import CurrentCall
from toolhub.questions import Form
from toolhub.serving import Serving

pytestmark = pytest.mark.anyio
PATIENCE = 30
LEGACY = "2025-11-25"
# Of calls that run out of time. Whether a call has asked by then does not matter, but it must have begun.
SECONDS = 4
CAPABLE: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
WAYS: dict[str, Callable[[CurrentCall], Any]] = {
    "ask_sync": lambda call: call.ask_sync("Who are you?"),
    "ask_all_sync": lambda call: call.ask_all_sync({"who": Form("Who are you?")}),
    "ask_url_sync": lambda call: call.ask_url_sync("Sign in.", "https://example.com/"),
    "sample_sync": lambda call: call.sample_sync("Name a city."),
    "roots_sync": lambda call: call.roots_sync(),
}
CANCELLED = dict.fromkeys(WAYS, "CancelledError")


class Asking:
    """A hub whose tools ask, and how each question ended."""

    def __init__(self, **options: Any) -> None:
        self.hub, self._ended = ToolHub(), queue.SimpleQueue[tuple[str, str]]()
        self.hub.register(self.ask, name="ask", **options)

    def ask(self, way: str) -> str:
        """Ask the client."""
        try:
            WAYS[way](current_call())
        except BaseException as error:
            self._ended.put((way, type(error).__name__))
            raise
        self._ended.put((way, "answered"))
        return "answered"

    async def ended(self, count: int = len(WAYS)) -> dict[str, str]:
        """How the next ones ended."""
        return dict([await asyncio.to_thread(self._ended.get, timeout=PATIENCE) for _ in range(count)])


class Client:
    """One client on a connection of its own, which sends messages and reads what comes."""

    def __init__(self, serving: Serving, session: str = "") -> None:
        self.serving, self.session = serving, session

    async def send(self, message: dict[str, Any], **headers: str) -> Client:
        """Send a message."""
        self.reader, self.writer = await asyncio.open_connection(self.serving.host, self.serving.port)
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        own = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
        if self.session:
            own |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": LEGACY}
        head = "".join(f"{name}: {value}\r\n" for name, value in own.items())
        head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{head}Content-Length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)
        await self.writer.drain()
        return self

    async def until(self, mark: str) -> str:
        """What came, up to the line with this."""
        seen = ""
        while mark not in seen:
            part = await asyncio.wait_for(self.reader.read(4096), PATIENCE)
            assert part, seen
            seen += part.decode()
        return seen

    def leave(self) -> None:
        """Close the connection."""
        self.writer.close()


async def session(serving: Serving) -> str:
    """A legacy client that can be asked everything."""
    params = {"protocolVersion": LEGACY, "capabilities": CAPABLE, "clientInfo": {"name": "t", "version": "1"}}
    client = await Client(serving).send({"id": 0, "method": "initialize", "params": params})
    head = await client.until("protocolVersion")
    client.leave()
    fields = (line.partition(": ") for line in head.splitlines())
    return next(value for name, _, value in fields if name.lower() == "mcp-session-id")


async def calling(serving: Serving, tool: str = "ask") -> tuple[str, dict[str, Client]]:
    """A client for each way, which has called the tool."""
    one = await session(serving)
    clients: dict[str, Client] = {}
    for way in WAYS:
        params = {"name": tool, "arguments": {"way": way}}
        clients[way] = await Client(serving, one).send({"id": way, "method": "tools/call", "params": params})
    return one, clients


async def asked(serving: Serving, tool: str = "ask") -> tuple[str, dict[str, Client]]:
    """The same, and each has got its question."""
    one, clients = await calling(serving, tool)
    for client in clients.values():
        await client.until('"method":')
    return one, clients


def leave(clients: dict[str, Client]) -> None:
    for client in clients.values():
        client.leave()


async def cancel(serving: Serving, one: str) -> None:
    for way in WAYS:
        note = {"method": "notifications/cancelled", "params": {"requestId": way}}
        client = await Client(serving, one).send(note)
        await client.until("202")
        client.leave()


async def test_the_clients_vanish() -> None:
    asking = Asking()
    async with served(asking.hub) as serving:
        _, clients = await asked(serving)
        leave(clients)
        assert await asking.ended() == CANCELLED


async def test_the_calls_are_cancelled() -> None:
    asking = Asking()
    async with served(asking.hub) as serving:
        one, clients = await asked(serving)
        await cancel(serving, one)
        assert await asking.ended() == CANCELLED
        leave(clients)


async def test_the_time_of_the_calls_is_over() -> None:
    asking = Asking(timeout=SECONDS)
    async with served(asking.hub) as serving:
        _, clients = await calling(serving)
        assert await asking.ended() == CANCELLED
        for client in clients.values():
            assert "timed out" in await client.until('"result"')
        leave(clients)


async def test_the_hub_drains() -> None:
    asking = Asking()
    async with served(asking.hub, grace=0.2) as serving:
        _, clients = await asked(serving)
        serving.stop()
        assert await asking.ended() == CANCELLED
        leave(clients)


@pytest.mark.parametrize("end", ["timeout", "drain"])
async def test_a_modern_client_does_not_come_back(end: str) -> None:
    asking = Asking(**({"timeout": SECONDS} if end == "timeout" else {}))
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": CAPABLE,
    }
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "ask"}
    async with served(asking.hub, grace=0.2) as serving:
        for way in WAYS:
            params = {"name": "ask", "arguments": {"way": way}, "_meta": meta}
            client = Client(serving)
            await client.send({"id": 1, "method": "tools/call", "params": params}, **headers)
            await client.until("input_required" if end == "drain" else '"result"')
            client.leave()
        if end == "drain":
            serving.stop()
        assert await asking.ended() == CANCELLED


async def test_a_call_inside_the_call_runs_out_of_time() -> None:
    asking = Asking(timeout=SECONDS)

    @asking.hub.tool
    async def outer(way: str) -> str:
        """Call the tool that asks."""
        result = await asking.hub.execute("ask", {"way": way})
        return f"inside: {result.kind}"

    async with served(asking.hub) as serving:
        _, clients = await calling(serving, "outer")
        assert await asking.ended() == CANCELLED
        for client in clients.values():
            assert "inside: timeout" in await client.until('"result"')
        leave(clients)


async def test_an_async_tool_asks_on_a_thread_of_its_own() -> None:
    asking = Asking()

    async def ask_aside(way: str) -> str:
        """Ask on another thread."""
        return await asyncio.to_thread(asking.ask, way)

    asking.hub.register(ask_aside)
    async with served(asking.hub) as serving:
        _, clients = await asked(serving, "ask_aside")
        leave(clients)
        assert await asking.ended() == CANCELLED


async def test_a_tool_that_was_given_up_asks_nobody() -> None:
    asking, ready, pause = Asking(), threading.Event(), threading.Event()

    def ask_late(way: str) -> str:
        """Ask after the end of the call."""
        call = current_call()
        call.report_progress(1)
        ready.set()
        while not call.cancelled:
            pause.wait(0.01)
        return asking.ask(way)

    asking.hub.register(ask_late)
    async with served(asking.hub) as serving:
        one = await session(serving)
        params = {"name": "ask_late", "arguments": {"way": "ask_sync"}}
        client = await Client(serving, one).send({"id": 1, "method": "tools/call", "params": params})
        assert await asyncio.to_thread(ready.wait, PATIENCE)
        client.leave()
        assert await asking.ended(1) == {"ask_sync": "CancelledError"}


async def test_the_core_begins_no_wait_for_a_caller_that_has_cancelled() -> None:
    asking, begun, ready, pause = Asking(), list[str](), threading.Event(), threading.Event()
    ended = queue.SimpleQueue[str]()

    async def question() -> None:
        begun.append("asked")

    def ask_late() -> None:
        """Wait for an answer after the call was cancelled, without a look at `cancelled`."""
        scope = _core.current_call_scope()
        assert scope is not None
        ready.set()
        while not scope.is_cancelled:
            pause.wait(0.01)
        try:
            _background.run(question(), scope, None)
        except BaseException as error:
            ended.put(type(error).__name__)
        else:
            ended.put("waited")

    asking.hub.register(ask_late)
    async with served(asking.hub) as serving:
        one = await session(serving)
        params = {"name": "ask_late", "arguments": {}}
        client = await Client(serving, one).send({"id": 1, "method": "tools/call", "params": params})
        assert await asyncio.to_thread(ready.wait, PATIENCE)
        client.leave()
        assert await asyncio.to_thread(ended.get, timeout=PATIENCE) == "CancelledError"
    assert begun == []
