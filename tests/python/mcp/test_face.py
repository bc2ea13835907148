"""The Python face of MCP servers: configuring, reloading, asking, closing. The server is the lab's, healthy."""

import asyncio
import gc
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.processes import is_running
from toolhub import ErrorKind, ToolError, ToolHub

SERVER = Path(__file__).parents[2] / "mcp" / "faults" / "stdio_server.py"


def entry(**more: Any) -> dict[str, Any]:
    """The configuration of a healthy server."""
    return {"command": sys.executable, "args": [str(SERVER)], "env": {"FAULT": "ok"}, **more}


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.02)


def test_a_file_that_is_loaded_again_applies_the_difference(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"

    def write(**servers: Any) -> None:
        config.write_text(json.dumps({"mcpServers": servers}))

    with ToolHub() as hub:
        write(a=entry(), b=entry())
        assert hub.load_mcp(config).loaded == ["a", "b"]
        assert hub.call("echo", {"text": "x"}, server="a").result == "x"
        before = {server.id: server.pid for server in hub.servers()}
        assert before["a"] is not None
        assert before["b"] is None
        write(a=entry(), c=entry(toolhub={"prefix": "c_"}))
        assert hub.load_mcp(config).loaded == ["a", "c"]
        after = {server.id: server.pid for server in hub.servers()}
        assert after == {"a": before["a"], "c": None}, "what is the same goes on"
        write(a=entry(toolhub={"timeout": 5}))
        hub.load_mcp(config)
        assert [(server.id, server.state) for server in hub.servers()] == [("a", "disconnected")]


def configure(config: Path, **servers: Any) -> None:
    config.write_text(json.dumps({"mcpServers": servers}))


def test_overrides_that_cannot_be_read_turn_nothing_on(tmp_path: Path) -> None:
    config, local = tmp_path / "mcp.json", tmp_path / "mcp.local.json"
    configure(config, a=entry(), b=entry())
    for broken in ("{", "[]", '{"servers": []}', "folder", "link"):
        if broken == "folder":
            local.mkdir()
        elif broken == "link":
            local.symlink_to(tmp_path / "nowhere")
        else:
            local.write_text(broken)
        with ToolHub() as hub:
            report = hub.load_mcp(config)
            (error,) = report.errors
            assert (report.loaded, hub.servers()) == ([], [])
            assert error.startswith(f"{local}: ")
            local.rmdir() if broken == "folder" else local.unlink()
            local.write_text('{"a": {"disabled": true}}')
            assert hub.load_mcp(config).loaded == ["a", "b"]
            before = [(server.id, server.state) for server in hub.servers()]
            assert before == [("a", "disabled"), ("b", "disconnected")]
            local.write_text("{")
            assert not hub.load_mcp(config)
            assert [(server.id, server.state) for server in hub.servers()] == before
        local.unlink()


def test_a_server_stays_while_any_file_has_it(tmp_path: Path) -> None:
    first, second = tmp_path / "z.json", tmp_path / "a.json"
    configure(first, both=entry(), one=entry())
    configure(second, both=entry(disabled=True), two=entry())
    with ToolHub(mcp=[first, second]) as hub:

        def states() -> dict[str, str]:
            return {server.id: server.state for server in hub.servers()}

        assert states() == {"both": "disabled", "one": "disconnected", "two": "disconnected"}
        configure(second, two=entry())
        assert hub.load_mcp(second).removed == []
        assert states()["both"] == "disconnected", "the entry of the other file counts again"
        configure(second, both=entry(disabled=True))
        assert hub.load_mcp(second).removed == ["two"]
        configure(first)
        assert hub.load_mcp(first).removed == ["one"]
        assert states() == {"both": "disabled"}
        configure(second)
        assert hub.load_mcp(second).removed == ["both"]
        assert states() == {}


def test_add_server_lists_again_what_was_unregistered(tmp_path: Path) -> None:
    with ToolHub() as hub:
        hub.add_server("s", **entry())
        hub.connect_sync()  # a call need not wait for the list
        listed, pid = [tool.name for tool in hub.tools()], hub.servers()[0].pid
        assert hub.unregister("echo") == 1
        hub.refresh_sync()
        assert [tool.name for tool in hub.tools()] == [name for name in listed if name != "echo"]
        hub.add_server("s", **entry())
        assert sorted(tool.name for tool in hub.tools()) == sorted(listed)
        assert hub.call("echo", {"text": "x"}).result == "x"
        version = hub.version
        hub.add_server("s", **entry())
        assert (hub.version, hub.servers()[0].pid) == (version, pid), "what is the same goes on"


def test_one_wrong_entry_names_file_server_and_key_and_the_others_load(tmp_path: Path) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(
        '{"mcpServers": {"good": {"command": "x"}, "bad": {"command": "x", "args": "-v"}}} // fine'
    )
    hub = ToolHub()
    report = hub.load_mcp(config)
    assert not report
    assert report.loaded == ["good"]
    assert report.errors == [f"{config}: server 'bad': `args` must be a list of strings, not a string."]


def test_the_constructor_takes_configurations(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"a": entry(), "b": {"url": 5}}}))
    hub = ToolHub(mcp=[config, {"mcpServers": {"c": entry()}}])
    assert [server.id for server in hub.servers()] == ["a", "c"]
    assert any("server 'b'" in message for message in caplog.messages)


