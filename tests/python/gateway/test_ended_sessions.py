"""What a session has running, and which of its streams hears of a change."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from support.gateway import LegacyClient, send, served
from toolhub import ToolHub

pytestmark = pytest.mark.anyio


class Events:
    """The standing stream of a session: a GET whose events are kept as they come."""

    def __init__(self, client: LegacyClient) -> None:
        host, _, path = client.url.removeprefix("http://").partition("/")
        self._connection = http.client.HTTPConnection(host, timeout=60)
        headers = {"Accept": "text/event-stream", "Mcp-Session-Id": client.session}
        self._connection.request("GET", f"/{path}", headers=headers | {"MCP-Protocol-Version": "2025-11-25"})
        self._socket = self._connection.sock
        self._reply = self._connection.getresponse()
        assert self._reply.status == 200
        self.seen: list[str] = []
        self.changed = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for line in self._reply:
                if line.startswith(b"data:"):
                    self.seen.append(line.decode())
                    self.changed.set()
        except (OSError, ValueError, AttributeError):
            pass

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(30)
        self._connection.close()


@contextmanager
def streams(client: LegacyClient, count: int) -> Generator[list[Events]]:
    opened: list[Events] = []
    try:
        for _ in range(count):
            opened.append(Events(client))
        yield opened
    finally:
        for one in opened:
            one.close()


async def heard(events: Events) -> bool:
    return await asyncio.to_thread(events.changed.wait, 30)


async def test_a_notification_goes_to_one_stream_of_a_session() -> None:
    with ToolHub() as hub:
        hub.register(lambda: "one", name="one")
        async with served(hub) as own:
            client, other = LegacyClient(own.url), LegacyClient(own.url)
            await client.start()
            await other.start()
            with streams(client, 3) as (first, second, third), streams(other, 1) as (foreign,):
                hub.register(lambda: "two", name="two")
                assert await heard(third)
                assert await heard(foreign)
                # The newest has gone, so the one before it hears of the next change.
                await asyncio.to_thread(third.close)
                foreign.changed.clear()
                await gone(own.url)
                hub.register(lambda: "three", name="three")
                assert await heard(second)
                assert await heard(foreign)
                counts = [len(one.seen) for one in (first, second, third, foreign)]
    assert counts == [0, 1, 1, 2]


async def gone(url: str) -> None:
    """Waits until the gateway has noticed that a stream was closed."""
    metrics = url.removesuffix("/mcp") + "/metrics"
    for _ in range(300):
        text = (await asyncio.to_thread(send, metrics, "GET", None, {})).text
        if "_streams 3" in text:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the stream is still counted")


async def test_the_end_of_a_session_ends_its_call() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()
    with ToolHub() as hub:

        @hub.tool
        async def wait() -> str:
            begun.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return "never"

        async with served(hub) as own:
            client, other = LegacyClient(own.url), LegacyClient(own.url)
            await client.start()
            await other.start()
            running = asyncio.create_task(client.call("wait"))
            await asyncio.wait_for(begun.wait(), 30)
            headers = {"Mcp-Session-Id": other.session}
            ended = await asyncio.to_thread(send, own.url, "DELETE", None, headers)
            assert ended.status == 204
            assert not cancelled.is_set()
            headers = {"Mcp-Session-Id": client.session}
            ended = await asyncio.to_thread(send, own.url, "DELETE", None, headers)
            assert ended.status == 204
            reply = await asyncio.wait_for(running, 30)
            await asyncio.wait_for(cancelled.wait(), 30)
    assert reply.message["error"]["code"] == -32800
