"""Agents with tools of real MCP servers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.agents import Roles, Script, call
from toolhub import ToolHub
from toolhub.agents import ChatLoop, CoordinationAgent, ExecutionAgent, Step

pytestmark = pytest.mark.anyio


async def test_a_plan_and_a_chat_use_servers(installed: Callable[..., dict[str, Any]]) -> None:
    async with ToolHub() as hub:
        hub.add_server("calculator", **installed("calculator"))
        hub.add_server("time", **installed("time"))
        steps = [
            {"id": 1, "description": "Calculate 17 * 3 + 4", "tool_type": "calculate"},
            {"id": 2, "description": "Get the time in Asia/Tokyo", "tool_type": "get_current_time"},
            {"id": 3, "description": "Give the answer", "tool_type": "none", "dependencies": [1, 2]},
        ]
        model = Roles(json.dumps(steps), "It is 55.", '{"timezone": "Asia/Tokyo"}')
        answer = await CoordinationAgent(hub, model).answer(
            "What is 17 * 3 + 4, and what time is it in Tokyo?"
        )
        assert (answer.text, answer.success) == ("It is 55.", True)
        assert [step["tool"] for step in answer.steps] == ["calculate", "get_current_time", None]
        assert "Asia/Tokyo" in answer.steps[1]["result"]
        script = Script(call("calculate", expression="2 * 21"), "It is 42.")
        chat = ChatLoop(hub, script, profile={"available_tools": ["calculator/*"]})
        answer = await chat.answer("2 * 21?")
        assert (answer.text, answer.verification["verified"]) == ("It is 42.", True)
        assert "get_current_time" not in script.prompts[0]


# A server that answers nothing before somebody has opened the other end of its pipe.
SLOW = """
import json, sys
gate = open(sys.argv[1])
tide = {"name": "get_tide", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "server/discover":
        answer = {"error": {"code": -32601, "message": "Method not found"}}
    elif method == "initialize":
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                             "serverInfo": {"name": "tides", "version": "1"}}}
    elif method == "tools/list":
        answer = {"result": {"tools": [tide]}}
    elif method == "tools/call":
        answer = {"result": {"content": [{"type": "text", "text": "3.2 m"}]}}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


class SlowServer:
    """A server that starts as slowly as the test wants."""

    def __init__(self, folder: Path) -> None:
        self._script, self._gate = folder / "slow.py", folder / "gate"
        self._script.write_text(SLOW, "utf-8")
        os.mkfifo(self._gate)

    def how(self, **more: Any) -> dict[str, Any]:
        return {"command": sys.executable, "args": [str(self._script), str(self._gate)], **more}

    def hub(self, **more: Any) -> ToolHub:
        """A hub with the server, which starts when somebody waits for it for longer than the hub's `lookup_timeout`."""
        gate = self._gate

        class PatientHub(ToolHub):
            async def connect(self, *args: Any, **options: Any) -> Any:
                gate.open("w", encoding="utf-8").close()
                return await super().connect(*args, **options)

        hub = PatientHub(limits={"lookup_timeout": 0.05})
        hub.add_server("tides", **self.how(**more))
        return hub


TIDE = [{"id": 1, "description": "Get the tide", "tool_type": "get_tide"}]


async def test_a_plan_waits_for_a_server_that_is_still_starting(tmp_path: Path) -> None:
    model = Roles(json.dumps(TIDE), "I guess that it is high.")
    async with SlowServer(tmp_path).hub() as hub:
        answer = await CoordinationAgent(hub, model).answer("How high is the tide?")
        assert "get_tide" not in model.asked[0][1]
        assert [(step["tool"], step["method"]) for step in answer.steps] == [("get_tide", "tool")]
        assert (answer.text, answer.success, answer.errors) == ("3.2 m", True, [])
        [made] = [event for event in answer.transcript if event.type == "plan_made"]
        assert made.problems == []


async def test_a_step_waits_for_a_server_that_is_still_starting(tmp_path: Path) -> None:
    async with SlowServer(tmp_path).hub() as hub:
        result = await ExecutionAgent(hub).execute_step(Step(1, "Get the tide", "get_tide"))
        assert (result.result, result.method) == ("3.2 m", "tool")


@pytest.mark.parametrize("limits", [{"startup_timeout": 0.3}, {"deadline": 0.3}])
async def test_a_tool_that_was_never_found_is_no_silent_success(
    tmp_path: Path, limits: dict[str, float]
) -> None:
    profile = {"deadline": limits.pop("deadline", None)}
    async with ToolHub(limits={"lookup_timeout": 0.05}) as hub:
        hub.add_server("tides", **SlowServer(tmp_path).how(**limits))
        agent = CoordinationAgent(
            hub, lambda p: json.dumps(TIDE) if "plan" in p else "High.", profile=profile
        )
        answer = await agent.answer("How high is the tide?")
        if limits:
            assert [step["method"] for step in answer.steps] == ["reasoned"]
            assert (answer.verification["verified"], answer.verification["confidence"] <= 0.3) == (
                False,
                True,
            )
            assert "'get_tide'" in answer.errors[0]
            assert "'tides'" in answer.errors[0]
        else:
            assert (answer.success, answer.reason) == (False, "deadline")