def test_a_wrong_entry_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    config = {"mcpServers": {"w": {"command": 5}}}
    hub = ToolHub()
    (error,) = hub.load_mcp(config).errors
    assert hub.load_mcp(config).errors == [error]
    assert [record.getMessage() for record in caplog.records] == [error]
    assert caplog.records[0].levelname == "WARNING"


def test_settings_of_the_wrong_type_are_programming_errors() -> None:
    hub = ToolHub()
    given: Any
    for given in ("server.py", b"server.py", 5):
        with pytest.raises(TypeError, match=f"args must be a list of texts, got {type(given).__name__}"):
            hub.add_server("s", command="python", args=given)
    for given in ("A=1", [("A", "1")], 5):
        kind = type(given).__name__
        with pytest.raises(TypeError, match=f"env must be a mapping, got {kind}"):
            hub.add_server("s", command="python", env=given)
        with pytest.raises(TypeError, match=f"headers must be a mapping, got {kind}"):
            hub.add_server("s", url="http://127.0.0.1:1/", headers=given)
    assert hub.servers() == []


def test_paths_are_arguments_of_a_program() -> None:
    hub = ToolHub()
    hub.add_server("s", command="python", args=["-X", "utf8", Path("server.py")])
    with pytest.raises(TypeError, match="each of args must be text, got int"):
        hub.add_server("t", command="python", args=[5])
    assert [server.id for server in hub.servers()] == ["s"]


def test_wrong_options_of_a_server_are_refused() -> None:
    hub = ToolHub()
    with pytest.raises(ValueError, match=r"startup_timeout` must be a number of seconds"):
        hub.add_server("s", command="x", startup_timeout="soon")
    with pytest.raises(ValueError, match=r"server 's'"):
        hub.add_server("s", url="ftp://example.com")
    assert hub.servers() == []


@pytest.mark.anyio
async def test_a_server_that_is_not_there_is_named() -> None:
    async with ToolHub() as hub:
        hub.add_server("here", command="x")
        with pytest.raises(ToolError, match=r"There is no server 'gone'. Known servers: 'here'") as caught:
            await hub.connect(["gone"])
        assert caught.value.kind is ErrorKind.NOT_FOUND


@pytest.mark.anyio
async def test_what_fails_is_listed_and_what_works_works() -> None:
    async with ToolHub() as hub:
        hub.add_server("good", **entry())
        hub.add_server("bad", command="/nonexistent/server")
        report = await hub.connect()
        assert report.connected == ["good"]
        assert report.failed["bad"].kind is ErrorKind.CONNECT
        assert "there is no such command" in str(report.failed["bad"])
        state = {server.id: server.state for server in hub.servers()}
        assert state == {"good": "connected", "bad": "failed"}


@pytest.mark.anyio
async def test_a_program_that_names_the_server_may_call_what_it_has_not_listed() -> None:
    async with ToolHub() as hub:
        hub.add_server("s", **entry())
        result = await hub.execute("echo", {"text": "before any list"}, server="s")
        assert result.result == "before any list"
        assert (result.meta["source"], result.meta["server"]) == ("mcps", "s")
        missing = await hub.execute("no_such_tool", server="s")
        assert missing.kind is ErrorKind.RPC


@pytest.mark.anyio
async def test_content_structured_and_meta() -> None:
    async with ToolHub() as hub:
        hub.add_server("s", **entry())
        result = await hub.execute("structured_ok", server="s")
        assert result.result == result.structured == {"sum": 3}
        mixed = await hub.execute("content_types", server="s")
        assert [block["type"] for block in mixed.content] == [block["type"] for block in mixed.result]
        assert mixed.meta["server_meta"] == {"k": "v"}


@pytest.mark.anyio
async def test_an_async_function_of_the_user_is_asked_and_its_failure_is_an_answer() -> None:
    asked: list[str] = []

    async def answer(server: str, request: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0)
        asked.append(server)
        raise LookupError("nobody at home")

    async with ToolHub(elicitation=answer) as hub:
        hub.add_server("s", **entry())
        assert (await hub.execute("ask_elicitation", server="s")).success
        assert asked == ["s"]


