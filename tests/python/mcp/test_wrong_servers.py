"""Slips in a server's configuration, and programs that are not MCP servers: one sentence says what to do."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

from toolhub import ToolError, ToolHub

pytestmark = pytest.mark.anyio

CHECK = "check that `command` and `args` start an MCP server"


async def why(hub: ToolHub, **how: Any) -> str:
    hub.add_server("s", **how)
    report = await hub.connect(["s"])
    assert report.connected == []
    return str(report.failed["s"])


async def test_a_program_that_prints_and_ends(hub: ToolHub) -> None:
    expected = f"Server 's' exited with code 0: it printed 'hi', which is not MCP; {CHECK}"
    assert await why(hub, command="echo", args=["hi"]) == expected
    result = await hub.execute("anything", {}, server="s")
    assert expected in result.error


async def test_a_program_that_prints_nothing_and_ends(hub: ToolHub) -> None:
    assert await why(hub, command="true") == f"Server 's' exited with code 0: it sent no MCP message; {CHECK}"


async def test_a_program_that_sends_back_what_it_gets(hub: ToolHub) -> None:
    assert await why(hub, command="cat") == f"the program echoes its input; {CHECK}"


async def test_a_program_that_prints_and_stays(hub: ToolHub) -> None:
    program = "import time; print('Serving on http://localhost:8000', flush=True); time.sleep(100)"
    error = await why(hub, command=sys.executable, args=["-c", program], startup_timeout=3)
    assert (
        error
        == f"no answer within 3 s: it printed 'Serving on http://localhost:8000', which is not MCP; {CHECK}"
    )


async def test_what_a_program_says_on_its_error_stream_comes_first(hub: ToolHub) -> None:
    program = "import sys; print('usage: x'); sys.exit('no API key')"
    error = await why(hub, command=sys.executable, args=["-c", program])
    assert error == "Server 's' exited with code 1: no API key"


TRUNCATED = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "t", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "get_text", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "hello"}]},
    }.get(message["method"])
    if result is None:
        answer = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "Method not found"}}
    else:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    text = json.dumps(answer)
    print(text[:-20] if message["method"] == "tools/call" else text, flush=True)
"""


async def test_a_truncated_answer(hub: ToolHub, connected: Callable[..., Any]) -> None:
    await connected(hub, "s", command=sys.executable, args=["-c", TRUNCATED])
    result = await hub.execute("get_text", {})
    assert (result.success, result.kind) == (False, "protocol")
    assert result.error == (
        "Failed to parse MCP response: the answer ends in the middle of the JSON; the server may have cut it off"
    )
    assert result.meta["error"]["outcome"] == "unknown"


async def test_a_file_with_spaces_in_its_name_is_one_program(
    hub: ToolHub, connected: Callable[..., Any], tmp_path: Any
) -> None:
    program = tmp_path / "my server"
    program.write_text(f"#!{sys.executable}\n{TRUNCATED}", "utf-8")
    program.chmod(0o755)
    await connected(hub, "s", command=str(program))
    error = await why(hub, command=f"{tmp_path}/missing server --x")
    assert f"cannot start '{tmp_path}/missing server --x'" in error


@pytest.mark.parametrize("program", ["yes", "cat /dev/zero"])
async def test_a_program_that_floods_its_output_ends_early(hub: ToolHub, program: str) -> None:
    command, *args = program.split()
    # Without an end of its own the attempt would take as long as it may.
    error = await asyncio.wait_for(why(hub, command=command, args=args, startup_timeout=600), 60)
    assert error.startswith("Server 's' was stopped because of its output: it ")
    assert error.endswith(CHECK)


async def test_an_unknown_server_is_named(hub: ToolHub) -> None:
    hub.add_server("github", command="cat")
    for result in (
        await hub.execute("search", {}, server="githup"),
        hub.call("search", {}, server="githup"),
    ):
        assert result.kind == "not_found"
        expected = "There is no server 'githup'. Known servers: 'github'. Did you mean 'github'?"
        assert result.error == expected
    async with ToolHub() as empty:
        result = await empty.execute("search", {}, server="githup")
        assert result.error == "There is no server 'githup'. Known servers: none."


async def test_an_unknown_server_is_named_when_others_have_the_tool(
    hub: ToolHub, caplog: pytest.LogCaptureFixture
) -> None:
    hub.add_server("github", command="cat")
    hub.register(lambda: 1, name="search", capabilities=["search"])
    sentence = "There is no server 'githup'. Known servers: 'github'. Did you mean 'github'?"
    result = await hub.execute("search", {}, server="githup")
    assert (result.kind, result.error) == ("not_found", f"{sentence} Tool 'search' is offered by: tools.")
    by_capability = await hub.execute_by_capability("search", {}, server="githup")
    assert (by_capability.kind, by_capability.error) == ("not_found", sentence)
    with pytest.raises(ToolError, match=re.escape(sentence)) as caught:
        hub.tools(server="githup")
    assert caught.value.kind == "not_found"
    assert hub.remove_server("githup") is False
    assert sentence in caplog.messages
    assert hub.remove_server("github") is True


async def test_an_unknown_option_is_an_error(hub: ToolHub) -> None:
    with pytest.raises(TypeError, match=r"no option 'time_out'; did you mean 'timeout'\?"):
        hub.add_server("s", command="cat", time_out=5)
    assert hub.servers() == []


@pytest.mark.parametrize(
    ("key", "value", "state"),
    [
        ("disabled", True, "disabled"),
        ("enabled", False, "disabled"),
        ("is_active", False, "disabled"),
        ("isActive", False, "disabled"),
        ("active", False, "disabled"),
        ("is_active", True, "disconnected"),
        ("enabled", True, "disconnected"),
        ("disabled", False, "disconnected"),
    ],
)
async def test_a_server_that_is_not_active(hub: ToolHub, key: str, value: bool, state: str) -> None:
    report = hub.load_mcp({"mcpServers": {"s": {"command": "cat", key: value}}})
    assert (report.loaded, report.warnings, report.errors) == (["s"], [], [])
    assert [server.state for server in hub.servers()] == [state]
