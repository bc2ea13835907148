"""HTTP+SSE, the transport of 2024-11-05, with clients that know no other, and by hand."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio
INITIALIZE = {
    "protocolVersion": "2024-11-05",
    "capabilities": {},
    "clientInfo": {"name": "old", "version": "1"},
}


class OldClient:
    """The transport by hand: one stream for what comes, a request for each message that goes."""

    def __init__(self, host: str, path: str, **headers: str) -> None:
        self.host, self.path, self.headers = host, path, headers
        self.stream = http.client.HTTPConnection(host, timeout=30)

    def open(self) -> int:
        self.stream.request("GET", self.path, headers={"Accept": "text/event-stream", **self.headers})
        self.reply = self.stream.getresponse()
        if self.reply.status == 200:
            event, self.address = self.event()
            assert event == "endpoint", event
        else:
            self.close()
        return self.reply.status

    def event(self) -> tuple[str, str]:
        fields: dict[str, str] = {}
        while line := self.reply.readline().decode().rstrip("\n"):
            name, _, value = line.partition(": ")
            fields[name] = value
        return fields["event"], fields["data"]

    def post(self, body: str, address: str | None = None, **headers: str) -> int:
        connection = http.client.HTTPConnection(self.host, timeout=30)
        sent = {"Content-Type": "application/json", **self.headers, **headers}
        connection.request("POST", self.path + (self.address if address is None else address), body, sent)
        status = connection.getresponse().status
        connection.close()
        return status

    def ask(self, id: int, method: str, params: Any) -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}, indent=1)
        assert self.post(body) == 202
        event, data = self.event()
        assert event == "message"
        return json.loads(data)

    def close(self) -> None:
        self.reply.close()
        self.stream.close()


@asynccontextmanager
async def served(hub: ToolHub, **options: Any) -> AsyncIterator[str]:
    ready = asyncio.get_running_loop().create_future()
    options = {"sse_path": "/sse", **options}
    serving = asyncio.create_task(hub.aserve("http", port=0, ready=ready.set_result, **options))
    await asyncio.wait((ready, serving), return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        serving.result()
    try:
        yield f"{(await ready).host}:{ready.result().port}"
    finally:
        ready.result().stop()
        await serving


async def test_messages_go_by_requests_and_answers_come_on_the_stream() -> None:
    hub = ToolHub()

    @hub.tool
    async def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    def talk(host: str) -> None:
        client = OldClient(host, "/sse")
        assert client.open() == 200
        assert client.ask(1, "initialize", INITIALIZE)["result"]["protocolVersion"] == "2024-11-05"
        assert client.post('{"jsonrpc":"2.0","method":"notifications/initialized"}') == 202
        assert [tool["name"] for tool in client.ask(2, "tools/list", {})["result"]["tools"]] == ["double"]
        answer = client.ask(3, "tools/call", {"name": "double", "arguments": {"number": 21}})
        assert answer["result"]["content"] == [{"type": "text", "text": "42"}]
        hub.register(len, name="length")
        assert json.loads(client.event()[1])["method"] == "notifications/tools/list_changed"
        assert client.post("{") == 400
        assert client.post("{}", **{"Content-Type": "text/plain"}) == 415
        assert client.post("{}", address="?session=guessed") == 404
        assert client.post("{}", address="") == 404
        client.close()

    async with served(hub) as host:
        await asyncio.to_thread(talk, host)


async def test_a_batch_of_2025_03_26_is_answered_by_one_event() -> None:
    hub = ToolHub()
    hub.register(len, name="length")
    call: Any = {"name": "length", "arguments": {"obj": "four"}}
    batch = [
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": INITIALIZE},
    ]

    def talk(host: str, version: str) -> Any:
        client = OldClient(host, "/sse")
        assert client.open() == 200
        client.ask(1, "initialize", {**INITIALIZE, "protocolVersion": version})
        assert client.post("[]") == 400
        assert client.post(json.dumps(batch)) == 202
        answers = json.loads(client.event()[1])
        # The request and the refused `initialize`, but not the notification, count for the limit of two; three never fit.
        assert client.post(json.dumps([batch[0]] * 3)) == 413
        client.close()
        return answers

    async with served(hub, max_in_flight=2) as host:
        answers = await asyncio.to_thread(talk, host, "2025-03-26")
        assert [answer["id"] for answer in answers] == [2, 3]
        assert answers[0]["result"]["content"][0]["text"] == "4"
        assert answers[1]["error"]["code"] == -32600
        refused = await asyncio.to_thread(talk, host, "2024-11-05")
        assert refused["error"]["code"] == -32600


async def test_a_stream_that_ends_cancels_the_calls_of_its_client() -> None:
    hub, begun, ended = ToolHub(), asyncio.Event(), asyncio.Event()

    @hub.tool
    async def wait() -> None:
        """Wait until it is cancelled."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    def begin(host: str) -> OldClient:
        client = OldClient(host, "/sse")
        client.open()
        client.ask(1, "initialize", INITIALIZE)
        assert client.post('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}') == 202
        return client

    async with served(hub) as host:
        client = await asyncio.to_thread(begin, host)
        await asyncio.wait_for(begun.wait(), 30)
        client.close()
        await asyncio.wait_for(ended.wait(), 30)
        assert await asyncio.to_thread(client.post, "{}") == 404


async def test_only_the_caller_of_the_stream_may_post_to_it() -> None:
    hub = ToolHub()
    hub.register(len, name="length")
    hub.register(str, name="text", description="Show something.")
    views: Any = {"reader": {"tools": ["length"], "token": "token-of-readers"}}

    def talk(host: str) -> None:
        own, other = ({"Authorization": f"Bearer {token}"} for token in ("token-of-marit", "token-of-ola"))
        assert OldClient(host, "/sse").open() == 401
        client = OldClient(host, "/sse", **own)
        assert client.open() == 200
        message = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
        assert client.post(message, **other) == 404
        assert client.post(message) == 202
        reader = OldClient(host, "/sse/reader", Authorization="Bearer token-of-readers")
        assert reader.open() == 200
        reader.ask(1, "initialize", INITIALIZE)
        assert [tool["name"] for tool in reader.ask(2, "tools/list", {})["result"]["tools"]] == ["length"]
        assert OldClient(host, "/sse/unknown", **own).open() == 404
        client.close()
        reader.close()

    tokens = {"marit": "token-of-marit", "ola": "token-of-ola"}
    async with served(hub, token=tokens, views=views) as host:
        await asyncio.to_thread(talk, host)


async def test_it_is_off_unless_it_has_a_path_of_its_own() -> None:
    hub = ToolHub()
    async with served(hub, sse_path=None) as host:
        assert await asyncio.to_thread(OldClient(host, "/sse").open) == 404
    with pytest.raises(ValueError, match="path and sse_path must differ"):
        await hub.aserve("http", port=0, sse_path="/mcp")
    with pytest.raises(ValueError, match="sse_path must be a path such as '/sse', got 'sse'"):
        await hub.aserve("http", port=0, sse_path="sse")