def test_blocking_twins_and_a_hub_that_is_just_dropped() -> None:
    hub = ToolHub()
    hub.add_server("s", **entry())
    assert hub.call("echo", {"text": "x"}, server="s").result == "x"
    pid = hub.servers()[0].pid
    assert pid is not None
    del hub
    gc.collect()
    asyncio.run(until(lambda: not is_running(pid)))


def test_closing_ends_the_server_and_every_later_call() -> None:
    hub = ToolHub()
    hub.add_server("s", **entry())
    hub.call("echo", {"text": "x"}, server="s")
    pid = hub.servers()[0].pid
    hub.close()
    hub.close()
    assert pid is not None
    assert not is_running(pid)
    assert hub.call("echo", {"text": "x"}, server="s").kind is ErrorKind.CLOSED
    with pytest.raises(ToolError, match="The hub is closed"):
        hub.add_server("t", command="x")


@pytest.mark.anyio
async def test_a_server_is_removed_with_its_tools() -> None:
    async with ToolHub() as hub:
        hub.add_server("s", **entry())
        await hub.connect()
        pid = hub.servers()[0].pid
        assert pid is not None
        assert "echo" in hub
        assert hub.remove_server("s")
        assert not hub.remove_server("s")
        assert "echo" not in hub
        await until(lambda: not is_running(pid))


@pytest.mark.anyio
async def test_native_tools_come_first_and_servers_are_the_fallback() -> None:
    async with ToolHub() as hub:
        hub.add_server("s", **entry())
        await hub.connect()

        @hub.tool(name="echo")
        def broken(text: str) -> str:
            raise OSError("disk full")

        result = await hub.execute("echo", {"text": "x"}, strategy="fallback")
        assert result.result == "x"
        assert [attempt["source"] for attempt in result.meta["attempts"]] == ["tools", "mcps"]


