"""Whatever a model may say in its dialect is read back, with the dialect named and detected, whole and streamed."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolhub
from parsing.writers import LITERAL, QUOTED, Call

MARKS = (
    '</tool_call> <tool_call> {"name": "x", "arguments": {}} [TOOL_CALLS] [ARGS] <|python_tag|> ```json\n ``` </parameter> '
    "</function> <function=f> </invoke> <arg_key> <|call|> <|end|> <escape> ]<] <think> </think> Observation: "
    "[f(x=1)] }} ]] {[( ' \" ''' \\ \\n // # /* */ ; , é 搜索 🌧️ \n \t &lt; <b> a=1 0123 null true 5"
)
WORDS = ["Paris", "a b", "", "x" * 300, "line one\nline two", *MARKS.split(" ")]
KEYS = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True).filter(
    lambda key: key not in {"item", "tool_name", "parameters"}
)
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,12}", fullmatch=True)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
# One word on each side, so that no dialect has to guess which white space is its own.
SAFE = st.lists(
    st.sampled_from(["Paris", "a b", "x < y", "it's", "é 搜索", "two\n  lines", "{not json", "100%"]),
    min_size=1,
    max_size=3,
).map(" ".join)
NUMBERS = st.integers(-(2**53), 2**53) | st.sampled_from([0.5, -2.25, 1e-3])
PLAIN = NUMBERS | st.booleans()


def values(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    # One kind of values in a list: without a schema for each, a dialect of plain text could not tell them apart.
    return st.recursive(
        texts | PLAIN,
        lambda inner: (
            inner.flatmap(lambda one: st.lists(st.just(one), min_size=1, max_size=3))
            | st.dictionaries(KEYS, inner, min_size=1, max_size=3)
        ),
        max_leaves=6,
    )


def calls(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[Call]]:
    return st.lists(
        st.tuples(NAMES, st.dictionaries(KEYS, values(texts), max_size=4)), min_size=1, max_size=3
    )


def schema(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"type": "boolean"}
        case str():
            return {"type": "string"}
        case int() | float():
            return {"type": "number"}
        case list():
            return {"type": "array", "items": schema(value[0])}
        case _:
            return {"type": "object", "properties": {key: schema(one) for key, one in value.items()}}


def assert_read_back(
    format: str, text: str, expected: list[Call], tools: list[dict[str, Any]] | None
) -> None:
    for asked in (format, "auto"):
        found = toolhub.parse(text, asked, tools)
        parsed = [(call.name, call.arguments) for call in found.calls]
        assert (parsed, [call.error for call in found.calls]) == (expected, [None] * len(expected)), asked
        assert found.text.strip() == ""
        stream = toolhub.StreamParser(asked, tools)
        at = 0
        while at < len(text):
            size = random.randint(1, 9)
            stream.feed(text[at : at + size])
            at += size
        stream.finish()
        assert [call.to_dict() for call in stream.calls] == [call.to_dict() for call in found.calls]


@pytest.mark.parametrize("format", QUOTED)
@settings(max_examples=30)
@given(calls=calls(TEXTS))
def test_quoted(format: str, calls: list[Call]) -> None:
    calls = calls[:1] if format == "react" else calls
    assert_read_back(format, QUOTED[format](calls), calls, None)


@pytest.mark.parametrize("format", LITERAL)
@settings(max_examples=30)
@given(calls=calls(SAFE))
def test_literal(format: str, calls: list[Call]) -> None:
    # One tool of a name has one schema.
    calls = list({name: (name, given) for name, given in calls}.values())
    tools = [{"name": name, "parameters": schema(given)} for name, given in calls]
    assert_read_back(format, LITERAL[format](calls), calls, tools)


def test_every_format_is_written() -> None:
    assert sorted([*QUOTED, *LITERAL]) == sorted(toolhub.formats())
