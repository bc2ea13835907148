"""A call that says one thing in two ways is refused, whatever keys and nestings it uses."""

import itertools
import json
from types import SimpleNamespace
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from toolhub import ToolHub, parse

NAMES = ("name", "tool_name", "tool", "function_name", "function", "action")
ARGUMENTS = (
    "arguments",
    "parameters",
    "args",
    "input",
    "action_input",
    "tool_input",
    "params",
    "kwargs",
)
HOLDERS = ("function", "function_call", "functionCall", "tool_call")
A, B = {"to": "a", "amount": 1}, {"to": "a", "amount": 1000}


class Bank:
    """A hub with two acting tools, and what they did."""

    def __init__(self) -> None:
        self.made: list[tuple[str, dict[str, Any]]] = []
        self.hub = ToolHub()
        for name in ("pay", "wipe_all"):
            self.hub.register(self.acting(name), name=name, effects=True)

    def acting(self, name: str) -> Any:
        return lambda **given: self.made.append((name, given))

    def refuses(self, call: dict[str, Any]) -> None:
        """Nothing runs, in a marker, in the structure of an API, as bare JSON or in `dispatch`, and a sentence says why."""
        marked = f"<tool_call>{json.dumps(call)}</tool_call>"
        for message in (marked, {"role": "assistant", "tool_calls": [call]}, json.dumps(call)):
            outcome = self.hub.run_sync(message)
            assert not any(result.success for result in outcome.results), (message, self.made)
        result = self.hub.dispatch_sync(call)
        assert not result.success
        assert self.made == []
        (parsed,) = parse(marked).calls
        assert parsed.error
        assert parsed.error == result.error

    def makes(self, call: dict[str, Any], arguments: dict[str, Any]) -> None:
        assert self.hub.dispatch_sync(call).success
        assert self.hub.run_sync(f"<tool_call>{json.dumps(call)}</tool_call>").results[0].success
        assert self.made == [("pay", arguments)] * 2


@pytest.mark.parametrize("keys", list(itertools.permutations(NAMES, 2)))
def test_two_names_that_differ(keys: tuple[str, str]) -> None:
    Bank().refuses({keys[0]: "pay", keys[1]: "wipe_all", "arguments": A})


@pytest.mark.parametrize("keys", list(itertools.permutations(ARGUMENTS, 2)))
def test_two_arguments_that_differ(keys: tuple[str, str]) -> None:
    Bank().refuses({"name": "pay", keys[0]: A, keys[1]: B})


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "function"])
def test_a_name_outside_that_differs_from_the_one_inside(holder: str, name: str) -> None:
    Bank().refuses({name: "wipe_all", holder: {"name": "pay", "arguments": A}})


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("key", ARGUMENTS)
def test_arguments_outside_that_differ_from_those_inside(holder: str, key: str) -> None:
    Bank().refuses({holder: {"name": "pay", "arguments": A}, key: B})


@pytest.mark.parametrize("holders", list(itertools.combinations(HOLDERS, 2)))
def test_two_calls_in_one(holders: tuple[str, str]) -> None:
    Bank().refuses({holders[0]: {"name": "pay", "args": A}, holders[1]: {"name": "wipe_all", "args": {}}})


@pytest.mark.parametrize(
    "call",
    [
        {"name": "wipe_all", "tool_calls": [{"name": "pay", "arguments": A}]},
        {"function": {"name": "wipe_all"}, "tool_calls": [{"name": "pay", "arguments": A}]},
        {
            "tool_calls": [{"name": "pay", "arguments": A}],
            "function_calls": [{"name": "wipe_all", "args": {}}],
        },
        {"id": "a", "call_id": "b", "name": "pay", "arguments": A},
        {"id": "a", "function": {"id": "b", "name": "pay", "arguments": A}},
        {"name": "pay", "tool": ["wipe_all"], "arguments": A},
        {"name": "pay", "amount": 1, "arguments": B},
        {"name": "pay", "arguments": json.dumps(A), "args": B},
        {"name": "pay", "arguments": "", "args": B},
        {"name": "pay", "arguments": [], "args": B},
        {"name": "pay", "arguments": '{"to": "a", "amount": 1, "amount": 1000}'},
        {"role": "user", "function_call": {"name": "pay", "arguments": A}},
        {"role": None, "tool_calls": [{"name": "pay", "arguments": A}]},
    ],
)
def test_what_else_contradicts_itself(call: dict[str, Any]) -> None:
    bank = Bank()
    outcome = bank.hub.run_sync(f"<tool_call>{json.dumps(call)}</tool_call>")
    assert [result.success for result in outcome.results] == [False]
    assert not bank.hub.dispatch_sync(call).success
    assert bank.made == []


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(st.text(max_size=3), JSON_VALUES, max_size=3)
PLACES = st.sampled_from(["", *HOLDERS])


