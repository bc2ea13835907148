"""What surrounds a message: pipes that close, children that read stdin, silent connections, bodies over a limit."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from typing import Any

import pytest

from support.gateway import Reply, ask, send, served
from toolhub import ToolHub

PROGRAM = """
import asyncio, subprocess, sys
from toolhub import ToolHub, current_call

hub, kept = ToolHub(), []

@hub.tool
async def hang() -> None:
    "Hang."
    kept.append(current_call())
    print("hanging", file=sys.stderr, flush=True)
    await asyncio.Event().wait()

@hub.tool
def child() -> str:
    "Run a program that reads its stdin."
    return repr(subprocess.run(["head", "-c", "30"], capture_output=True).stdout + sys.stdin.read().encode())

@hub.tool
def long(size: int) -> str:
    "A long text."
    return "é" * (size // 2)

hub.resources.add("data://long", "x" * 10_100_000, name="long")
hub.add_server("silent", command=sys.executable, args=["-c", "import sys; sys.stdin.read()"])
hub.serve("stdio")
"""


def message(method: str, number: int | None = None, **params: Any) -> bytes:
    given: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(given if number is None else {**given, "id": number}).encode() + b"\n"


INITIALIZE = message(
    "initialize",
    0,
    protocolVersion="2025-11-25",
    capabilities={},
    clientInfo={"name": "test", "version": "1"},
)
INITIALIZED = message("notifications/initialized")


class Program:
    """Serves a hub on stdio."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin
        assert self.process.stdout
        assert self.process.stderr
        self.input, self.output, self.errors = self.process.stdin, self.process.stdout, self.process.stderr

    def send(self, *messages: bytes) -> None:
        self.input.write(b"".join(messages))
        self.input.flush()

    def answers(self, count: int) -> dict[int, Any]:
        """The next answers by their ids, in whichever order they come."""
        found: dict[int, Any] = {}
        while len(found) < count:
            line = json.loads(self.output.readline())
            if "id" in line:
                found[line["id"]] = line.get("result", line.get("error"))
        return found

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        for stream in (self.input, self.output, self.errors):
            stream.close()
        self.process.wait(30)


@pytest.mark.parametrize("ends", ["stdin", "both", "stdout"])
def test_a_client_that_leaves_while_an_async_tool_runs_ends_serving(ends: str) -> None:
    with Program() as program:
        program.send(INITIALIZE, INITIALIZED, message("tools/call", 1, name="hang"))
        while b"hanging" not in program.errors.readline():
            pass
        if ends != "stdout":
            program.input.close()
        if ends != "stdin":
            program.output.close()
        assert program.process.wait(30) == 0


def test_children_and_tools_do_not_read_the_messages_of_the_client() -> None:
    with Program() as program:
        program.send(INITIALIZE, INITIALIZED, message("tools/call", 1, name="child"), message("ping", 2))
        answers = program.answers(3)
        assert answers[1]["content"][0]["text"] == "b''"
        assert answers[2] == {}


def test_a_result_that_would_end_the_stream_of_a_client_is_kept_to_be_read_in_parts() -> None:
    """A client of the TypeScript SDK closes its stream at a message of more than 10 MiB, with all calls that run."""
    with Program() as program:

        def called(number: int, name: str, **arguments: Any) -> Any:
            program.send(message("tools/call", number, name=name, arguments=arguments))
            return program.answers(1)[number]

        program.send(INITIALIZE, INITIALIZED)
        assert len(program.answers(1)) == 1
        assert len(called(1, "long", size=9_000_000)["content"][0]["text"]) == 4_500_000
        refused = called(2, "long", size=12_000_000)
        assert refused["isError"]
        text: str = refused["content"][0]["text"]
        assert "results above 10000000 bytes (max_result) are not sent" in text
        _, _, call = text.partition("Read it in parts: read_more('")
        page = called(3, "read_more", handle=call.partition("'")[0], offset=5_999_998)
        assert page["content"][0]["text"].startswith("éé")
        program.send(message("resources/read", 4, uri="data://long"))
        assert "(max_result)" in program.answers(1)[4]["message"]


@pytest.mark.anyio
async def test_max_result_is_for_every_transport() -> None:
    hub = ToolHub()
    hub.register(lambda size: "x" * size, name="long")
    async with served(hub, max_result=2_000) as serving:
        short = await ask(serving.url, "tools/call", {"name": "long", "arguments": {"size": 900}})
        assert short.result["content"][0]["text"] == "x" * 900
        long = await ask(serving.url, "tools/call", {"name": "long", "arguments": {"size": 2_100}})
        assert long.result["isError"]
        assert "read_more(" in long.result["content"][0]["text"]
    with pytest.raises(ValueError, match="max_result"):
        hub.asgi(max_result=0)


@pytest.mark.anyio
@pytest.mark.parametrize("limits", [{"tools": ["long"]}, {"tools": ["long"], "search_mode": "on"}], ids=str)
async def test_a_view_of_some_tools_reads_its_long_results(limits: dict[str, Any]) -> None:
    hub = ToolHub()
    hub.register(lambda size: "x" * size, name="long")
    async with served(hub, max_result=2_000, views={"some": limits}) as serving:
        url = f"{serving.url}/some"
        long = await ask(url, "tools/call", {"name": "long", "arguments": {"size": 2_100}})
        _, _, rest = long.result["content"][0]["text"].partition("read_more('")
        arguments = {"handle": rest.partition("'")[0], "offset": 2_000}
        page = await ask(url, "tools/call", {"name": "read_more", "arguments": arguments})
        assert page.result["content"][0]["text"].startswith("x" * 100)
        through = {"name": "read_more", "arguments": arguments}
        page = await ask(url, "tools/call", {"name": "call_tool", "arguments": through})
        if "search_mode" in limits:
            assert page.result["content"][0]["text"].startswith("x" * 100)


def test_nothing_is_sent_before_the_answer_to_initialize() -> None:
    with Program() as program:
        program.send(INITIALIZE)
        assert json.loads(program.output.readline())["id"] == 0


SILENT = [b"", b"P", b"PRI * HTTP/2.0\r\n\r\nSM", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]


@pytest.mark.anyio
@pytest.mark.parametrize("sent", SILENT)
async def test_connections_that_stay_silent_are_closed(sent: bytes) -> None:
    async with served(ToolHub(), header_timeout=0.2) as serving:
        reader, writer = await asyncio.open_connection(serving.host, serving.port)
        writer.write(sent)
        await asyncio.wait_for(reader.read(), 30)
        assert reader.at_eof()
        writer.close()


@pytest.mark.anyio
async def test_a_body_that_is_declared_too_long_or_compressed_is_refused_before_it_is_sent() -> None:
    async with served(ToolHub(), max_body=1000) as serving:

        def status(*headers: str) -> bytes:
            with socket.create_connection((serving.host, serving.port), timeout=30) as client:
                head = ["POST /mcp HTTP/1.1", "host: localhost", "content-type: application/json", *headers]
                client.sendall("\r\n".join([*head, "", ""]).encode())
                return client.recv(4096).split(b" ")[1]

        declared = await asyncio.to_thread(status, "content-length: 2000", "expect: 100-continue")
        assert declared == b"413"
        packed = await asyncio.to_thread(status, "content-length: 0", "content-encoding: gzip")
        assert packed == b"415"


async def asked(app: Any, *parts: bytes, headers: tuple[tuple[bytes, bytes], ...] = ()) -> int:
    """The status of a request to an ASGI application. A body without parts never comes."""
    waiting, sent = list(parts), []

    async def receive() -> dict[str, Any]:
        if not waiting:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": waiting.pop(0), "more_body": bool(waiting)}

    async def send(part: Any) -> None:
        sent.append(part)

    own = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), (b"accept", b"*/*"), *headers]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "headers": own}
    await asyncio.wait_for(app(scope, receive, send), 30)
    return sent[0]["status"]


