"""`hub.serve`, `hub.aserve`, `hub.asgi` and `toolhub serve`, with clients that are not ours."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.warm import warm
from toolhub import ConnectionFailed, ToolError, ToolHub
from toolhub.serving import Serving

HERE = Path(__file__).parent
PROGRAM = str(HERE / "programs.py")

SEEN = {
    "tools": ["add", "fails", "nested", "sleep", "where"],
    "add": "3",
    "nested": '{"inner":5}',
    "fails": "Tool 'fails' raised ValueError: no disk",
    "where": "the program",
    "sleep": "slept",
    "cancelled": True,
    "after": "10",
}


@contextmanager
def served_over_http(*arguments: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    program = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert program.stdout is not None
        yield program, program.stdout.readline().strip()
    finally:
        program.kill()
        program.communicate()


def post(url: str, method: str, params: Any = None, **headers: str) -> tuple[int, Any]:
    """One modern request, by hand."""
    host, _, path = url.removeprefix("http://").partition("/")
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    given: dict[str, Any] = {**(params or {})}
    given["_meta"] = {**meta, **given.get("_meta", {})}
    own = {"Mcp-Method": method, "MCP-Protocol-Version": "2026-07-28", "Content-Type": "application/json"}
    if "name" in given:
        own["Mcp-Name"] = given["name"]
    own |= {"Accept": "application/json, text/event-stream", **headers}
    connection = http.client.HTTPConnection(host, timeout=30)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": given})
    connection.request("POST", f"/{path}", body, own)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply.status, json.loads(text) if text else None


@pytest.mark.parametrize("environment", ["mcp1", "mcp2"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_client_of_each_sdk_lists_calls_and_cancels(environment: str, transport: str) -> None:
    client = [*warm(environment), str(HERE / "clients.py")]

    def seen(*target: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*client, *target], capture_output=True, text=True, timeout=60, check=True)

    if transport == "stdio":
        run = seen(sys.executable, PROGRAM, "stdio")
        errors = run.stderr
    else:
        with served_over_http(PROGRAM, "http") as (program, url):
            run = seen(url)
            program.terminate()
            errors = program.communicate(timeout=30)[1]
            assert program.returncode == 0
    assert json.loads(run.stdout) == SEEN
    assert "sleep was cancelled" in errors


def test_sigterm_lets_a_running_call_end_and_refuses_new_ones() -> None:
    with served_over_http(PROGRAM, "http") as (program, url):
        answers: list[tuple[int, Any]] = []

        def call() -> None:
            answers.append(post(url, "tools/call", {"name": "sleep", "arguments": {"seconds": 1.0}}))

        caller = threading.Thread(target=call)
        caller.start()
        assert program.stderr is not None
        assert "sleep begins\n" in iter(program.stderr.readline, "")
        program.send_signal(signal.SIGTERM)
        caller.join(30)
        assert program.wait(30) == 0
        assert answers[0][1]["result"]["content"][0]["text"] == "slept"
        with pytest.raises(ConnectionRefusedError):
            post(url, "tools/list")


def test_ctrl_c_ends_serving() -> None:
    with served_over_http(PROGRAM, "http") as (program, _):
        program.send_signal(signal.SIGINT)
        errors = program.communicate(timeout=30)[1]
        assert program.returncode == 0
        assert "KeyboardInterrupt" not in errors
        assert "Exception ignored" not in errors


@pytest.mark.anyio
async def test_aserve_gives_its_address_and_runs_async_tools_on_the_loop_of_the_program() -> None:
    hub, here = ToolHub(), asyncio.get_running_loop()

    @hub.tool
    async def is_here() -> bool:
        """Tell whether this is the loop of the program."""
        return asyncio.get_running_loop() is here

    ready: asyncio.Future[Serving] = here.create_future()
    serving = asyncio.create_task(hub.aserve("http", port=0, ready=ready.set_result))
    at = await ready
    assert at.port > 0
    assert at.url == f"http://127.0.0.1:{at.port}/mcp"
    _, answer = await asyncio.to_thread(post, at.url, "tools/call", {"name": "is_here"})
    assert answer["result"]["content"][0]["text"] == "true"
    at.stop()
    await serving
    with pytest.raises(ConnectionRefusedError):
        await asyncio.to_thread(post, at.url, "tools/list")


@pytest.mark.anyio
async def test_cancelling_aserve_ends_it_and_its_calls() -> None:
    hub = ToolHub()
    begun, ended = asyncio.Event(), asyncio.Event()

    @hub.tool
    async def hang() -> None:
        """Hang."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    ready: asyncio.Future[Serving] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(hub.aserve("http", port=0, ready=ready.set_result))
    url = (await ready).url
    calling = asyncio.create_task(asyncio.to_thread(post, url, "tools/call", {"name": "hang"}))
    await begun.wait()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    await asyncio.wait_for(ended.wait(), 10)
    with pytest.raises((OSError, http.client.HTTPException)):
        await calling