def placed(*parts: tuple[str, str, Any]) -> dict[str, Any] | None:
    """An object with each value under its key, in its holder; None if two of them have the same place."""
    call: dict[str, Any] = {}
    for holder, key, value in parts:
        target = call.setdefault(holder, {}) if holder else call
        if not isinstance(target, dict) or key in target:
            return None
        target[key] = value
    return call


def refuses_all(call: dict[str, Any] | None) -> None:
    hypothesis.assume(call is not None)
    bank = Bank()
    bank.hub.run_sync(f"<tool_call>{json.dumps(call)}</tool_call>")
    bank.hub.run_sync({"role": "assistant", "tool_calls": [call]})
    bank.hub.run_sync(json.dumps(call))
    bank.hub.dispatch_sync(call or {})
    assert bank.made == []


@hypothesis.given(
    keys=st.permutations(ARGUMENTS),
    holders=st.tuples(PLACES, PLACES, PLACES),
    values=st.tuples(OBJECTS, OBJECTS),
)
def test_no_two_arguments_are_made_into_one(keys: list[str], holders: Any, values: Any) -> None:
    hypothesis.assume(values[0] != values[1])
    named, *places = holders
    refuses_all(
        placed((named, "name", "pay"), (places[0], keys[0], values[0]), (places[1], keys[1], values[1]))
    )


@hypothesis.given(keys=st.permutations(NAMES), holders=st.tuples(PLACES, PLACES, PLACES), arguments=OBJECTS)
def test_no_two_names_are_made_into_one(keys: list[str], holders: Any, arguments: Any) -> None:
    given, *places = holders
    refuses_all(
        placed((given, "arguments", arguments), (places[0], keys[0], "pay"), (places[1], keys[1], "wipe_all"))
    )


@pytest.mark.parametrize(
    "call",
    [
        {"name": "pay", "tool": "pay", "function": {"name": "pay", "arguments": A}, "input": A},
        {"name": "pay", "arguments": {"to": "a", "amount": 1.0}, "args": A},
        {"name": "pay", "arguments": json.dumps(A), "args": A},
        {"name": " pay", "tool_name": "pay", "arguments": A},
        {"name": "pay", "arguments": None, "args": A},
        {"name": None, "tool_name": "pay", "args": A, "parameters": None},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "pay",
            "arguments": json.dumps(A),
        },
        {"functionCall": {"name": "pay", "args": A}, "function_call": {"name": "pay", "args": A}},
        {"name": "pay", "arguments": A, "tool_calls": []},
    ],
)
def test_what_agrees_is_one_call(call: dict[str, Any]) -> None:
    Bank().makes(call, A)


@pytest.mark.parametrize(
    "message",
    [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "1", "name": "pay", "input": A, "args": B}],
        },
        {
            "role": "model",
            "parts": [
                {
                    "functionCall": {"name": "pay", "args": A},
                    "function_call": {"name": "wipe_all", "args": {}},
                }
            ],
        },
        {"output": [{"type": "function_call", "call_id": "1", "name": "pay", "arguments": "{}", "input": A}]},
        {
            "output": [
                {"type": "custom_tool_call", "call_id": "1", "name": "pay", "tool": "wipe_all", "input": "x"}
            ]
        },
        {
            "role": "assistant",
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}],
            "function_call": {"name": "wipe_all", "arguments": "{}"},
        },
    ],
)
def test_the_structures_of_apis(message: dict[str, Any]) -> None:
    bank = Bank()
    outcome = bank.hub.run_sync(message)
    assert outcome.calls
    assert all(call.error for call in outcome.calls)
    assert bank.made == []
    bank.hub.run_sync(json.dumps(message))
    assert bank.made == []


def test_one_call_in_the_old_and_in_the_new_place_is_made_once() -> None:
    bank = Bank()
    function = {"name": "pay", "arguments": json.dumps(A)}
    message = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    bank.hub.run_sync({**message, "function_call": function})
    assert bank.made == [("pay", A)]


