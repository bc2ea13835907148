"""A text that was cut never runs a tool with less than the model was about to say."""

import json
from typing import Any

import pytest

import toolhub
from parsing.writers import LITERAL, QUOTED

CALL = ("get_time", {"zone": "UTC", "count": 123, "deep": {"list": [1, 22, "x"]}, "on": True})
TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_time",
        "parameters": {
            "properties": {
                "zone": {"type": "string"},
                "count": {"type": "integer"},
                "deep": {"type": "object"},
                "on": {"type": "boolean"},
            }
        },
    }
]


def made(text: str, format: str) -> list[tuple[str, dict[str, Any]]]:
    calls = toolhub.parse(text, format, TOOLS).calls
    return [(call.name, call.arguments) for call in calls if not call.error]


@pytest.mark.parametrize("format", [format for format in QUOTED if format != "react"])
def test_a_cut_call_is_whole_or_none(format: str) -> None:
    text = QUOTED[format]([CALL])
    for asked in (format, "auto"):
        for end in range(len(text)):
            assert made(text[:end], asked) in ([], [CALL]), text[:end]


NEXT = ("next", {"a": "b"})


@pytest.mark.parametrize("format", [format for format in QUOTED if format != "react"])
def test_a_call_that_the_next_one_cuts_off_is_whole_or_none(format: str) -> None:
    text, after = QUOTED[format]([CALL]), QUOTED[format]([NEXT])
    for asked in (format, "auto"):
        for end in range(len(text)):
            found = made(f"{text[:end]}\n{after}", asked)
            assert all(call in (CALL, NEXT) for call in found), text[:end]


WRITTEN = json.dumps(CALL[1])


@pytest.mark.parametrize("format", [format for format in QUOTED if WRITTEN in QUOTED[format]([CALL])])
def test_arguments_that_go_on_behind_the_end_tag_are_not_made(format: str) -> None:
    text = QUOTED[format]([CALL])
    start = text.index(WRITTEN)
    tail = text[start + len(WRITTEN) :].lstrip("}] \n")
    for asked in (format, "auto"):
        for place, character in enumerate(WRITTEN):
            if character in "{[,:":
                cut = f"{text[: start + place + 1]}{tail}"
                assert made(cut, asked) == [], cut


@pytest.mark.parametrize("given", ['"{"', '"{\\"a\\": 1,"', '"{\\"a\\": ["', '{"a": [1,', "{"])
def test_cut_arguments_before_an_end_tag_are_named(given: str) -> None:
    text = f'<tool_call>{{"name": "get_time", "arguments": {given}</tool_call>'
    (call,) = toolhub.parse(text).calls
    assert (call.name, call.arguments, bool(call.error)) == ("get_time", {}, True)


def test_only_brackets_may_be_missing_before_an_end_tag() -> None:
    for given in ('{"a": 1', '{"a": [1', '{"a": {"b": 1'):
        (call,) = toolhub.parse(f'<tool_call>{{"name": "f", "arguments": {given}</tool_call>').calls
        assert (call.error, call.repairs) == (None, ["missing closing brackets"])
    # What is missing is not part of the arguments.
    assert made('<tool_call>{"name": "f", "arguments": {"a": 1},</tool_call>', "auto") == [("f", {"a": 1})]
    assert made('<tool_call>{"name": "f",</tool_call>', "auto") == []
    listed = '[TOOL_CALLS] [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {[/TOOL_CALLS]'
    found = toolhub.parse(listed).calls
    assert [(call.name, bool(call.error)) for call in found] == [("f", False), ("g", True)]


@pytest.mark.parametrize("format", LITERAL)
def test_a_name_alone_is_no_call(format: str) -> None:
    text = LITERAL[format]([CALL])
    first_value = text.index("UTC")
    for asked in (format, "auto"):
        for end in range(first_value):
            assert made(text[:end], asked) == [], text[:end]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "get_time"',
        '<tool_call>{"name": "get_time", "count": 12',
        '{"name": "get_time"',
        "<tool_call>\n<function=get_time>\n",
        '<function_calls><invoke name="get_time">',
    ],
)
def test_what_is_missing_is_named(text: str) -> None:
    found = toolhub.parse(text, tools=TOOLS)
    assert made(text, "auto") == []
    assert found.text == text or (found.calls[0].error and "ends before" in found.calls[0].error)


def test_a_call_without_arguments_may_lack_its_end_tag() -> None:
    for text in ('<tool_call>{"name": "get_time"}', '<tool_call>{"name": "get_time"</tool_call>'):
        assert made(text, "auto") == [("get_time", {})]
    both = "<tool_call>\n<function=get_time>\n</tool_call>\n<tool_call>\n<function=get_time>\n</function>"
    assert made(both, "auto") == [("get_time", {})] * 2