@pytest.mark.anyio
async def test_closing_the_hub_ends_serving() -> None:
    hub = ToolHub()
    ready: asyncio.Future[Serving] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(hub.aserve("http", port=0, ready=ready.set_result))
    await ready
    await hub.aclose()
    await asyncio.wait_for(serving, 10)
    with pytest.raises(ToolError, match="closed"):
        await hub.aserve("http")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"transport": "carrier pigeon"}, "transport must be 'stdio' or 'http', got 'carrier pigeon'"),
        ({"transport": "http", "port": 70_000}, "port must be at most 65535, got 70000"),
        ({"transport": "http", "path": "mcp"}, "path must be a path such as '/mcp', got 'mcp'"),
        (
            {"transport": "http", "allowed_hosts": "a.example"},
            "allowed_hosts must be a list of texts, got str",
        ),
        ({"transport": "http", "search_mode": "of"}, "search_mode must be 'auto', 'on' or 'off', got \"of\""),
        ({"transport": "http", "views": {"a": {"tool": []}}}, "views['a'] has no key 'tool'"),
        ({"transport": "http", "prot": 1}, "hub.serve() has no option 'prot'; did you mean 'port'?"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as refusal:
        ToolHub().serve(**options)
    assert str(refusal.value).startswith(message)


@pytest.mark.anyio
async def test_tokens_and_views_decide_who_sees_what(tmp_path: Path) -> None:
    hub = ToolHub()
    hub.register(lambda: "pong", name="read_ping", read_only=True)
    hub.register(lambda: "gone", name="delete_all")
    audit = tmp_path / "audit.ndjson"
    ready: asyncio.Future[Serving] = asyncio.get_running_loop().create_future()
    views = {"reader": {"tools": ["read_*"], "token": "reader-secret"}}
    serving = asyncio.create_task(
        hub.aserve(
            "http", port=0, ready=ready.set_result, token={"ann": "ann-secret"}, views=views, audit=audit
        )
    )
    at = await ready

    def listed(path: str, token: str | None) -> Any:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        status, answer = post(at.url + path, "tools/list", **headers)
        return [tool["name"] for tool in answer["result"]["tools"]] if status == 200 else status

    seen = [
        await asyncio.to_thread(listed, *asked)
        for asked in (
            ("", None),
            ("", "wrong"),
            ("", "ann-secret"),
            ("/reader", "ann-secret"),
            ("", "reader-secret"),
        )
    ]
    assert seen == [401, 401, ["delete_all", "read_ping"], 404, ["read_ping"]]
    headers = {"Authorization": "Bearer reader-secret"}
    _, refused = await asyncio.to_thread(
        lambda: post(at.url, "tools/call", {"name": "delete_all"}, **headers)
    )
    _, unknown = await asyncio.to_thread(
        lambda: post(at.url, "tools/call", {"name": "delete_all2"}, **headers)
    )
    assert refused["error"] == {
        **unknown["error"],
        "message": unknown["error"]["message"].replace("all2", "all"),
    }
    _, answer = await asyncio.to_thread(lambda: post(at.url, "tools/call", {"name": "read_ping"}, **headers))
    assert answer["result"]["content"][0]["text"] == "pong"
    at.stop()
    await serving
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [line["tool"] for line in lines if line["type"] == "call"][-1] == "read_ping"
    assert sum(line["count"] for line in lines if line.get("status") == 401) == 2


def test_a_port_that_is_taken_is_a_connect_error() -> None:
    hub = ToolHub()

    def again(serving: Serving) -> None:
        try:
            with pytest.raises(ConnectionFailed, match=f"Cannot listen on 127.0.0.1:{serving.port}"):
                ToolHub().serve("http", port=serving.port)
        finally:
            serving.stop()

    hub.serve("http", port=0, ready=again)


class AsgiCall:
    """One request to an ASGI application, without a server."""

    def __init__(self, path: str, root: str, body: bytes) -> None:
        self.sent: list[Any] = []
        self.gone = asyncio.Event()
        self._bodies = [{"type": "http.request", "body": body, "more_body": False}]
        headers = {
            b"host": b"localhost",
            b"content-type": b"application/json",
            b"accept": b"application/json, text/event-stream",
            b"mcp-protocol-version": b"2026-07-28",
            b"mcp-method": b"tools/call",
            b"mcp-name": json.loads(body)["params"]["name"].encode(),
        }
        self.scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": path,
            "root_path": root,
            "query_string": b"",
            "headers": list(headers.items()),
        }

    async def receive(self) -> Any:
        if self._bodies:
            return self._bodies.pop()
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)