class _Guarded(BaseHTTPRequestHandler):
    """Answers modern requests of clients that have today's token."""

    seen: list[str | None]
    tools = ("anything", "send_money")
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append(self.headers["Authorization"])
        results = {
            "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {}},
            "tools/list": {
                "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools]
            },
        }
        done = {"content": [{"type": "text", "text": "ok"}]}
        result = results.get(message["method"], done)
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are quiet."""


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["text", "function", "coroutine"])
async def test_a_token_is_a_text_or_what_a_function_says(kind: str) -> None:
    seen: list[str | None] = []
    handler = type("Handler", (_Guarded,), {"seen": seen})
    web = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()

    async def coroutine() -> str:
        return "today"

    auth: Any = {"text": "today", "function": lambda: "today", "coroutine": coroutine}[kind]
    try:
        async with ToolHub() as hub:
            hub.add_server("s", url=f"http://127.0.0.1:{web.server_address[1]}/mcp", auth=auth)
            assert (await hub.execute("anything", server="s")).result == "ok"
            assert hub.servers()[0].era == "modern"
        assert set(seen) == {"Bearer today"}
    finally:
        web.shutdown()
        web.server_close()


class _Busy(_Guarded):
    """Answers every call with a status."""

    status: int
    calls: list[str]

    def do_POST(self) -> None:
        if self.headers["Mcp-Method"] != "tools/call":
            return super().do_POST()
        self.rfile.read(int(self.headers["Content-Length"]))
        self.calls.append(self.headers["Mcp-Name"])
        self.send_response(self.status)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return None


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "tries", "outcome"), [(429, 3, "failed"), (502, 1, "unknown"), (503, 1, "unknown")]
)
async def test_only_429_proves_that_a_call_did_not_run(status: int, tries: int, outcome: str) -> None:
    calls: list[str] = []
    handler = type("Handler", (_Busy,), {"seen": [], "status": status, "calls": calls})
    web = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    try:
        async with ToolHub() as hub:
            hub.add_server("s", url=f"http://127.0.0.1:{web.server_address[1]}/mcp")
            result = await hub.execute("send_money", server="s")
            assert calls == ["send_money"] * tries
            assert result.meta["error"]["outcome"] == outcome
    finally:
        web.shutdown()
        web.server_close()


def test_in_the_child_of_a_fork_the_parents_servers_raise() -> None:
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    with ToolHub() as hub:
        hub.add_server("s", **entry())
        child = os.fork()
        if child == 0:
            refused = 0
            for use in (
                hub.servers,
                hub.pins.list,
                lambda: hub.remove_server("s"),
                lambda: hub.pins.accept("s"),
            ):
                try:
                    use()
                except RuntimeError:
                    refused += 1
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4


def test_a_fork_leaves_the_parents_server_alone() -> None:
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    with ToolHub() as hub:
        hub.add_server("s", **entry())
        hub.call("echo", {"text": "x"}, server="s")
        child = os.fork()
        if child == 0:
            gc.collect()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert hub.call("echo", {"text": "still here"}, server="s").result == "still here"


@pytest.mark.anyio
async def test_connecting_reports_progress() -> None:
    reported: dict[str, str | None] = {}

    def progress(id: str, error: ToolError | None) -> None:
        reported[id] = None if error is None else str(error.kind)

    async with ToolHub() as hub:
        hub.add_server("good", **entry())
        hub.add_server("bad", command="/nonexistent/server")
        hub.add_server("off", command="x", disabled=True)
        report = await hub.connect(progress=progress)
        assert reported == {"good": None, "bad": "connect"}
        assert (report.connected, list(report.failed)) == (["good"], ["bad"])


@pytest.mark.anyio
async def test_an_async_progress_is_awaited() -> None:
    shown: list[str] = []

    async def progress(id: str, error: ToolError | None) -> None:
        await asyncio.sleep(0)
        shown.append(f"{id}: {error.kind if error else 'connected'}")

    async with ToolHub() as hub:
        hub.add_server("bad", command="/nonexistent/server")
        await hub.connect(progress=progress)
        assert shown == ["bad: connect"]


@pytest.mark.anyio
async def test_an_exception_of_progress_ends_connecting() -> None:
    def progress(id: str, error: ToolError | None) -> None:
        raise LookupError(id)

    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with ToolHub() as hub:
            hub.add_server("bad", command="/nonexistent/server")
            for number in range(20):
                hub.add_server(f"silent{number}", url=f"http://127.0.0.1:{silent.getsockname()[1]}/")
            before = asyncio.all_tasks()
            with pytest.raises(LookupError, match="bad"):
                await hub.connect(progress=progress)
            assert asyncio.all_tasks() == before
            states = [server.state for server in hub.servers()]
            # 16 connect at once, and the one that failed may have made room for one more.
            assert states.count("disconnected") >= 4


@pytest.mark.anyio
async def test_at_most_sixteen_servers_connect_at_once_with_progress_too() -> None:
    def connecting(hub: ToolHub) -> int:
        return sum(server.state == "connecting" for server in hub.servers())

    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with ToolHub() as hub:
            for number in range(20):
                hub.add_server(f"s{number}", url=f"http://127.0.0.1:{silent.getsockname()[1]}/")
            task = asyncio.create_task(hub.connect(progress=lambda id, error: None))
            await until(lambda: connecting(hub) >= 16)
            assert connecting(hub) == 16
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


def test_odd_entries_are_warnings_in_the_report_and_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    report = ToolHub().load_mcp({"mcpServers": {"a": {"command": "x", "comand": "y"}}})
    assert report
    assert (report.loaded, report.skipped) == (["a"], [])
    assert len(report.warnings) == 1
    assert "comand" in report.warnings[0]
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", report.warnings[0])
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("allowed", [True, False])
async def test_the_hubs_model_answers_only_servers_that_may_ask_it(allowed: bool) -> None:
    asked: list[str] = []

    async def model(prompt: str) -> str:
        asked.append(prompt)
        return "Paris"

    async with ToolHub(llm=model) as hub:
        hub.add_server("s", **entry(), allow_sampling=allowed)
        assert (await hub.execute("ask_sampling", server="s")).success
        assert bool(asked) is allowed


def test_a_call_that_times_out_waiting_for_its_server_was_not_sent(tmp_path: Path) -> None:
    stuck = tmp_path / "stuck"
    program = (
        "import pathlib, runpy, sys, threading\n"
        f"if pathlib.Path({str(stuck)!r}).exists(): threading.Event().wait()\n"
        f"runpy.run_path({str(SERVER)!r}, run_name='__main__')\n"
    )
    with ToolHub() as hub:
        hub.add_server("lab", command=sys.executable, args=["-c", program], env={"FAULT": "ok"})
        asyncio.run(hub.connect())
        assert hub.call("echo", {"text": "x"}).result == "x"
        (before,) = hub.servers()
        assert before.pid is not None
        stuck.touch()
        os.kill(before.pid, signal.SIGKILL)
        # A hub that has not heard of the end yet would send, and be reported that the connection is closed.
        asyncio.run(until(lambda: hub.servers()[0].state != "connected"))
        late = hub.call("echo", {"text": "x"}, timeout=0.5)
        assert late.kind == ErrorKind.TIMEOUT
        assert late.meta["error"]["outcome"] == "not_sent"
        assert str(late.error).endswith("; not started.")


def test_what_the_configuration_leaves_out_cannot_be_called_by_naming_the_server() -> None:
    with ToolHub() as hub:
        hub.add_server("lab", **entry(), exclude=["echo"])
        for _ in ("before it has listed its tools", "after"):
            assert hub.call("echo", {"text": "x"}, server="lab").kind == ErrorKind.NOT_FOUND
            asyncio.run(hub.connect())
