"""Agents with tools of real MCP servers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from support.agents import Roles, Script, call
from toolhub import ToolHub
from toolhub.agents import ChatLoop, CoordinationAgent

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
