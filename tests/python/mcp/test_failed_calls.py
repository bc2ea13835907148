"""What a failed call of a server's tool tells its caller: the content, the outcome, and no secrets."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio

LAB = Path(__file__).parents[2] / "mcp" / "faults" / "stdio_server.py"
SECRET = "tok-5c1e7a90b3"


def lab(fault: str = "ok", **env: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(LAB)], "env": {"FAULT": fault, **env}}


@pytest.mark.parametrize("how", ["rpc", "tool", "log", "progress", "stderr"])
async def test_a_server_cannot_show_what_was_entrusted_to_it(
    how: str, hub: ToolHub, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[Any] = []
    hub.on_event(told.append)
    hub.add_server("s", **lab(LAB_TOKEN=SECRET))
    result = await hub.execute("leak", {"how": how}, server="s", progress=told.append)
    assert not result.success
    texts = [repr(dict(result)), repr(result.content), repr(result.structured), repr(told), caplog.text]
    assert [text for text in texts if SECRET in text] == []
    if how in ("rpc", "tool"):
        assert "***" in str(result.error)


async def test_a_secret_in_a_start_that_fails_is_hidden(hub: ToolHub) -> None:
    program = "import os; print('bad key', os.environ['API_KEY']); raise SystemExit(2)"
    told: list[Any] = []
    hub.on_event(told.append)
    hub.add_server("s", command=sys.executable, args=["-c", program], env={"API_KEY": SECRET})
    report = await hub.connect(["s"])
    result = await hub.execute("anything", server="s")
    assert "bad key ***" in str(report.failed["s"])
    assert SECRET not in str(report.failed["s"]) + repr(dict(result)) + repr(told)


async def test_a_tool_s_error_keeps_its_content(hub: ToolHub) -> None:
    hub.add_server("s", **lab(LAB_TOKEN=SECRET))
    result = await hub.execute("leak", {"how": "tool"}, server="s")
    assert (result.success, result.kind, result.error) == (False, "tool_error", "refused: ***")
    assert [block["type"] for block in result.content] == ["text", "image"]
    assert result.structured == {"token": "***", "status": 403}


REFUSES = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    answer = {"error": {"code": -32601, "message": "no such method"}}
    if message.get("method") == "initialize":
        info = {"name": "s", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}
    elif message.get("method") == "tools/call":
        data = {"uri": "file:///gone", "attempts": [1, 2.5, None], "key": os.environ["API_KEY"]}
        answer = {"error": {"code": -32002, "message": "Resource not found", "data": data}}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


async def test_a_protocol_error_keeps_its_code_and_data_without_the_secrets(hub: ToolHub) -> None:
    hub.add_server("s", command=sys.executable, args=["-c", REFUSES], env={"API_KEY": SECRET})
    result = await hub.execute("read", server="s")
    assert result.error == "MCP error: Resource not found (code -32002)"
    error = result.meta["error"]
    assert (error["kind"], error["code"]) == ("rpc", -32002)
    assert error["data"] == {"uri": "file:///gone", "attempts": [1, 2.5, None], "key": "***"}


@pytest.mark.parametrize("server", ["mcp1", "mcp2", "fastmcp"])
async def test_the_error_of_a_real_tool_keeps_its_content(
    server: str, hub: ToolHub, forked: Callable[..., Any]
) -> None:
    hub.add_server("s", **forked(server, "stdio"))
    result = await hub.execute("fail", {"text": "no disk"}, server="s")
    assert result.kind == "tool_error"
    assert [block["type"] for block in result.content] == ["text"]
    assert result.content[0]["text"] == result.error


def raises(server: str, request: Any) -> Any:
    raise RuntimeError("no person is here")


WRONG_ANSWERS = {
    "raises": (raises, "no person is here"),
    "no action": (
        lambda server, request: {"content": {}},
        "'action' must be 'accept', 'decline' or 'cancel'",
    ),
    "nothing": (lambda server, request: None, "'action' must be"),
    "no mapping": (lambda server, request: {"action": "accept", "content": 5}, "'content' must be a mapping"),
    "no content": (lambda server, request: {"action": "accept"}, "required key is missing"),
    "not the form": (lambda server, request: {"action": "accept", "content": {"name": 5}}, "name"),
}


@pytest.mark.parametrize("wrong", WRONG_ANSWERS)
async def test_a_wrong_answer_to_a_question_is_not_sent_and_the_call_was(
    wrong: str, forked: Callable[..., Any]
) -> None:
    """The server took the call before it asked, so the outcome is unknown."""
    function, why = WRONG_ANSWERS[wrong]
    async with ToolHub(elicitation=function) as hub:
        hub.add_server("s", **forked("mcp2", "stdio"))
        result = await hub.execute("ask", server="s")
    assert not result.success
    assert "needs input that this hub cannot give" in str(result.error)
    assert why in str(result.error)
    assert result.meta["error"]["outcome"] == "unknown"
    assert result.meta["error"]["retryable"] is False


@pytest.mark.parametrize("fault", ["exit_before_init", "init_exit", "init_error"])
async def test_a_call_that_no_server_got_was_not_sent(fault: str, hub: ToolHub) -> None:
    hub.add_server("s", **lab(fault))
    for _ in range(4):  # the later ones meet a server in its back-off
        result = await hub.execute("echo", server="s")
        assert not result.success
        assert result.meta["error"]["outcome"] == "not_sent", result.error


@pytest.mark.parametrize("fault", ["list_error", "exit_after_init"])
async def test_a_look_up_that_fails_sends_no_call(fault: str, hub: ToolHub) -> None:
    hub.add_server("s", **lab(fault))
    for _ in range(3):
        result = await hub.execute("no_such_tool")
        assert not result.success
        assert result.meta["error"]["outcome"] == "not_sent", result.error
