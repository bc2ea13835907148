"""How servers start: the first question and its limit, reasons for failures, how often a server is started."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio

# A small legacy server. `MODE` says how it misbehaves; every start adds a line to the file `STARTS`.
SERVER = """
import json, os, random, sys, time
mode = os.environ.get("MODE", "")
with open(os.environ["STARTS"], "a") as starts:
    starts.write(f"{os.getpid()}\\n")
started = len(open(os.environ["STARTS"]).readlines())
if mode == "dies":
    sys.stderr.write("Traceback (most recent call last):\\n  File 'x'\\nConfigError: no key\\nbye\\n")
    sys.exit(3)
if mode == "says_and_hangs":
    sys.stderr.write("Error: waiting for the database")  # no line end
    sys.stderr.flush()
    time.sleep(600)
if mode == "dies_later" and started > 1:
    sys.exit("second life is over")
if mode == "slow_start":
    time.sleep(3)
def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def tool(name, **more):
    return {"name": name, "inputSchema": {"type": "object"}, **more}
for line in sys.stdin:
    message = json.loads(line)
    method, rid = message.get("method"), message.get("id")
    if method == "server/discover":
        with open(os.environ["STARTS"] + ".asked", "a") as asked:
            asked.write("x")
        if mode == "modern":
            say({"id": rid, "result": {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}}})
        elif mode not in ("ignores", "modern_after_all"):
            say({"id": rid, "error": {"code": -32601, "message": "Method not found"}})
        elif mode == "modern_after_all" and started > 1:
            say({"id": rid, "result": {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}}})
    elif method == "initialize" and mode == "modern_after_all":
        say({"id": rid, "error": {"code": -32601, "message": "Method not found"}})
    elif method == "initialize":
        say({"id": rid, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}},
             "serverInfo": {"name": "s", "version": "1"}}})
    elif method == "tools/list":
        say({"id": rid, "result": {"tools": [tool("echo"), tool("crash"), tool("flaky"), tool("changes")]}})
        if mode == "crashes_after_list":
            say({"method": "notifications/tools/list_changed"})
            sys.exit(4)
    elif method == "tools/call":
        name = message["params"]["name"]
        if name == "crash" or (name == "flaky" and random.random() < 0.15):
            os._exit(9)
        say({"id": rid, "result": {"content": [{"type": "text", "text": name}]}})
