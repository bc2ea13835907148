"""Damaged texts of every format: deltas give what the whole text gives, and the sound call that follows is found."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolhub

from .writers import LITERAL, QUOTED, Call, Writer

WRITERS: dict[str, Writer] = {**QUOTED, **LITERAL}
TOKEN = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]+\]|```\w*|[{}\[\]\"':,]|\w+|\s+|.", re.DOTALL)
FIRST: Call = ("first", {"city": "Paris", "unit": "C"})
SECOND: Call = ("second", {"zone": "UTC"})
KINDS = ["delete", "repeat", "swap", "cut"]


def damaged(text: str, kind: str, place: int) -> str:
    tokens = TOKEN.findall(text)
    at = place % len(tokens)
    match kind:
        case "delete":
            del tokens[at]
        case "repeat":
            tokens.insert(at, tokens[at])
        case "swap":
            other = (at + 1) % len(tokens)
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case _:
            del tokens[at:]
    return "".join(tokens)


def read(text: str, format: str, sizes: list[int] | None = None) -> tuple[Any, str, str | None]:
    if sizes is None:
        found = toolhub.parse(text, format)
        return [call.to_dict() for call in found.calls], found.text, found.format
    stream = toolhub.StreamParser(format)
    events: list[dict[str, Any]] = []
    at = turn = 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        events += stream.feed(text[at : at + size])
        at, turn = at + size, turn + 1
    events += stream.finish()
    around = "".join(event["text"] for event in events if event["type"] == "text")
    return [call.to_dict() for call in stream.calls], around, stream.format


@pytest.mark.parametrize("format", WRITERS)
@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 200)), min_size=1, max_size=3),
    st.lists(st.integers(1, 12), min_size=1, max_size=6),
    st.booleans(),
)
def test_deltas_give_what_the_whole_gives(
    format: str, damages: list[tuple[str, int]], sizes: list[int], named: bool
) -> None:
    text = WRITERS[format]([FIRST, SECOND])
    for kind, place in damages:
        text = damaged(text, kind, place) or "-"
    text = f"Well. {text}\n{WRITERS[format]([SECOND])}"
    asked = format if named else "auto"
    assert read(text, asked, sizes) == read(text, asked), text


def has_second(text: str, format: str) -> bool:
    calls = toolhub.parse(text, format).calls
    return any((call.name, call.arguments, call.error) == (*SECOND, None) for call in calls)


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_sound_call_after_a_damaged_one_is_found(format: str, kind: str) -> None:
    one = WRITERS[format]([FIRST])
    for place in range(len(TOKEN.findall(one))):
        text = f"{damaged(one, kind, place)}\n{WRITERS[format]([SECOND])}"
        assert has_second(text, format), text


def glm(text: str) -> list[tuple[str, dict[str, Any], str | None]]:
    whole = read(text, "glm45")
    for format in ("glm45", "auto"):
        assert read(text, format, [1]) == read(text, format)
        assert read(text, format)[0] == whole[0]
    return [(call["name"], call["arguments"], call["error"]) for call in whole[0]]


K, V = "<arg_key>{}</arg_key>", "<arg_value>{}</arg_value>"
NEXT = "\n<tool_call>next</tool_call>"


@pytest.mark.parametrize(
    ("inside", "arguments"),
    [
        (K.format("x") + K.format("y") + V.format("1"), {"y": "1"}),
        (K.format("x"), {}),
        ("<arg_key>x" + K.format("y") + V.format("1"), {"y": "1"}),
        ("<arg_key>x" + V.format("1"), {"x": "1"}),
        (K.format("x") + "<arg_value>1" + K.format("y") + V.format("2"), {"x": "1", "y": "2"}),
        (K.format("x") + "<arg_value>1\n" + K.format("y") + V.format("2"), {"x": "1", "y": "2"}),
        (K.format("x") + "<arg_value>1", {"x": "1"}),
        (K.format("x") + V.format("see " + K.format("k") + V.format("v") + " there"), None),
        (K.format("x") + V.format("write <tool_call> and </tool_call> there"), None),
    ],
)
@pytest.mark.parametrize("between", ["", "\nThen this.\n"])
def test_glm_keeps_what_follows(inside: str, arguments: dict[str, str] | None, between: str) -> None:
    first, second = glm(f"<tool_call>first{inside}</tool_call>{between}{NEXT}")
    if arguments is None:
        quoted = inside.removeprefix(K.format("x") + "<arg_value>").removesuffix("</arg_value>")
        arguments = {"x": quoted}
    assert first == ("first", arguments, None)
    assert second == ("next", {}, None)


def test_two_calls_never_become_one() -> None:
    cut = "<tool_call>first<arg_key>x</arg_key><arg_value>1"
    first, second = glm(f"{cut}\n<tool_call>next<arg_key>y</arg_key><arg_value>2</arg_value></tool_call>")
    assert first[0] == "first"
    assert first[2]
    assert second == ("next", {"y": "2"}, None)
    header = "<|channel|>commentary to=functions.first <|constrain|>json"
    sound = '<|channel|>commentary to=functions.next<|message|>{"y": 2}<|call|>'
    assert [call.name for call in toolhub.parse(f"{header}\n{sound}", "harmony").calls] == ["next"]
