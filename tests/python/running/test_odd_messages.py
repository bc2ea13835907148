"""API messages with values that JSON cannot express, cut-off arguments, and requests in other shapes."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhub import ToolHub, parse

RAN: list[Any] = []


def get_any(**given: Any) -> str:
    RAN.append(given)
    return "done"


HUB = ToolHub()
HUB.register(get_any)


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"x": value}
    return value


RING: dict[str, Any] = {}
RING["ring"] = RING


class Huge(int):
    """With more digits than Python writes."""

    def __repr__(self) -> str:
        return "Huge"


ODD = [
    Huge(1 << 400_000),
    Huge(-(1 << 400_000)),
    math.nan,
    math.inf,
    "\ud800",
    deep(300),
    RING,
    object(),
    {1: 2},
    b"\xff",
    {"a": [1j]},
]


def api_messages(arguments: Any) -> list[Any]:
    return [
        [{"type": "tool_use", "id": "a", "name": "get_any", "input": arguments}],
        {"role": "model", "parts": [{"functionCall": {"name": "get_any", "args": arguments}}]},
        {
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "get_any", "arguments": arguments}}
            ]
        },
        [{"type": "function_call", "call_id": "a", "name": "get_any", "arguments": arguments}],
    ]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_a_value_without_a_json_form_fails_its_call_alone(odd: Any) -> None:
    for message in [*api_messages({"a": 1, "b": odd}), *api_messages({"a": [odd]})]:
        RAN.clear()
        both = [message, {"type": "tool_use", "id": "b", "name": "get_any", "input": {"a": 2}}]
        outcome = asyncio.run(HUB.run(both))
        failed, fine = outcome.results
        assert (failed.kind, fine.success, RAN) == ("invalid_arguments", True, [{"a": 2}])
        assert "cannot be read" in str(failed.error)
        json.dumps(outcome.messages)
        assert [call.error is None for call in parse(both).calls] == [False, True]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.sampled_from(ODD),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
        | st.tuples(inner)
    ),
    max_leaves=8,
)


@given(name=ANYTHING, arguments=ANYTHING, extra=ANYTHING)
def test_no_message_raises(name: Any, arguments: Any, extra: Any) -> None:
    for message in (
        [
            {"type": "tool_use", "id": extra, "name": name, "input": arguments},
            {"type": "text", "text": extra},
        ],
        {"parts": [{"functionCall": {"name": "get_any", "args": arguments}, "thoughtSignature": extra}]},
        {"tool_calls": [{"id": "a", "function": {"name": name, "arguments": arguments}}], "usage": extra},
    ):
        outcome = asyncio.run(HUB.run(message))
        assert len(outcome.calls) == len(outcome.results) >= 1
        json.dumps(outcome.messages)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('<tool_call>{"name": "get_any", "arguments": {"a": %d}}</tool_call>', 10**30 + 1),
        ('<tool_call>{"name": "get_any", "arguments": {"a": [%d,]}}</tool_call>', -(10**20) + 1),
        ('[TOOL_CALLS][{"name": "get_any", "arguments": {"a": %d}}]', 2**64),
    ],
)
def test_an_integer_is_never_rounded(text: str, value: int) -> None:
    RAN.clear()
    (result,) = asyncio.run(HUB.run(text % value)).results
    assert (result.success, RAN) == (True, [{"a": [value] if "[%d,]" in text else value}])
    RAN.clear()
    for number in (2**64 - 1, -(2**63), 1e30, 2.0**60):
        asyncio.run(
            HUB.run(f'<tool_call>{{"name": "get_any", "arguments": {{"a": {number!r}}}}}</tool_call>')
        )
        assert RAN.pop() == {"a": number}


@pytest.mark.parametrize("odd", ['{"a": [1, {"b": 2]}', '{"a": 1,}', "{'a': 1}"])
def test_arguments_are_repaired_alike_for_every_api(odd: str) -> None:
    tagged = parse(f'<tool_call>{{"name": "get_any", "arguments": {odd}</tool_call>').calls[0]
    assert tagged.error is None
    for message in api_messages(odd):
        (call,) = parse(message).calls
        assert (call.error, call.arguments) == (None, tagged.arguments), message
        assert call.repairs


@pytest.mark.parametrize("cut", ['{"a": 1', '{"a": [1, {"b": 2', '{"a": "x"'])
def test_arguments_without_their_end_are_refused_alike_for_every_api(cut: str) -> None:
    # Before an end tag, the model had said all.
    assert parse(f'<tool_call>{{"name": "get_any", "arguments": {cut}</tool_call>').calls[0].error is None
    for message in api_messages(cut):
        assert parse(message).calls[0].error
    request = {"id": "7", "type": "function", "function": {"name": "get_any", "arguments": cut}}
    RAN.clear()
    assert (asyncio.run(HUB.dispatch(request)).success, RAN) == (False, [])
    # A text that ends inside a string may have gone on.
    for message in api_messages('{"a": "x'):
        assert parse(message).calls[0].error


@pytest.mark.parametrize(
    "request_",
    [
        {"tool": "get_any", "arguments": {"a": 1}},
        {"function": "get_any", "arguments": '{"a": 1}'},
        {"action": "get_any", "action_input": {"a": 1}},
        {"id": "7", "type": "function", "function": {"name": "get_any", "arguments": '{"a": 1}'}},
        {"type": "tool_use", "id": "7", "name": "get_any", "input": {"a": 1}},
        {"type": "function_call", "call_id": "7", "name": "get_any", "arguments": '{"a": 1}'},
        {"functionCall": {"name": "get_any", "args": {"a": 1}}},
        {"tool_calls": [{"id": "7", "function": {"name": "get_any", "arguments": '{"a": 1}'}}]},
    ],
    ids=lambda request_: next(iter(request_)),
)
def test_dispatch_takes_the_shapes_that_the_parser_knows(request_: dict[str, Any]) -> None:
    RAN.clear()
    result = HUB.dispatch_sync(request_)
    assert (result.success, RAN) == (True, [{"a": 1}]), result.error


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({"foo": 1}, "names no tool"),
        ({}, "names no tool"),
        ({"function": {"arguments": "{}"}}, "names no tool"),
        ({"tool_calls": [{"name": "get_any"}, {"name": "get_any"}]}, "must be one call"),
        ({"tool": "get_any", "arguments": {"a": math.nan}}, "cannot be read"),
    ],
    ids=str,
)
def test_a_request_that_is_not_a_call_gets_an_error(request_: dict[str, Any], sentence: str) -> None:
    RAN.clear()
    result = HUB.dispatch_sync(request_)
    assert (result.kind, RAN) == ("invalid_arguments", [])
    assert sentence in str(result.error)
