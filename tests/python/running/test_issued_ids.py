"""The ids that an API gave to its calls come back with the results, whatever the calls look like."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhub import ToolHub, parse

HUB = ToolHub()


@HUB.tool(read_only=True)
def get_it(x: str = "") -> str:
    return f"got {x}"


def function(id: Any, name: Any = "get_it") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": '{"x": "2"}'}}


def openai_ids(*calls: dict[str, Any]) -> list[str]:
    messages = HUB.run_sync({"role": "assistant", "tool_calls": list(calls)}).messages
    return [message["tool_call_id"] for message in messages]


def test_a_made_up_id_is_none_of_the_given_ones() -> None:
    made, given_id = openai_ids(function(None), function("call_1"))
    assert given_id == "call_1"
    assert made != given_id


def test_calls_with_the_same_id_are_answered_with_that_id() -> None:
    assert openai_ids(function("d"), function("d")) == ["d", "d"]
    blocks = [{"type": "tool_use", "id": "d", "name": "get_it", "input": {}}] * 2
    (message,) = HUB.run_sync({"role": "assistant", "content": blocks}).messages
    assert [block["tool_use_id"] for block in message["content"]] == ["d", "d"]


@given(st.lists(st.sampled_from([None, "", "call_1", "call_2", "call_2_", "d"]), min_size=1, max_size=6))
def test_every_given_id_is_kept_and_every_other_one_is_new(ids: list[str | None]) -> None:
    answered = openai_ids(*map(function, ids))
    made = [new for old, new in zip(ids, answered, strict=True) if not old]
    assert [new for old, new in zip(ids, answered, strict=True) if old] == [old for old in ids if old]
    assert len(set(made)) == len(made)
    assert not set(made) & set(ids)


@pytest.mark.parametrize(
    "call",
    [
        {"id": "c9", "type": "function"},
        {"id": "c9", "type": "function", "function": None},
        {"id": "c9", "type": "function", "function": {"name": None, "arguments": "{}"}},
        {"id": "c9", "type": "other", "other": {}},
        {"id": "c9", "type": "custom"},
    ],
)
def test_a_call_that_cannot_be_read_is_answered_with_its_own_id(call: dict[str, Any]) -> None:
    outcome = HUB.run_sync({"role": "assistant", "tool_calls": [call]})
    assert [message["tool_call_id"] for message in outcome.messages] == ["c9"]
    assert not outcome.results[0].success


def test_a_custom_tool_call_of_the_chat_api() -> None:
    call = {"id": "c9", "type": "custom", "custom": {"name": "get_it", "input": "free text"}}
    outcome = HUB.run_sync({"role": "assistant", "tool_calls": [call]})
    assert outcome.messages == [{"role": "tool", "tool_call_id": "c9", "content": "got free text"}]


def test_a_custom_tool_call_of_the_responses_api() -> None:
    call = {
        "type": "custom_tool_call",
        "id": "ctc_1",
        "call_id": "cc",
        "name": "get_it",
        "input": "free text",
    }
    function_call = {"type": "function_call", "call_id": "fc", "name": "get_it", "arguments": "{}"}
    outcome = HUB.run_sync([call, function_call])
    assert outcome.messages == [
        {"type": "custom_tool_call_output", "call_id": "cc", "output": "got free text"},
        {"type": "function_call_output", "call_id": "fc", "output": "got "},
    ]


def test_a_text_for_a_tool_with_several_arguments_is_read_as_json_or_refused() -> None:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def get_sum(a: int, b: int) -> int:
        return a + b

    def run(text: str) -> Any:
        call = {"type": "custom_tool_call", "call_id": "cc", "name": "get_sum", "input": text}
        (message,) = hub.run_sync([call]).messages
        assert message["call_id"] == "cc"
        return message["output"]

    assert run('{"a": 1, "b": 2}') == "3"
    assert "must be an object" in run("one and two")


BROKEN = [
    '```json\n{"name": "get_it", "arguments": {"x":}}\n```',
    '```\n{"name": "get_it", "arguments": {"x": 1 2}}\n```',
    "```json\n{'tool_name': 'get_it', 'parameters': {'x':}}\n```",
    '```json\n{"id": "7", "name": "get_it", "arguments": {"x": what}}\n```',
]
NO_CALLS = [
    '```json\n{"name": "ada", "arguments": {"x":}}\n```',
    '```json\n{"name": "get_it", "age":}\n```',
    '```json\n{"name":}\n```',
    'Use {"name": "get_it", "arguments": {"x":}} like this.',
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_call_between_fences_that_cannot_be_read_is_an_entry_with_an_error(text: str) -> None:
    outcome = HUB.run_sync(f"Let me see.\n{text}\nDone.")
    assert [(call.name, bool(call.error)) for call in outcome.calls] == [("get_it", True)]
    assert outcome.calls[0].raw is not None
    assert outcome.calls[0].raw in text
    assert "cannot be read" in str(outcome.results[0].error)
    assert len(outcome.messages) == 1


@pytest.mark.parametrize("text", NO_CALLS)
def test_other_json_between_fences_is_text(text: str) -> None:
    assert not HUB.run_sync(text).calls
    assert not parse(text).calls
