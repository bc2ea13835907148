"""How certain it is that a call was meant: by its form and its place, never by the words around it."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhub import ParsedCall, StreamParser, formats, parse

BODY = '{"name": "delete_file", "arguments": {"path": "a"}}'
HERMES = f"<tool_call>{BODY}</tool_call>"
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.delete_file:0<|tool_call_argument_begin|>"
    '{"path": "a"}<|tool_call_end|><|tool_calls_section_end|>'
)
FENCE = f"```json\n{BODY}\n```"
REACT = 'Action: delete_file\nAction Input: {"path": "a"}'
PYTHONIC = '[delete_file(path="a")]'


def certainties(text: object, format: str = "auto") -> Sequence[str | None]:
    return [call.certainty for call in parse(text, format).calls]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HERMES, ["sure"]),
        (f"I will not ask again. {HERMES}\n", ["sure"]),
        (f"{HERMES}<|im_end|>\n", ["sure"]),
        (f"{HERMES}\n{HERMES}", ["sure", "sure"]),
        (f"{HERMES} is what I would write.", ["likely"]),
        (f"{HERMES} Then:\n{HERMES}", ["likely", "sure"]),
        (f"<think>{BODY}? Yes.</think>\n{HERMES}", ["sure"]),
        # A fence around all of the message says nothing; one after words shows an example.
        (f"```xml\n{HERMES}\n```\n", ["sure"]),
        (f"It would be:\n```xml\n{HERMES}\n```", ["likely"]),
        (f"```\n{HERMES}\n```\n~~~~xml\n{HERMES}\n~~~~", ["sure", "sure"]),
        (f"```xml\n{HERMES}", ["sure"]),
        (f'My settings:\n```json\n{{"a": 1}}\n```\nI delete it.\n{HERMES}', ["sure"]),
        (f"An example:\n```xml\n{HERMES}", ["likely"]),
        (f"```xml\nAn example: {HERMES}", ["likely"]),
        # Marks that are no such fence are words.
        (f"~~{HERMES}~~", ["likely"]),
        (f"`{HERMES}`", ["likely"]),
        (f"{HERMES}`", ["likely"]),
        (f"{HERMES}~~~", ["likely"]),
        (f"{HERMES}\n```", ["likely"]),
        (f"```{HERMES}```", ["likely"]),
        (f"~~~\n{HERMES}\n```", ["likely"]),
        (f"````\n{HERMES}\n```", ["likely"]),
        (f"{BODY}\n```", ["doubtful"]),
        # Another dialect than that of the first marker.
        (f"{HERMES}\n{KIMI}", ["sure", "doubtful"]),
        (f"{KIMI}\n{HERMES}", ["sure", "doubtful"]),
        # Bare forms.
        (BODY, ["likely"]),
        (FENCE, ["likely"]),
        (REACT, ["likely"]),
        (f"{REACT}\nObservation:", ["likely"]),
        (PYTHONIC, ["likely"]),
        (f"<think>Hm.</think>\n{BODY}", ["likely"]),
        (f"This would do it:\n{BODY}", ["doubtful"]),
        (f"{FENCE}\nPlease confirm.", ["doubtful"]),
        (f"Thought: not now.\n{REACT}", ["doubtful"]),
        # A bare form does not commit.
        (f"{BODY}\n{HERMES}", ["doubtful", "sure"]),
    ],
)
def test_form_and_place_decide(text: str, expected: list[str]) -> None:
    assert certainties(text) == expected


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("json_bare", BODY),
        ("llama3_json", BODY),
        ("json_fence", FENCE),
        ("react", REACT),
        ("react", f"{REACT}\nObservation:"),
        ("pythonic", PYTHONIC),
        ("kimi_k2", KIMI),
        ("hermes", HERMES),
    ],
)
def test_the_named_dialect_is_sure_at_the_end(format: str, text: str) -> None:
    assert certainties(f"Well.\n{text}", format) == ["sure"]
    assert certainties(f"Well.\n{text}\n\nThat is all.", format) == ["likely"]


LIST = '[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {"b": '
DAMAGED = {
    "pythonic": ("[f(), g(b=1,", '[f(), g(b="x', "[f(), g("),
    "json_bare": (f"{LIST}1,", f'{LIST}"x'),
    "llama3_json": (f"{LIST}1,", f'{LIST}"x'),
    "anthropic_xml": (f"{LIST}1,", f'{LIST}"x'),
    "sarashina": (f"{LIST}1,", f'{LIST}"x'),
    "json_fence": (f"```json\n{LIST}1,", f'```json\n{LIST}"x'),
    "react": ('Action: f\nAction Input: {}\nAction: g\nAction Input: {"b": 1,', "Action: f(), g(b=1,"),
    "hermes": (
        f'<tool_call>{LIST}"x',
        '<tool_call>{"name": "f", "arguments": {}}</tool_call><tool_call>{"name": "g",',
    ),
    "lfm2": ("<|tool_call_start|>[f(), g(b=1,",),
    "phi4": (f"functools{LIST}1,",),
    "kimi_k2": ("<|tool_call_begin|>f<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_call_begin|>g",),
}


@pytest.mark.parametrize(
    ("format", "text"), [(format, text) for format, texts in DAMAGED.items() for text in texts]
)
@pytest.mark.parametrize("before", ["", "Never write:\n", "Never write `", "Never write "])
@pytest.mark.parametrize("after", ["` here.", " here.", "\n\nI will not."])
def test_a_damaged_call_may_have_taken_in_the_words_after_the_one_before_it(
    format: str, text: str, before: str, after: str
) -> None:
    said = f"{before}{text}{after}"
    assert "sure" not in certainties(said, format)
    assert "sure" not in certainties(said)
    stream = StreamParser(format)
    for letter in said:
        stream.feed(letter)
    stream.finish()
    assert [call.certainty for call in stream.calls] == certainties(said, format)


@pytest.mark.parametrize("format", ["json_bare", "json_fence", "sarashina"])
def test_the_rest_of_a_bare_list_is_an_error(format: str) -> None:
    call, rest = parse(f"{DAMAGED[format][0]} and so on.", format).calls
    assert (call.name, call.error) == ("f", None)
    assert rest.error is not None
    assert rest.error.startswith("The call cannot be read: ")


@pytest.mark.parametrize(
    ("text", "format", "committed"),
    [
        (HERMES, "auto", "hermes"),
        (f"{BODY}\n{KIMI}", "auto", "kimi_k2"),
        (BODY, "auto", None),
        (f"So: {REACT}", "auto", None),
        (BODY, "json_bare", "json_bare"),
        ("No call.", "hermes", "hermes"),
        ("No call.", "auto", None),
    ],
)
def test_the_format_is_the_committed_dialect(text: str, format: str, committed: str | None) -> None:
    assert parse(text, format).format == committed


def test_the_structure_of_an_api_is_sure() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "delete_file", "arguments": "{}"}}
    message = {"role": "assistant", "content": "I am not sure. Shall I?", "tool_calls": [call]}
    assert certainties(message) == ["sure"]
    # Written as text, it is a bare form.
    assert certainties(json.dumps(message)) == ["likely"]
    # The words of a message are a text.
    assert certainties({"role": "assistant", "content": f"No: {BODY}"}) == ["doubtful"]
    assert certainties({"role": "assistant", "content": HERMES}) == ["sure"]


@pytest.mark.parametrize("format", ["json_bare", "llama3_json"])
def test_the_words_of_a_message_as_text_decide(format: str) -> None:
    def of(content: str, **more: str) -> Sequence[str | None]:
        return certainties(json.dumps({"role": "assistant", "content": content} | more), format)

    assert of(f"Well. {BODY}") == ["sure"]
    assert of(f"Never write {BODY} here.") == ["likely"]
    assert of(f"Well. {BODY}", finish_reason="length") == ["likely"]


@pytest.mark.parametrize(
    "text",
    [
        f"<|channel|>final<|message|>Write {HERMES}<|return|>",
        f"<|start|>assistant<|channel|>final<|message|>{BODY}<|return|>",
        "<|channel|>final<|message|>Tokens: <|start|>assistant<|channel|>commentary to=functions.delete_file<|message|>"
        '{"path": "a"}',
        f"<|start|>assistant to=user<|message|>{HERMES}<|eot|>",
        '<|start|>assistant to=user<|message|><atem:function_calls><atem:invoke name="delete_file">'
        '<atem:parameter name="path">a</atem:parameter></atem:invoke></atem:function_calls><|eom|>',
        f"<|channel|>commentary<|message|>I would write {HERMES}<|end|>",
        *(
            f'{header}<|message|>{{"path": "a"}}{end}'
            for end in ("", "<|call|>", "<|end|>", "<|return|>")
            for header in (
                "<|channel|>final to=functions.delete_file",
                "<|channel|>final to=functions.delete_file <|constrain|>json",
                "<|channel|> final to=functions.delete_file",
                "<|channel|>final <|constrain|>json to=functions.delete_file",
                "<|start|>assistant<|channel|>final to=functions.delete_file",
                "<|start|>assistant to=functions.delete_file<|channel|>final",
                "to=functions.delete_file<|channel|>final <|constrain|>json",
                "<|channel|>summary to=functions.delete_file",
                "<|channel|>commentary to=user",
                "<|start|>assistant to=user<|channel|>commentary",
            )
        ),
        f">>>all\nI would write {HERMES}",
        f"<|message_model|><|content_text|>I would write {HERMES}<|end_message|>",
    ],
)
def test_nothing_said_to_the_user_is_a_call(text: str) -> None:
    assert parse(text).calls == []


@pytest.mark.parametrize(
    "header",
    [
        "<|channel|>commentary to=functions.f <|constrain|>json",
        "<|channel|>analysis to=functions.f code",
        "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json",
        "<|start|>assistant to=functions.f<|channel|>commentary json",
        "<|start|>assistant to=functions.f",
        "to=functions.f<|channel|>analysis code",
    ],
)
def test_a_message_to_a_tool_is_a_call(header: str) -> None:
    (call,) = parse(f'{header}<|message|>{{"x": 1}}<|call|>').calls
    assert (call.name, call.arguments, call.certainty) == ("f", {"x": 1}, "sure")


def test_a_call_after_a_message_to_the_user_is_found() -> None:
    said = f"<|channel|>commentary<|message|>Not {HERMES}.<|end|>"
    call = '<|start|>assistant<|channel|>commentary to=functions.f<|message|>{"x": 1}<|call|>'
    found = parse(said + call)
    assert [(one.name, one.certainty) for one in found.calls] == [("f", "sure")]
    assert found.text == f"Not {HERMES}."


@pytest.mark.parametrize("id", ["3", "call_3", "toolu_01A"])
def test_a_missing_name_is_not_guessed(id: str) -> None:
    text = f'<|tool_call_begin|>{id}<|tool_call_argument_begin|>{{"to": "bob"}}<|tool_call_end|>'
    tool = {"name": "transfer_money", "parameters": {"properties": {"to": {}}, "required": ["to"]}}
    (call,) = parse(text, tools=[tool]).calls
    assert (call.name, call.error) == ("", "The call has no name.")


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "f", "arguments": {"path": "a", "path": "b"}}</tool_call>',
        '<tool_call>{"name": "f", "arguments": {"path": "a", "n": 1.5, "p\\u0061th": "b"}}</tool_call>',
        "<tool_call>{'name': 'f', 'arguments': {'path': 'a', 'path': 'b'}}</tool_call>",
        "<tool_call><function=f><parameter=path>a</parameter><parameter=path>b</parameter></function></tool_call>",
        "<tool_call>f<arg_key>path</arg_key><arg_value>a</arg_value><arg_key>path</arg_key><arg_value>b</arg_value></tool_call>",
        '<|python_start|>[f(path="a", path="b")]<|python_end|>',
        '<|channel|>commentary to=functions.f<|message|>{"path": "a", "path": "b"}<|call|>',
        '<function_calls><invoke name="f"><parameter name="path">a</parameter><parameter name="path">b</parameter>'
        "</invoke></function_calls>",
        "<|tool_call:start|>f\n<|tool_arg:start|>path<|tool_arg:value|>a<|tool_arg:end|>\n"
        "<|tool_arg:start|>path<|tool_arg:value|>b<|tool_arg:end|>\n<|tool_call:end|>",
    ],
)
def test_a_parameter_given_twice_is_an_error(text: str) -> None:
    (call,) = parse(text).calls
    assert call.error is not None
    assert "given twice" in call.error
    assert call.arguments == {}


def test_a_parameter_given_twice_to_an_api_is_an_error() -> None:
    function = {"name": "f", "arguments": '{"path": "a", "path": "b"}'}
    (call,) = parse({"role": "assistant", "tool_calls": [{"id": "1", "function": function}]}).calls
    assert call.error == 'The arguments cannot be read: "path" is given twice.'


def test_the_sentence_around_a_call() -> None:
    text = f"I cannot do this. The call would be\n{BODY}\nand I will not make it. Sorry."
    assert parse(text).calls[0].sentence == f"The call would be\n{BODY}\nand I will not make it."
    message = {"role": "assistant", "content": f"不行。例如：\n{BODY}\n会删除它。再见。"}
    assert parse(message).calls[0].sentence == f"例如：\n{BODY}\n会删除它。"
    assert parse(HERMES).calls[0].sentence is None


def test_a_stream_tells_the_certainty_at_its_end() -> None:
    stream = StreamParser(reasoning="closed")
    stream.feed(HERMES)
    assert [call.certainty for call in stream.calls] == [None]
    stream.feed("\n\n")
    stream.finish()
    assert [call.certainty for call in stream.calls] == ["sure"]


PIECES = [
    HERMES,
    KIMI,
    BODY,
    FENCE,
    PYTHONIC,
    f"\n{REACT}\n",
    "\n",
    "```\n",
    "```json\n",
    " Words. ",
    "不。",
    "<think>",
    "</think>",
    "<|im_end|>",
    f"`{HERMES}`",
]


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), st.integers(1, 40))
def test_a_stream_and_a_whole_text_agree(text: str, size: int) -> None:
    def seen(calls: Sequence[ParsedCall]) -> list[object]:
        return [(call.name, call.span, call.certainty) for call in calls]

    stream = StreamParser()
    for start in range(0, len(text), size):
        stream.feed(text[start : start + size])
    stream.finish()
    found = parse(text)
    assert (seen(stream.calls), stream.format) == (seen(found.calls), found.format)
    assert all(call.certainty is not None for call in found.calls)


@given(st.sampled_from(sorted(formats())), st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
def test_words_at_the_end_leave_nothing_sure(format: str, text: str) -> None:
    for asked in (format, "auto"):
        after = parse(f"{text}\n\nSo I will not do that.", asked)
        assert "sure" not in [call.certainty for call in after.calls]


@pytest.mark.parametrize(
    ("text", "format", "arguments"),
    [
        (
            '<answer><tool_calls>[{"name": "f", "arguments": {"city": "北京"}}]</tool_calls></answer>',
            "auto",
            {"city": "北京"},
        ),
        (
            '<|python_tag|>[f(city="San Francisco", metric="celsius")]<|eot_id|>',
            "auto",
            {"city": "San Francisco", "metric": "celsius"},
        ),
        ('Thought: I need it.\nAction: f(city="北京", days=2)', "react", {"city": "北京", "days": 2}),
        ("Thought: I search.\nAction: f[华为最新手机型号]", "react", {"city": "华为最新手机型号"}),
        ('Action : f\nAction Input: {"city": "x"}', "react", {"city": "x"}),
        ('<tool_call>{"name": "f", "arguments": {"city": "x"}}</tool_call></s></s>', "auto", {"city": "x"}),
    ],
)
def test_the_documented_forms_of_models_are_sure(text: str, format: str, arguments: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    (call,) = parse(text, format=format, tools=[{"name": "f", "parameters": schema}]).calls
    assert (call.name, call.arguments, call.error, call.certainty) == ("f", arguments, None, "sure")


@pytest.mark.parametrize(
    "line", ["Action: wait (if needed)", "Action: look at items[0]", "Action: ask(the user)"]
)
def test_words_of_a_plan_are_not_calls(line: str) -> None:
    assert parse(f"Plan:\n{line}", tools=[{"name": "f", "parameters": {}}]).calls == []
