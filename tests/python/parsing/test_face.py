"""Parsing through the public names; what the formats mean is tested in Rust."""

import gc
import json
import weakref
from types import SimpleNamespace as Object
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import toolhub
from toolhub import ParsedCall, StreamParser, formats, parse

CALL = '<tool_call>{"id": "c1", "name": "ping", "arguments": {"host": "a"}, "source": "mcps"}</tool_call>'
FUNCTION = {"id": "c1", "type": "function", "function": {"name": "ping", "arguments": '{"host": "a"}'}}


def plain(calls: list[ParsedCall]) -> list[dict[str, Any]]:
    return [call.to_dict() for call in calls]


def texts(events: list[dict[str, Any]]) -> str:
    return "".join(event["text"] for event in events if event["type"] == "text")


def test_a_call_says_everything() -> None:
    found = parse(f"Sure. {CALL} Bye.")
    (call,) = found.calls
    assert (call.name, call.arguments, call.id, call.source) == ("ping", {"host": "a"}, "c1", "mcps")
    assert (call.repairs, call.error, call.raw) == ([], None, None)
    assert (found.text, found.format) == ("Sure.  Bye.", "hermes")
    assert call.arguments is call.arguments
    assert call.to_dict() == {
        "name": "ping",
        "arguments": {"host": "a"},
        "id": "c1",
        "source": "mcps",
        "span": (6, 6 + len(CALL)),
        "repairs": [],
        "error": None,
        "raw": None,
        "certainty": "likely",
    }
    assert repr(call) == """ParsedCall(name="ping", id="c1", arguments={'host': 'a'})"""


@pytest.mark.parametrize("before", ["", "é", "搜索", "🌧️🌧️", "a\ud83d"], ids=ascii)
def test_spans_are_positions_in_the_python_text(before: str) -> None:
    text = f"{before}{CALL}{before}"
    start, end = parse(text).calls[0].span
    assert text[start:end] == CALL


class Text(str):
    """A string that is not exactly one."""


@pytest.mark.parametrize("made", [str, Text, str.encode], ids=["str", "subclass", "bytes"])
@pytest.mark.parametrize("around", ["So: ", "Größe ", "搜索 ", "🌧️ "], ids=ascii)
@pytest.mark.parametrize("repeated", [0, 1, 700])
def test_a_whole_text_gives_what_its_deltas_give(made: Any, around: str, repeated: int) -> None:
    usual = '<tool_call>\n{"name": "go", "arguments": {"to": "a\\n北", "x": [1, 2.5, null]}}\n</tool_call>'
    text = (around + usual + CALL) * repeated + around
    found = parse(made(text))
    stream = StreamParser()
    events = [*stream.feed(text), *stream.finish()]
    assert plain(found.calls) == plain(stream.calls)
    assert (found.text, type(found.text)) == (texts(events), str)
    assert [text[call.span[0] : call.span[1]] for call in found.calls] == [usual, CALL] * repeated


def test_a_text_without_calls_is_not_copied() -> None:
    text = "Nothing to call. " * 1_000
    assert parse(text).text is text
    assert type(parse(Text(text)).text) is str
    assert [parse(text).text for text in ("", "搜索 < 5", "a\ud83d")] == ["", "搜索 < 5", "a\ufffd"]


def test_what_cannot_be_read_is_an_entry_and_no_exception() -> None:
    text = "<tool_call>{oops!}</tool_call>"
    (call,) = parse(text).calls
    assert call.error == 'The call cannot be read: there is no colon after the key "oops".'
    assert (call.name, call.arguments, call.raw) == ("", {}, text)
    assert "error=" in repr(call)


@given(st.text() | st.binary())
def test_no_text_raises(text: str | bytes) -> None:
    found = parse(text)
    assert isinstance(found.text, str)
    stream = StreamParser()
    assert texts(stream.feed(text) + stream.finish()) == found.text


class Message:
    """As the packages of the APIs have them."""

    def model_dump(self) -> dict[str, Any]:
        return {"role": "assistant", "content": "Hi", "tool_calls": [FUNCTION]}


@pytest.mark.parametrize(
    ("native", "format"),
    [
        ({"role": "assistant", "content": "Hi", "tool_calls": [FUNCTION]}, "openai"),
        (Message(), "openai"),
        (
            [
                {"type": "text", "text": "Hi"},
                {"type": "tool_use", "id": "c1", "name": "ping", "input": {"host": "a"}},
            ],
            "anthropic",
        ),
        (
            {
                "parts": [
                    {"text": "Hi"},
                    {"functionCall": {"id": "c1", "name": "ping", "args": {"host": "a"}}},
                ]
            },
            "gemini",
        ),
    ],
)
def test_structures_of_the_apis(native: Any, format: str) -> None:
    found = parse(native)
    (call,) = found.calls
    assert (call.name, call.arguments, call.id, call.span) == ("ping", {"host": "a"}, "c1", (0, 0))
    assert (found.text, found.format) == ("Hi", format)


def test_tools_give_values_their_types() -> None:
    text = "<tool_call><function=add><parameter=a>5</parameter></function></tool_call>"
    tools = [{"name": "add", "parameters": {"properties": {"a": {"type": "integer"}}}}]
    assert parse(text).calls[0].arguments == {"a": "5"}
    assert parse(text, "qwen3_coder", tools).calls[0].arguments == {"a": 5}
    stream = StreamParser(tools=tools, reasoning="closed")
    stream.feed(text)
    assert stream.calls[0].arguments == {"a": 5}


