"""A text that was cut never runs a tool with less than the model was about to say."""

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