def asgi_call(tool: str, path: str = "/mcp", root: str = "") -> AsgiCall:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": {}, "_meta": meta}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return AsgiCall(path, root, json.dumps(request).encode())


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("at", "path", "root"),
    [("/mcp", "/mcp", ""), ("/", "/tools", "/tools"), ("/mcp", "/tools/mcp", "/tools")],
)
async def test_an_asgi_application_answers_below_its_mount(at: str, path: str, root: str) -> None:
    hub = ToolHub()
    hub.register(lambda: "pong", name="ping_tool")
    call = asgi_call("ping_tool", path, root)
    await hub.asgi(path=at)(call.scope, call.receive, call.send)
    assert call.sent[0]["status"] == 200, call.sent
    assert json.loads(call.sent[1]["body"])["result"]["content"][0]["text"] == "pong"


@pytest.mark.anyio
async def test_a_client_of_an_asgi_application_that_disconnects_cancels_its_call() -> None:
    hub = ToolHub()
    begun, ended = asyncio.Event(), asyncio.Event()

    @hub.tool
    async def hang() -> None:
        """Hang."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    call = asgi_call("hang")
    running = asyncio.create_task(hub.asgi()(call.scope, call.receive, call.send))
    await begun.wait()
    call.gone.set()
    await running
    await asyncio.wait_for(ended.wait(), 10)


@pytest.mark.anyio
async def test_the_lifespan_of_an_asgi_application() -> None:
    async def messages() -> AsyncIterator[Any]:
        yield {"type": "lifespan.startup"}
        yield {"type": "lifespan.shutdown"}

    received, sent = messages(), []

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await ToolHub().asgi()({"type": "lifespan"}, received.__anext__, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_a_client_that_closes_its_end_ends_serving_on_stdio() -> None:
    ended = subprocess.run(
        [sys.executable, PROGRAM, "stdio"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert ended.stdout == b""


def test_the_command_serves_folders_and_configurations(tmp_path: Path) -> None:
    (tmp_path / "greet.py").write_text(
        "import toolhub\nprint('noise while loading')\n\n@toolhub.tool\ndef greet(name: str) -> str:\n"
        '    "Greet."\n    return f"hello {name}"\n'
    )
    config = tmp_path / "mcp.json"
    config.write_text(
        json.dumps({"mcpServers": {"inner": {"command": sys.executable, "args": [PROGRAM, "stdio"]}}})
    )
    serve = ["-m", "toolhub", "serve", "--tools", str(tmp_path), "--config", str(config)]
    script = f"""
import asyncio, sys
sys.argv = ["clients.py", "-"]
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
async def main():
    server = StdioServerParameters(command={sys.executable!r}, args={serve!r})
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        print(sorted(tool.name for tool in (await session.list_tools()).tools))
        print((await session.call_tool("greet", {{"name": "ann"}})).content[0].text)
        print((await session.call_tool("add", {{"a": 2, "b": 2}})).content[0].text)
