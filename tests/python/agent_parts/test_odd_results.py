"""Results that are no JSON: the model reads a text, and the run goes on, also over a pause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.agents import Roles, Script, call
from toolhub import ToolHub
from toolhub.agents import ChatLoop, CoordinationAgent, ExecutionAgent


def circular() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["me"] = value
    return value


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(50_000):
        value = [value]
    return value


class Silent:
    def __repr__(self) -> str:
        raise ValueError("no words")


ODD = {
    "circular": (circular, "{'me': {...}}"),
    "deep": (deep, "<list that cannot be shown>"),
    "half a character": (lambda: {"k\ud800": "a\ud800b"}, '{"k\ufffd": "a\ufffdb"}'),
    "no words": (Silent, "<Silent that cannot be shown>"),
    "its own result": (lambda: {"success": True, "result": 1, "more": circular()}, "1"),
}
odd = pytest.mark.parametrize(("tool", "text"), ODD.values(), ids=list(ODD))


@odd
def test_a_chat_goes_on_after_an_odd_result(tool: Any, text: str) -> None:
    hub = ToolHub()
    hub.register(tool, name="get_odd", read_only=True)
    model = Script(call("get_odd"), "That is odd.")
    answer = ChatLoop(hub, model).answer_sync("What is it?")
    assert (answer.reason, answer.text) == ("answered", "That is odd.")
    (finished,) = [event for event in answer.transcript if event.type == "call_finished"]
    assert (finished.success, finished.text) == (True, text)
    json.dumps(answer.transcript)


@odd
def test_a_pause_keeps_an_odd_result(tool: Any, text: str, tmp_path: Path) -> None:
    hub = ToolHub(store=tmp_path / "store.db")
    made: list[str] = []
    hub.register(lambda: made.append("odd") or tool(), name="get_odd", read_only=True)
    hub.register(lambda: made.append("sent"), name="send_note", effects=True)
    model = Script(call("get_odd") + call("send_note"), "Sent.")
    loop = ChatLoop(hub, model, approve="ask")
    paused = loop.answer_sync("Send it")
    assert paused.reason == "paused"
    state = json.loads(json.dumps(paused.state))
    hub.approve(state["waiting"][0]["approval"])
    assert loop.answer_sync(state=state).text == "Sent."
    assert made == ["odd", "sent"]
    assert json.dumps(text, ensure_ascii=False) in model.prompts[-1]


@odd
def test_a_plan_goes_on_after_an_odd_result(tool: Any, text: str) -> None:
    hub = ToolHub()
    hub.register(tool, name="get_odd", read_only=True)
    steps = [
        {"id": 1, "description": "Get it", "tool_type": "get_odd"},
        {"id": 2, "description": "Think about it", "dependencies": [1]},
    ]
    answer = CoordinationAgent(hub, Roles(json.dumps(steps), "That is odd.")).answer_sync("What is it?")
    assert (answer.reason, answer.text) == ("answered", "That is odd.")
    json.dumps(answer.transcript)


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ({"id": 1, "description": None}, "description must be text, got NoneType"),
        ({"id": 1, "description": "x", "tool_type": 7}, "tool_type must be text, got 7"),
    ],
)
def test_a_step_that_is_none(step: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        ExecutionAgent(ToolHub()).execute_step_sync(step)