"""


class Program:
    """The small server, and what its processes have done."""

    def __init__(self, folder: Path) -> None:
        self.script = folder / "server.py"
        self.script.write_text(SERVER, "utf-8")
        self.log = folder / "starts"

    def how(self, mode: str = "", **more: Any) -> dict[str, Any]:
        env = {"MODE": mode, "STARTS": str(self.log)}
        return {"command": sys.executable, "args": [str(self.script)], "env": env, **more}

    def starts(self) -> int:
        return len(self.log.read_text("utf-8").splitlines()) if self.log.exists() else 0

    def questions(self) -> int:
        asked = Path(f"{self.log}.asked")
        return len(asked.read_text("utf-8")) if asked.exists() else 0


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


async def test_a_server_that_ignores_the_first_question_works_within_a_call(
    hub: ToolHub, program: Program
) -> None:
    hub.add_server("s", **program.how("ignores"))
    # Far less than half of the time that a start may take.
    result = await hub.execute("echo", {}, server="s", timeout=12)
    assert (result.success, result.result) == (True, "echo"), result.error
    assert (program.starts(), program.questions()) == (2, 1)


async def test_a_short_call_does_not_spend_its_time_on_the_question(hub: ToolHub, program: Program) -> None:
    hub.add_server("s", **program.how("ignores"))
    result = await hub.execute("echo", {}, server="s", timeout=4)
    assert result.success, result.error


async def test_the_silence_is_remembered_in_the_store(program: Program, tmp_path: Path) -> None:
    for _ in range(2):
        async with ToolHub(store=tmp_path / "store") as hub:
            hub.add_server("s", **program.how("ignores"))
            await hub.connect()  # the store has the silence with the list of tools
            assert (await hub.execute("echo", {}, server="s")).success
    assert (program.starts(), program.questions()) == (3, 1)


async def test_a_slow_start_is_not_silence(hub: ToolHub, program: Program) -> None:
    hub.add_server("s", **program.how("slow_start"))
    assert (await hub.connect(["s"])).connected == ["s"]
    assert program.starts() == 1


async def test_a_modern_server_that_was_silent_once_is_found_out(hub: ToolHub, program: Program) -> None:
    hub.add_server("s", **program.how("modern_after_all"))
    assert (await hub.connect(["s"])).connected == ["s"]
    assert hub.servers()[0].era == "modern"


async def test_a_server_that_dies_at_its_start_is_started_twice_for_a_call(
    hub: ToolHub, program: Program
) -> None:
    hub.add_server("s", **program.how("dies"))
    result = await hub.execute("echo", {}, server="s")
    assert not result.success
    assert "Server 's' exited with code 3: ConfigError: no key" in result.error
    assert program.starts() <= 2
    assert result.meta["error"]["outcome"] == "not_sent"


async def test_a_listed_tool_of_a_server_that_cannot_start_again(
    hub: ToolHub, program: Program, connected: Callable[..., Any]
) -> None:
    await connected(hub, "s", **program.how("dies_later"))
    await hub.execute("crash", {})
    result = await hub.execute("echo", {})
    assert not result.success
    assert "second life is over" in result.error
    assert program.starts() <= 3, "one that worked, and two for the call"


async def test_a_time_out_says_what_the_server_waits_for(hub: ToolHub, program: Program) -> None:
    hub.add_server("s", **program.how("says_and_hangs", startup_timeout=2))
    report = await hub.connect(["s"])
    error = str(report.failed["s"])
    assert error.startswith("no answer within 2 s"), error
    assert "Error: waiting for the database" in error


async def test_a_call_that_times_out_before_the_start_says_it_too(hub: ToolHub, program: Program) -> None:
    hub.add_server("s", **program.how("says_and_hangs"))
    hub.add_server("t", **program.how(), include=["none"])
    result = await hub.execute("echo", {}, server="s", timeout=2)
    assert not result.success
    assert "Error: waiting for the database" in result.error, result.error


async def test_no_reason_is_lost_to_a_race(hub: ToolHub, program: Program) -> None:
    script = "import os; os.write(2, b'fatal: no key'); os._exit(3)"
    names = [f"s{number}" for number in range(60)]
    for name in names:
        hub.add_server(name, command=sys.executable, args=["-S", "-c", script])
    report = await hub.connect(names)
    said = {name: str(error) for name, error in report.failed.items()}
    assert said == {name: f"Server '{name}' exited with code 3: fatal: no key" for name in names}


async def test_a_server_that_crashes_sometimes_is_not_punished(
    hub: ToolHub, program: Program, connected: Callable[..., Any]
) -> None:
    # Without retries a server in back-off refuses at once.
    await connected(hub, "s", **program.how(), retries=0)
    for _ in range(5):
        assert not (await hub.execute("crash", {})).success
        result = await hub.execute("echo", {})
        assert result.success, result.error


@pytest.mark.parametrize("mode", ["dies", "crashes_after_list"])
async def test_a_server_that_crashes_is_not_started_for_its_list_alone(
    hub: ToolHub, program: Program, mode: str
) -> None:
    hub.add_server("s", **program.how(mode))
    loop = asyncio.get_running_loop()
    end = loop.time() + 4
    while loop.time() < end:
        # No server is known to have this tool, so each that may have it is asked for its list.
        await hub.execute("nothing_of_this_name", {})
        await asyncio.sleep(0.02)
    assert program.starts() <= 3


async def test_a_call_longer_than_the_idle_time_is_not_cut(
    hub: ToolHub, connected: Callable[..., Any], tmp_path: Path
) -> None:
    script = tmp_path / "slow.py"
    script.write_text(SERVER.replace("os._exit(9)", "time.sleep(1.5)"), "utf-8")
    env = {"MODE": "", "STARTS": str(tmp_path / "starts")}
    await connected(hub, "s", command=sys.executable, args=[str(script)], env=env, idle_timeout=0.3)
    result = await hub.execute("crash", {}, server="s")
    assert (result.success, result.result) == (True, "crash"), result.error
    for _ in range(200):
        if hub.servers()[0].state == "disconnected":
            break
        await asyncio.sleep(0.05)
    assert hub.servers()[0].state == "disconnected"


async def test_the_first_call_of_a_server_on_an_old_sdk_works(
    hub: ToolHub, installed: Callable[..., Any]
) -> None:
    """The SDK 1.6 knows no `server/discover`: it writes a traceback, and says nothing."""
    hub.add_server("s", **installed("mcp16", "stdio"))
    result = await hub.execute("add", {"a": 2, "b": 3}, server="s", timeout=20)
    assert (result.success, result.text) == (True, "5"), result.error
