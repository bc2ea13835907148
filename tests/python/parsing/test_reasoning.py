"""Calls that a model only thought of are text, wherever its reasoning began."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolhub
from toolhub import StreamParser, ToolHub, parse

DELETE = '<tool_call>{"name": "delete_all", "arguments": {}}</tool_call>'
PING = '<tool_call>{"name": "ping", "arguments": {"host": "a"}}</tool_call>'
TAGS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("<|channel>thought", "<channel|>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("◁think▷", "◁/think▷"),
    ("<think:6124c78e>", "</think:6124c78e>"),
    ("<THINK>", "</THINK>"),
    ("<Thought>", "</Thought>"),
    ("<think >", "</think >"),
    ("<scratchpad>", "</scratchpad>"),
    ("<INNER_MONOLOGUE>", "</INNER_MONOLOGUE>"),
    ("<reflection>", "</reflection>"),
    ("<ant_thinking>", "</ant_thinking>"),
    ("[unused16]", "[unused17]"),
    ("<unused94>thought", "<unused95>"),
    ("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),
]
SPELLINGS = [
    DELETE,
    '{"name": "delete_all", "arguments": {}}',
    '```json\n{"name": "delete_all", "arguments": {}}\n```',
    "[delete_all()]",
    "<tool_call>delete_all\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
    "<tool_call><function=delete_all><parameter=a>1</parameter></function></tool_call>",
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.delete_all:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
    "<｜tool▁call▁begin｜>delete_all<｜tool▁sep｜>{}<｜tool▁call▁end｜>",
    "[TOOL_CALLS]delete_all[ARGS]{}",
    "Action: delete_all\nAction Input: {}\nObservation: done",
]


def names(calls: list[toolhub.ParsedCall]) -> list[str]:
    return [call.name for call in calls]


def streamed(text: str, size: int, **options: Any) -> tuple[list[dict[str, Any]], str, str | None]:
    stream = StreamParser(**options)
    events: list[dict[str, Any]] = []
    for at in range(0, len(text), size):
        events += stream.feed(text[at : at + size])
        # What is shown never becomes less.
        shown = [event["index"] for event in events if event["type"] in ("call_start", "call_error")]
        assert [*range(len(stream.calls))] == shown
    events += stream.finish()
    around = "".join(event["text"] for event in events if event["type"] == "text")
    return [call.to_dict() for call in stream.calls], around, stream.format


def both(text: str, **options: Any) -> toolhub.ParseResult:
    """The text parsed as a whole, which is what a stream of any deltas gives."""
    found = parse(text, **options)
    whole = ([call.to_dict() for call in found.calls], found.text, found.format)
    for size in (1, 7, 64):
        assert streamed(text, size, **options) == whole
    return found


@pytest.mark.parametrize(("open", "close"), TAGS)
@pytest.mark.parametrize("before", ["", "Hm. ", "\n"])
def test_a_lone_closing_tag_ends_the_reasoning(open: str, close: str, before: str) -> None:
    found = both(f"{before}I could {DELETE}.\nNo.{close}\n{PING}")
    assert names(found.calls) == ["ping"]
    assert found.calls[0].id == "call_1"
    assert found.text == f"{before}I could {DELETE}.\nNo.{close}\n"
    assert both(f"I could {DELETE}, no.{close}Nothing to do.").calls == []
    assert names(both(f"{open}I could {DELETE}.{close}{PING}").calls) == ["ping"]


@pytest.mark.parametrize("thought", SPELLINGS)
def test_it_does_not_matter_how_a_thought_is_spelt(thought: str) -> None:
    assert names(both(f"Maybe\n{thought}\nor not.</think>{PING}").calls) == ["ping"]
    assert both(f"Maybe\n{thought}\nor not.</think>").calls == []
    assert both(f"Maybe\n{thought}\nor not.</think>{PING}", reasoning="open").calls[0].name == "ping"
    assert both(f"Maybe\n{thought}", reasoning="open").calls == []


@pytest.mark.parametrize(
    "broken",
    [
        '<tool_call>{"name": "delete_all", "arguments": {',
        '<tool_call>{"name": "delete_all", "arguments": {"a": "b',
        "<tool_call><function=delete_all><parameter=a>and so on",
        "<tool_call>delete_all<arg_key>a</arg_key><arg_value>and so on",
    ],
)
def test_a_thought_that_breaks_off_takes_no_call_with_it(broken: str) -> None:
    real = "<tool_call><function=ping><parameter=host>a</parameter></function></tool_call>"
    assert "delete_all" not in names(both(f"{DELETE} {broken}</think>{PING}").calls)
    assert "delete_all" not in names(both(f"{broken}</think>{real}").calls)


def test_the_tag_in_quotes_is_only_mentioned() -> None:
    for mention in ("`</think>`", '"</think>"', "(</think>)"):
        assert names(both(f"{PING} Then write {mention}.").calls) == ["ping"]
    inside = '<tool_call>{"name": "note", "arguments": {"text": "a</think>b"}}</tool_call>'
    assert both(inside).calls[0].arguments == {"text": "a</think>b"}


def test_reasoning_in_the_middle_of_a_line() -> None:
    assert names(both(f"{PING} <think>or {DELETE}?</think> Done.").calls) == ["ping"]
    assert names(both(f"Sure, <think>or {DELETE}?</think> {PING}", reasoning="closed").calls) == ["ping"]
    assert names(both(f"The tag <think> is not closed. {PING}").calls) == ["ping"]


@pytest.mark.parametrize("mode", ["auto", "open"])
@pytest.mark.parametrize(
    "text",
    [
        "Hm.\n</think>\nMaybe {}? No, too rash.\n</think>\n",
        "Hm.</think>{}</think>",
        "<think>Hm.</think> Maybe {}? No.</think>",
        "<think>Hm. <think>Or</think> {}? No.</think>",
        "<think>\n<think>\na</think>\n{}\n</think>\n",
        "The template is:\n```jinja\n</think>\n```\nMaybe {}? No.\n</think>\n",
        "Then </think> follows. Maybe {}? No.\n[/THINK]\n",
        "<think:a>Hm.</think> Maybe {}? No.</think:a>",
        "Well, <think>a</think> {}? No.</think>",
    ],
)
def test_everything_before_the_last_closing_tag_was_thought(text: str, mode: Any) -> None:
    thought = text.replace("{}", DELETE)
    assert both(f"{thought}I will not.", reasoning=mode).calls == []
    assert names(both(thought + PING, reasoning=mode).calls) == ["ping"]
    assert names(both(f"{thought}Now: {PING} {PING}", reasoning=mode).calls) == ["ping", "ping"]


def test_reasoning_between_calls_takes_none_with_it() -> None:
    for between in ("\n<think>or {}?</think>\n", " <think>or {}?</think> ", "\n<THINK>or {}?</THINK >\n"):
        text = f"<think>a</think>{PING}{between.replace('{}', DELETE)}{PING}"
        assert names(both(text).calls) == ["ping", "ping"]
    assert names(both(f"{PING}</think>", reasoning="closed").calls) == ["ping"]
    for word in (
        "Here is my thought process: first",
        "The tag <scratchpad> opens",
        "The tag <thinking> opens",
    ):
        text = f"{word}.\n{PING} <think>or {DELETE}?</think> {PING}"
        assert names(both(text).calls) == ["ping", "ping"]
        assert names(both(text, reasoning="closed").calls) == ["ping", "ping"]
    nested = f"{PING} <scratchpad>a <think>b {DELETE}</think> {DELETE}</scratchpad> {PING}"
    assert names(both(nested).calls) == ["ping", "ping"]


HY = "<tool_calls{0}><tool_call{0}>{1}<arg_key{0}>a</arg_key{0}><arg_value{0}>/</arg_value{0}></tool_call{0}></tool_calls{0}>"


@pytest.mark.parametrize("format", ["auto", "hunyuan"])
@pytest.mark.parametrize("suffix", [":6124c78e", ":opensource", ":a.b-c_1"])
def test_the_tags_of_hunyuan_have_a_suffix(format: str, suffix: str) -> None:
    thought, real = HY.format(suffix, "delete_all"), HY.format(suffix, "ping")
    options = {"format": format}
    for before in (f"<think{suffix}>", "", "Well. "):
        assert both(f"{before}Maybe {thought}? No.</think{suffix}>I will not.", **options).calls == []
        text = f"{before}Maybe {thought}? No.</think{suffix}>{real}"
        assert names(both(text, **options).calls) == ["ping"]
    assert names(both(f"Maybe.</think{suffix}>{real}", reasoning="open", **options).calls) == ["ping"]
    assert both(f"Maybe {thought}", reasoning="open", **options).calls == []


def test_what_only_begins_like_a_tag_is_text() -> None:
    for text in (
        "</thinker>",
        "</think:>",
        "</think tank>",
        "</think/>",
        "</thinks>",
        "<think:>",
        "</think:a b>",
    ):
        assert names(both(f"{PING} {text} and so on.").calls) == ["ping"], text
        assert names(both(f"a{text}{PING}", reasoning="open").calls) == [], text


def test_the_words_of_granite() -> None:
    for said in ("Here is", "Here's"):
        thought = f"{said} my thought process: maybe {DELETE}? No. {said} my response: "
        assert both(f"{thought}I will not.").calls == []
        assert names(both(f"{thought}{PING}").calls) == ["ping"]
        # The same words of another model.
        assert names(both(f"{said} my thought process: first this.\n{PING}").calls) == ["ping"]
        assert names(both(f"{PING}\n{said} my response: done.").calls) == ["ping"]
    assert names(both(f"Here are my reasoning steps:\n1. ask.\n{PING}").calls) == ["ping"]


def test_gpt_oss_whose_tokens_were_dropped() -> None:
    for next in ("assistantfinal", "assistantcommentary"):
        assert both(f"analysisMaybe {DELETE}? No.{next}I will not.").calls == []
        assert both(f"analysisWe could {DELETE}").calls == []
        assert names(both(f"analysis用户 {DELETE}? No.{next}{PING}").calls) == ["ping"]
        assert names(both(f"We could {DELETE}? No.{next}{PING}", reasoning="open").calls) == ["ping"]
    assert names(both(f"analysis of it: {PING}").calls) == ["ping"]
    assert names(both(f"analysis\n{PING}").calls) == ["ping"]


@pytest.mark.parametrize("format", ["auto", "inkling"])
def test_the_messages_of_inkling_say_what_they_are(format: str) -> None:
    end, kind = "<|end_message|>", "<|message_model|><|content_{}|>".format
    json_call = '<|content_invoke_tool_json|>{"name":"%s","args":{}}<|end_message|>'
    real = "<|message_model|>ping" + json_call % "ping"
    for before in (kind("thinking"), "<|content_thinking|>"):
        text = f"{before}Maybe {DELETE}?{end}{kind('text')}I will not.{end}"
        found = both(text, format=format)
        assert (found.calls, found.text) == ([], "I will not.")
        assert names(both(f"{before}Maybe {DELETE}?{end}{real}", format=format).calls) == ["ping"]
        # It may call without closing its reasoning.
        assert names(both(f"{before}Then{json_call % 'ping'}", format=format).calls) == ["ping"]
    text = f"Maybe {DELETE}?{end}{kind('text')}I will not.{end}"
    assert both(text, format=format).calls == []
    assert names(both(f"{real}{kind('text')}Done.{end}{real}", format=format).calls) == ["ping", "ping"]


def test_special_tokens_end_reasoning_that_is_not_closed() -> None:
    horizon = (
        '<ifm|tool_calls><ifm|tool_call>{"name": "ping", "arguments": {}}</ifm|tool_call></ifm|tool_calls>'
    )
    solar = "<|tool_call:start|>ping\n<|tool_call:end|>"
    for open, close, call in (
        ("<ifm|think_fast>", "</ifm|think_fast>", horizon),
        ("<|think:start|>", "<|think:end|>", solar),
    ):
        assert names(both(f"{open}I need it.{call}").calls) == ["ping"]
        assert both(f"{open}I need it.{call} No.{close}Done.").calls == []
    # The tags of others may be quoted in reasoning.
    assert both(f"<think>I need it.\n{PING}").calls == []


def test_gpt_oss_that_began_in_its_analysis() -> None:
    call = "<|start|>assistant<|channel|>commentary to=functions.ping<|message|>{}<|call|>"
    text = f'We could {{"name": "delete_all", "arguments": {{}}}}.<|end|>{call}'
    for options in ({}, {"format": "harmony"}, {"reasoning": "open"}):
        assert names(both(text, **options).calls) == ["ping"]
    # The same token ends a turn of other models.
    ended = '<|tool_call|>[{"name": "ping", "arguments": {}}]<|/tool_call|><|end|>'
    assert names(both(ended).calls) == ["ping"]


def test_when_the_events_come() -> None:
    stream = StreamParser()
    assert stream.feed(f"Hm. {PING}") == [{"type": "text", "text": "Hm. "}]
    assert stream.feed(" and more") == []
    assert stream.calls == []
    assert stream.format is None
    kinds = [event["type"] for event in stream.finish()]
    assert kinds == ["call_start", "args_delta", "call_end", "text"]

    for options, start in (
        ({"reasoning": "closed"}, ""),
        ({"reasoning": "closed"}, "<think>hm</think>"),
        ({"format": "mistral_json"}, ""),
    ):
        stream = StreamParser(**options)  # pyright: ignore[reportArgumentType]
        stream.feed(start)
        call = '[TOOL_CALLS] [{"name": "ping", "arguments": {}}]' if "format" in options else PING
        assert [event["type"] for event in stream.feed(call)][:1] == ["call_start"], options


def test_wrong_use_is_reported() -> None:
    wrong: Any = "yes"
    said = 'reasoning must be "auto", "open" or "closed", got "yes"'
    with pytest.raises(ValueError, match=said):
        parse("", reasoning=wrong)
    with pytest.raises(ValueError, match=said):
        StreamParser(reasoning=wrong)
    with pytest.raises(ValueError, match=said):
        ToolHub().run_sync("", reasoning=wrong)


@pytest.mark.parametrize("thought", SPELLINGS)
def test_run_never_makes_a_call_out_of_reasoning(thought: str) -> None:
    hub = ToolHub()
    deleted: list[int] = []

    @hub.tool
    def delete_all(a: int = 0) -> str:
        deleted.append(a)
        return "gone"

    @hub.tool
    def ping(host: str) -> str:
        return f"{host} is up"

    async def main() -> None:
        for text in (
            f"I could\n{thought}\nbut no.</think>{PING}",
            f"<think>I could\n{thought}\nbut no.</think>{PING}",
            f"Well, <think>I could\n{thought}\nbut no.</think>{PING}",
        ):
            outcome = await hub.run(text)
            assert [result.result for result in outcome.results] == ["a is up"], text
            message = {"role": "assistant", "content": text}
            assert [result.result for result in (await hub.run(message)).results] == ["a is up"]
        assert not await hub.run(f"I could\n{thought}", reasoning="open")

    asyncio.run(main())
    assert deleted == []


PIECES = [
    DELETE,
    PING,
    *SPELLINGS,
    *[tag for pair in [*TAGS[:3], *TAGS[8:12]] for tag in pair],
    "Here is my thought process:",
    "Here is my response:",
    "analysis",
    "assistantfinal",
    "<|content_thinking|>",
    "<|end_message|><|message_model|>",
    "`",
    "\n",
    " ",
    "words",
    '<tool_call>{"name": "a',
    "<|end|>",
    "<|start|>",
    "<|channel|>analysis<|message|>",
]


@settings(max_examples=150)
@given(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.sampled_from(["auto", "open", "closed"]),
    st.integers(1, 40),
)
def test_every_way_of_cutting_gives_the_same(text: str, mode: Any, size: int) -> None:
    found = parse(text, reasoning=mode)
    whole = ([call.to_dict() for call in found.calls], found.text, found.format)
    assert streamed(text, size, reasoning=mode) == whole


def test_a_sound_call_may_quote_closing_tags_and_calls() -> None:
    quoted = {"rows": [{"text": "<tool_call> </think>"}, {"text": "<tool_call> </think>"}]}
    text = "<tool_call>\n" + json.dumps({"name": "note", "arguments": quoted}) + "\n</tool_call>"
    for format in ("hermes", "auto"):
        found = toolhub.parse(text, format)
        assert [(call.name, call.arguments, call.error) for call in found.calls] == [("note", quoted, None)]