def test_notes_of_an_api_beside_the_arguments_are_no_arguments() -> None:
    bank = Bank()
    item = {"type": "function_call", "call_id": "1", "name": "pay", "status": "completed"}
    bank.hub.run_sync({"output": [{**item, "arguments": '{"status": "open"}'}]})
    assert bank.made == [("pay", {"status": "open"})]


def test_the_name_of_who_speaks_is_not_that_of_a_tool() -> None:
    bank = Bank()
    bank.hub.run_sync(
        {"role": "assistant", "name": "clerk", "function_call": {"name": "pay", "arguments": "{}"}}
    )
    assert bank.made == [("pay", {})]


def test_a_message_in_json_with_a_key_twice_has_no_calls() -> None:
    bank = Bank()
    for text in (
        '{"role": "user", "role": "assistant", "content": "<tool_call>{\'name\': \'pay\', \'arguments\': {}}</tool_call>"}',
        '{"role": "assistant", "tool_calls": [{"function": {"name": "wipe_all", "name": "pay", "arguments": "{}"}}]}',
    ):
        assert bank.hub.run_sync(text).calls == []
    assert bank.made == []


@pytest.mark.parametrize(
    "tags",
    [
        '<invoke name="pay" name="wipe_all"><parameter name="to">a</parameter></invoke>',
        '<invoke name="pay" tool="wipe_all"><parameter name="to">a</parameter></invoke>',
        '<invoke name="pay"><parameter name="to" name="amount">a</parameter></invoke>',
        '<function_calls><invoke name="pay" name="wipe_all"></invoke></function_calls>',
        "<use_mcp_tool><tool_name>pay</tool_name><tool_name>wipe_all</tool_name><arguments>{}</arguments></use_mcp_tool>",
        "<invoke><tool_name>pay</tool_name><tool_name>wipe_all</tool_name><parameters></parameters></invoke>",
        '<tool_call><function name="pay" name="wipe_all"><parameter=to>a</parameter></function></tool_call>',
        '<|open|>tools<|sep|><|open|>call tool="pay" tool="wipe_all"<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
    ],
)
def test_an_attribute_given_twice(tags: str) -> None:
    bank = Bank()
    bank.hub.run_sync(tags)
    assert bank.made == []
    assert [call.error for call in parse(tags).calls if call.error] != []


TWICE = '{"to": "a", "amount": 1, "amount": 1000}'


def test_arguments_as_text_with_a_key_twice() -> None:
    bank = Bank()
    for request in (
        {"tool_name": "pay", "arguments": TWICE},
        {"type": "function", "id": "1", "function": {"name": "pay", "arguments": TWICE}},
        SimpleNamespace(name="pay", arguments=TWICE),
    ):
        result = bank.hub.dispatch_sync(request)
        assert result.error == 'The arguments cannot be read: "amount" is given twice.'
    assert "given twice" in str(bank.hub.call("pay", TWICE).error)  # type: ignore[arg-type]
    surrogate = '{"to": "\\ud800", "amount": 1, "amount": 1000}'
    assert not bank.hub.dispatch_sync({"tool_name": "pay", "arguments": surrogate}).success
    assert bank.made == []


def test_attributes_that_contradict_each_other() -> None:
    bank = Bank()
    for request in (
        SimpleNamespace(name="pay", tool_name="wipe_all", arguments={}),
        SimpleNamespace(name="pay", arguments=A, args=B),
    ):
        assert "differ" in str(bank.hub.dispatch_sync(request).error)
    assert bank.made == []


@pytest.mark.parametrize("key", ["$serde_json::private::Number", "$serde_json::private::RawValue"])
@pytest.mark.parametrize("value", ["5", "[1]", "not a number", {"a": 1}])
def test_a_key_that_the_json_library_uses_is_a_key_like_others(key: str, value: object) -> None:
    for arguments in ({key: value}, {"x": [{"a": 1, key: value}]}):
        call = json.dumps({"name": "f", "arguments": arguments})
        for written in (call, call.replace("$", "\\u0024"), json.dumps([json.loads(call)])):
            (found,) = parse(f"<tool_call>{written}</tool_call>").calls
            assert (found.arguments, found.error) == (arguments, None)