@pytest.mark.anyio
async def test_an_asgi_application_has_the_limits_of_serve() -> None:
    app = ToolHub().asgi(max_body=100_000, max_headers=2_000, body_timeout=0.2)

    def call(size: int) -> bytes:
        return message("tools/call", 1, name="none", arguments={"x": "y" * size})

    for body, status in ((call(50_000), 200), (call(200_000), 413), (call(5_000_000), 413)):
        assert await asked(app, body) == status
        assert await asked(app, *(body[at : at + 65536] for at in range(0, len(body), 65536))) == status
    assert await asked(app, call(1), headers=((b"x-long", b"y" * 5000),)) == 431
    assert await asked(app) == 408


@pytest.mark.anyio
async def test_a_batch_for_which_there_never_is_room_is_refused_for_good() -> None:
    hub = ToolHub()

    @hub.tool
    def echo(text: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Echo."""
        return text

    version = "2025-03-26"
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}

    def request(number: int, method: str, params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

    def batch(size: int) -> str:
        calls = range(1, size + 1)
        return json.dumps(
            [request(n, "tools/call", {"name": "echo", "arguments": {"text": str(n)}}) for n in calls]
        )

    async with served(hub, max_in_flight=3) as serving:

        async def post(body: str) -> Reply:
            return await asyncio.to_thread(send, serving.url, "POST", body, headers)

        opened = await post(json.dumps(request(0, "initialize", hello)))
        headers |= {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": version}
        fits, refused = await post(batch(3)), await post(batch(4))
    assert [one["result"]["content"][0]["text"] for one in json.loads(fits.text)] == ["1", "2", "3"]
    assert refused.status == 413
    assert "retry-after" not in refused.headers
    assert refused.message["error"] == {
        "code": -32600,
        "message": "Invalid Request: a batch of 4 requests is larger than this server runs at once, 3; send several batches",
    }