def test_wrong_use_is_reported() -> None:
    with pytest.raises(ValueError, match='There is no format "klingon"; use "auto" or one of: hermes, '):
        parse("x", "klingon")
    with pytest.raises(ValueError, match="each of the tools must have a name"):
        parse("x", tools=[{}])
    for wrong in (5, None, 1.5):
        with pytest.raises(TypeError, match=r"parse\(\) takes a text or a message of a chat API, got"):
            parse(wrong)
        with pytest.raises(TypeError, match=r"feed\(\) takes str or bytes, got"):
            StreamParser().feed(wrong)  # pyright: ignore[reportArgumentType]


def test_the_events_of_a_stream() -> None:
    stream = StreamParser("hermes", reasoning="closed")
    assert stream.feed("Sure. <tool_") == [{"type": "text", "text": "Sure. "}]
    assert stream.feed('call>{"name": "a", "arguments": {"x": 1') == []
    assert stream.feed("}}") == [
        {"type": "call_start", "index": 0, "name": "a"},
        {"type": "args_delta", "index": 0, "delta": '{"x":1}'},
        {"type": "call_end", "index": 0},
    ]
    assert stream.feed("</tool_call>\n<tool_call>{!}</tool_call>")[1:] == [
        {"type": "call_error", "index": 1, "error": 'The call cannot be read: there is no key at "!}".'}
    ]
    assert stream.finish() == []
    assert [call.error is None for call in stream.calls] == [True, False]
    assert stream.format == "hermes"
    assert stream.feed("after the end") == stream.finish() == []


def test_the_calls_of_a_stream_keep_their_identity() -> None:
    stream = StreamParser(reasoning="closed")
    seen: list[ParsedCall] = []
    for _ in range(20):
        stream.feed(CALL)
        calls = stream.calls
        assert all(new is old for new, old in zip(calls, seen, strict=False))
        seen = calls[:-1]
    stream.finish()
    whole = parse(CALL * 20)
    assert plain(stream.calls) == plain(whole.calls)


def test_bytes_may_be_cut_inside_a_character() -> None:
    text = f"é🌧️ {CALL} 搜索"
    stream = StreamParser()
    events: list[dict[str, Any]] = []
    for byte in text.encode():
        events += stream.feed(bytes([byte]))
    assert texts(events + stream.finish()) == parse(text).text
    assert plain(stream.calls) == plain(parse(text).calls)


def test_a_cycle_through_the_arguments_is_collected() -> None:
    class Canary:
        pass

    call = parse(CALL).calls[0]
    canary = Canary()
    call.arguments["self"] = [call, canary]
    gone = weakref.ref(canary)
    del call, canary
    gc.collect()
    assert gone() is None


def test_names() -> None:
    assert {"hermes", "qwen3_coder", "react"} < set(formats())
    assert toolhub.ParseResult is type(parse(""))


@pytest.mark.parametrize("entry", ["ping", 5, [], {}, {"id": "c1", "type": "function"}])
def test_an_entry_that_is_no_call_is_reported(entry):
    found = toolhub.parse({"role": "assistant", "content": "Hi", "tool_calls": [FUNCTION, entry, None]})
    assert [call.error for call in found.calls] == [None, "A tool call must be an object with a function."]


class Part(BaseModel):
    """As the package of Gemini has it: with bytes."""

    text: str | None = None
    function_call: dict[str, Any] | None = None
    thought_signature: bytes | None = None


def test_objects_of_other_packages_are_their_attributes() -> None:
    function = Object(name="ping", arguments='{"host": "a"}')
    message = Object(
        role="assistant", content=None, tool_calls=[Object(id="c1", function=function)], _raw=b""
    )
    for shape in (message, Object(choices=[Object(message=message)]), [message], message.tool_calls[0]):
        found = parse(shape)
        assert (found.calls[0].arguments, found.calls[0].id, found.format) == ({"host": "a"}, "c1", "openai")
    blocks = [
        Object(type="text", text="Hi"),
        Object(type="tool_use", id="t", name="ping", input={"host": "a"}),
    ]
    found = parse(Object(role="assistant", content=blocks))
    assert (found.text, found.calls[0].id, found.format) == ("Hi", "t", "anthropic")
    call = {"name": "ping", "args": {"host": "a"}, "id": None}
    found = parse(Object(parts=[Part(text="Hi", thought_signature=b"\x01"), Part(function_call=call)]))
    assert (found.text, found.calls[0].arguments, found.format) == ("Hi", {"host": "a"}, "gemini")


def test_objects_that_lead_back_to_themselves_are_refused() -> None:
    ring = Object(role="assistant")
    ring.content = [ring]
    with pytest.raises(TypeError, match="nested"):
        parse(ring)


def test_a_call_of_an_api_that_cannot_be_read_has_its_text() -> None:
    broken = {**FUNCTION, "function": {"name": "ping", "arguments": '{"host": '}}
    (call,) = parse({"tool_calls": [broken]}, format="openai").calls
    assert call.error is not None
    assert json.loads(str(call.raw)) == broken


def test_the_tools_of_a_hub_give_values_their_types() -> None:
    hub = toolhub.ToolHub()

    @hub.tool
    def add(a: int) -> int:
        return a

    text = "<tool_call><function=add><parameter=a>5</parameter></function></tool_call>"
    for tools in (hub.tools(), hub.as_openai(), hub.as_anthropic(), hub.as_gemini(), iter(hub.as_openai())):
        assert parse(text, tools=tools).calls[0].arguments == {"a": 5}
    stream = StreamParser(tools=hub.tools(), reasoning="closed")
    stream.feed(text)
    assert stream.calls[0].arguments == {"a": 5}
    with pytest.raises(ValueError, match="each of the tools must be a description"):
        parse(text, tools=["add"])
