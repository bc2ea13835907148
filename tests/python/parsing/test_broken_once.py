"""A call that cannot be read is reported once: in the parse result, in the results of `run`, in events and in logs."""

import logging
from typing import Any

import hypothesis
import pytest
from hypothesis import settings
from hypothesis import strategies as st

import toolhub
from parsing.writers import LITERAL, QUOTED
from toolhub import ToolHub
from toolhub.parsing import StreamParser

pytestmark = pytest.mark.anyio

GOOD = '<tool_call>{"name": "t", "arguments": {"a": 1}}</tool_call>'
BAD = '{"a": nope nope}'
CALL = f'{{"name": "t", "arguments": {BAD}}}'
BROKEN = {
    "tags": f"<tool_call>{CALL}</tool_call>",
    "two words for it": f'<tool_call>{{"tool_name": "t", "parameters": {BAD}}}</tool_call>',
    "no end": f"<tool_call>{CALL}",
    "cut": '<tool_call>{"name": "t", "arguments": {"a": "x',
    "twice opened": f"<tool_call>\n<tool_call>{CALL}</tool_call>",
    "in a fence": f"```json\n<tool_call>{CALL}</tool_call>\n```",
    "mistral": f"[TOOL_CALLS][{CALL}]",
    "mistral v11": f"[TOOL_CALLS]t[ARGS]{BAD}",
    "llama": f'<|python_tag|>{{"name": "t", "parameters": {BAD}}}',
    "deepseek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>t\n```json\n"
    f"{BAD}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek v3.1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>t<｜tool▁sep｜>"
    f"{BAD}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.t:0<|tool_call_argument_begin|>"
    f"{BAD}<|tool_call_end|><|tool_calls_section_end|>",
    "mistral, a bracket too many": '[TOOL_CALLS] [{}"name": "t", "arguments": {"a": 1}}',
    "mistral, no name": '[TOOL_CALLS][ARGS]{"a": 1}',
    "apertus, a bracket too many": '<|tools_prefix|>[{"t":] {"a": 1}}]<|tools_suffix|>',
    "apertus, a list and no end": '<|tools_prefix|>[{"t":[} …',
    "mistral, a bracket before the arguments": '[TOOL_CALLS] [{"name": "t", }arguments": {"a": 1}}]',
    "mistral, no objects": '[TOOL_CALLS] ["t", "t"]',
    "cohere, a quote too many": '<|START_ACTION|>[ "  {"tool_call_id": "0", "tool_name": "t", '
    '"parameters": {"a": 1}}]<|END_ACTION|>',
    "granite": f"<|tool_call|>[{CALL}]",
    "functionary": f"<function=t>{BAD}</function>",
    "gpt-oss": f"<|channel|>commentary to=functions.t <|constrain|>json<|message|>{BAD}<|call|>",
}
MESSAGES: dict[str, Any] = {
    **BROKEN,
    "openai": {
        "role": "assistant",
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "t", "arguments": BAD}}],
    },
    "responses": [{"type": "function_call", "call_id": "1", "name": "t", "arguments": BAD}],
    "anthropic": [{"type": "tool_use", "id": "1", "name": "t", "input": BAD}],
    "gemini": {"parts": [{"functionCall": {"name": "t", "args": BAD}}]},
}


def noting() -> tuple[ToolHub, list[Any]]:
    hub, ran = ToolHub(), []
    hub.register(lambda a: ran.append(a), name="t", read_only=True)
    return hub, ran


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("step", [1, 3, 10_000])
def test_a_broken_call_is_found_once_whole_and_streamed(kind: str, step: int) -> None:
    text = BROKEN[kind]
    whole = toolhub.parse(text)
    assert [bool(call.error) for call in whole.calls] == [True], whole
    parser, parts = StreamParser(), []
    for at in range(0, len(text), step):
        parts += parser.feed(text[at : at + step])
    parts += parser.finish()
    broken = [part for part in parts if part.get("error") or getattr(part.get("call"), "error", None)]
    assert len(broken) == 1, parts


WRITERS = {**QUOTED, **LITERAL}
ARGUMENTS = st.sampled_from([{"a": "x y"}, {"a": [1, {"b": 2}]}, {"a": {"b": "c"}, "d": "e"}])


@pytest.mark.parametrize("format", sorted(WRITERS))
@settings(max_examples=60)
@hypothesis.given(arguments=ARGUMENTS, data=st.data())
def test_damage_to_one_call_is_reported_at_most_once(
    format: str, arguments: dict[str, Any], data: st.DataObject
) -> None:
    text = WRITERS[format]([("t", arguments)])
    at = data.draw(st.integers(0, len(text)))
    inserted = data.draw(st.sampled_from([*'{}[]",: x\n', ""]))
    removed = data.draw(st.integers(0, 2))
    rest = data.draw(st.sampled_from([text[at + removed :], text[at + removed :], ""]))
    for asked in (format, "auto"):
        found = toolhub.parse(text[:at] + inserted + rest, asked).calls
        assert sum(call.error is not None for call in found) <= 1, found
        # A call that broke before its arguments must not run without them.
        assert not any(call.error for call in found) or all(call.error or call.arguments for call in found)


@pytest.mark.parametrize("kind", MESSAGES)
async def test_a_broken_call_is_reported_once(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    hub, ran = noting()
    heard: list[Any] = []
    hub.on_event(heard.append)
    with caplog.at_level(logging.INFO, "toolhub"):
        outcome = await hub.run(MESSAGES[kind])
    assert [result.success for result in outcome.results] == [False]
    assert ran == []
    types = [event.type for event in heard]
    assert types.count("parsed") == types.count("finished") + types.count("refused") == 1, types
    logged = [record.getMessage() for record in caplog.records]
    assert sum("finished" in line or "refused" in line for line in logged) == 1, logged
    assert len(outcome.calls) == 1
    shown = str(outcome.messages)
    assert shown.count(str(outcome.results[0].error)[:20]) <= 1, shown


@pytest.mark.parametrize("kind", ["tags", "mistral", "deepseek", "kimi"])
async def test_the_calls_beside_a_broken_one_run_once(kind: str) -> None:
    hub, ran = noting()
    outcome = await hub.run(f"{BROKEN[kind]}\n{GOOD}")
    assert sum(not result.success for result in outcome.results) == 1
    assert ran in ([1], []), "one bad block does not run another twice"


async def test_arguments_of_another_type_are_named_and_between_fences_reported() -> None:
    hub, ran = noting()
    for given, kind in (("[1]", "a list"), ('"[1]"', "a list"), ('"some text"', "a text"), ("5", "a number")):
        call = f'{{"name": "t", "arguments": {given}}}'
        for text in (f"<tool_call>{call}</tool_call>", f"```json\n{call}\n```"):
            (result,) = (await hub.run(text)).results
            assert f"The arguments must be an object, but are {kind}." in result.error, text
        # Without a fence or a tag, and for tools that nobody knows, it is data.
        assert not (await hub.run(f"This is an example: {call}")).results
        other = call.replace('"t"', '"unknown"')
        assert not (await hub.run(f"```json\n{other}\n```")).results
    description = '{"name": "t", "parameters": {"type": "object", "properties": {"a": {}}}}'
    assert not (await hub.run(f"```json\n{description}\n```")).results
    assert not ran