asyncio.run(main())
"""
    run = subprocess.run(
        [*warm("mcp1"), "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    listed = "['add', 'fails', 'greet', 'nested', 'sleep', 'where']"
    assert run.stdout.splitlines() == [listed, "hello ann", "4"], run.stderr


def test_the_command_takes_secrets_from_its_configuration(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(
        """{
        // who may call, and what they see
        "serve": {"token": {"ann": "${TOKEN_OF_ANN}"}, "views": {"none": {"tools": []}}, "port": 0, "name": "files"},
    }"""
    )
    command = [sys.executable, "-m", "toolhub", "serve", "--http", "--config", str(config)]
    environment = {**os.environ, "TOKEN_OF_ANN": "token-of-ann"}
    program = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert program.stderr is not None
        url = program.stderr.readline().split()[-1]
        assert post(url, "tools/list")[0] == 401
        headers = {"Authorization": "Bearer token-of-ann"}
        status, answer = post(url, "server/discover", **headers)
        assert (status, answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"]) == (
            200,
            "files",
        )
        assert post(f"{url}/none", "tools/list", **headers)[1]["result"]["tools"] == []
    finally:
        program.kill()
        program.communicate()
    for section, words in (
        ({"token": "${NO_SUCH_TOKEN}"}, "`serve.token` needs the environment variable `NO_SUCH_TOKEN`"),
        ({"tokens": {}}, "did you mean 'token'?"),
        ({"authenticate": "f"}, "cannot have 'authenticate'"),
        ([], "`serve` must be an object"),
    ):
        config.write_text(json.dumps({"serve": section}))
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (run.returncode, words in run.stderr) == (2, True), run.stderr


def test_the_command_tells_its_addresses_as_json() -> None:
    command = [sys.executable, "-m", "toolhub", "serve", "--json"]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.PIPE, "text": True}
    program: subprocess.Popen[str] = subprocess.Popen([*command, "--http", "--port", "0"], **options)
    try:
        assert program.stdout is not None
        told = json.loads(program.stdout.readline())
        assert (told["transport"], told["tools"]) == ("http", 0)
        assert post(told["url"], "tools/list")[1]["result"]["tools"] == []
        assert told["inspect_url"].startswith(told["url"].removesuffix("/mcp") + "/inspect#key=")
    finally:
        program.kill()
        program.communicate()
    # Stdout is for the client there.
    done = subprocess.run(command, input="", capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads(done.stderr.splitlines()[0]) == {"transport": "stdio", "tools": 0}


def test_the_key_of_the_inspector_is_in_no_log() -> None:
    command = [sys.executable, "-m", "toolhub", "serve", "--http", "--port", "0"]
    program = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert program.stderr is not None
        url = program.stderr.readline().split()[-1]
        told = program.stderr.readline()
    finally:
        program.terminate()
        rest = program.communicate()[1]
    assert f"inspector at {url.removesuffix('/mcp')}/inspect; " in told
    assert "key=" not in told + rest


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    for arguments, words in [
        ([], "COMMAND"),
        (["serve", "--config", str(tmp_path / "missing.json")], "missing.json"),
        (["serve", "--prot", "1"], "--prot"),
        (["serve", "--http", "--port", "99999"], "port must be at most 65535"),
    ]:
        command = [sys.executable, "-m", "toolhub", *arguments]
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
        )
        assert (run.returncode, words in run.stderr) == (2, True), run.stderr
        assert run.stdout == ""


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("options", "is_open"),
    [
        ({"host": "0.0.0.0"}, True),
        ({"host": "0.0.0.0", "token": "some-token"}, False),
        ({"host": "127.0.0.1"}, False),
        ({"host": "localhost"}, False),
    ],
)
async def test_serving_everyone_on_a_network_is_warned_about(
    options: Any, is_open: bool, caplog: pytest.LogCaptureFixture
) -> None:
    ready: asyncio.Future[Serving] = asyncio.get_running_loop().create_future()
    with caplog.at_level("WARNING", "toolhub.serving"):
        serving = asyncio.create_task(ToolHub().aserve("http", port=0, ready=ready.set_result, **options))
        (await ready).stop()
        await serving
    warned = [record for record in caplog.records if "may call every tool" in record.getMessage()]
    assert len(warned) == int(is_open)
