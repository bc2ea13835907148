"""What families of models write around and inside their calls, and what they get wrong."""

from typing import Any

import pytest

import toolhub

PING = '{"name": "ping", "arguments": {"host": "a"}}'


def made(text: str, format: str = "auto") -> list[tuple[str, dict[str, Any]]]:
    found = toolhub.parse(text, format)
    stream = toolhub.StreamParser(format)
    for character in text:
        stream.feed(character)
    stream.finish()
    assert [call.to_dict() for call in stream.calls] == [call.to_dict() for call in found.calls]
    return [(call.name, call.arguments) for call in found.calls if not call.error]


@pytest.mark.parametrize(
    ("open", "close"),
    [("<|channel>thought\n", "<channel|>"), ("<longcat_think>", "</longcat_think>"), ("[THINK]", "[/THINK]")],
)
def test_no_call_of_the_reasoning_is_made(open: str, close: str) -> None:
    quoted = f"<tool_call>{PING}</tool_call> <|tool_call>call:rm{{}}<tool_call|>"
    text = f"{open}Perhaps {quoted}? No.{close}<|tool_call>call:add{{a:1}}<tool_call|>"
    assert made(text) == [("add", {"a": 1})]


def test_what_goes_to_the_model_is_no_call() -> None:
    invented = (
        "<|start|>functions.ping to=assistant<|channel|>commentary<|message|>"
        '{"up": true}<|end|><|start|>assistant<|channel|>final<|message|>It is up.'
    )
    for format in ("harmony", "auto"):
        assert made(invented, format) == []


@pytest.mark.parametrize(
    "token", ["</s>", "<|eot|>", "<|end_of_text|>", "<turn|>", "<start_function_response>", "<|/tool_call|>"]
)
def test_a_token_that_ends_the_turn_is_no_text(token: str) -> None:
    assert toolhub.parse(f"[TOOL_CALLS] [{PING}]{token}").text == ""
    assert toolhub.parse(f"Write {token} at the end.").text == f"Write {token} at the end."


def test_html_stays_text() -> None:
    assert toolhub.parse(f"<tool_call>{PING}</tool_call><s>old</s> new").text == "<s>old</s> new"


def test_phi_4_mini() -> None:
    text = f"<|tool_call|>[{PING}]<|/tool_call|>"
    for format in ("phi4", "auto"):
        assert made(text, format) == [("ping", {"host": "a"})]
        assert toolhub.parse(text, format).text == ""


@pytest.mark.parametrize("format", ["glm45", "auto"])
def test_a_glm_value_without_its_end_tag(format: str) -> None:
    second = "<tool_call>now\n<arg_key>zone</arg_key>\n<arg_value>UTC</arg_value>\n</tool_call>"
    text = (
        "<tool_call>cp\n<arg_key>from</arg_key>\n<arg_value>a.txt\n<arg_key>to</arg_key>\n"
        f"<arg_value>b.txt\n</tool_call>\n{second}"
    )
    assert made(text, format) == [("cp", {"from": "a.txt", "to": "b.txt"}), ("now", {"zone": "UTC"})]


def test_a_glm_value_may_quote_the_tags() -> None:
    quoted = "write <arg_key>x</arg_key> and </tool_call> there"
    text = f"<tool_call>note\n<arg_key>text</arg_key>\n<arg_value>{quoted}</arg_value>\n</tool_call>"
    assert made(text) == [("note", {"text": quoted})]


@pytest.mark.parametrize(
    ("open", "close"),
    [
        ("[TOOL_CALLS] [", "]"),
        ("<tool_calls>[", "]</tool_calls>"),
        ("<|START_ACTION|>[", "]<|END_ACTION|>"),
        ("functools[", "]"),
        ("```json\n", "\n```"),
        ("<tool_call>", "</tool_call>"),
    ],
)
def test_surplus_brackets(open: str, close: str) -> None:
    text = f"{open}{PING}}}{close}"
    assert made(text) == [("ping", {"host": "a"})]
    found = toolhub.parse(text)
    assert found.text == ""
    assert found.calls[0].repairs == ["surplus closing brackets"]


@pytest.mark.parametrize("arguments", ['{"host": "a"', '"{\\"host\\": \\"a\\"}"'])
@pytest.mark.parametrize(
    ("open", "close"),
    [
        ("<|tool_call_begin|>functions.ping:0<|tool_call_argument_begin|>", "<|tool_call_end|>"),
        ("<｜tool▁call▁begin｜>ping<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
        ("<|channel|>commentary to=functions.ping <|constrain|>json<|message|>", "<|call|>"),
    ],
)
def test_arguments_that_are_not_quite_an_object(open: str, close: str, arguments: str) -> None:
    assert made(open + arguments + close) == [("ping", {"host": "a"})]


@pytest.mark.parametrize(
    "text",
    [
        '<｜tool▁call▁begin｜>function<｜tool▁sep｜>ping\n```json\n{"host": "a"\n```<｜tool▁call▁end｜>',
        f"<tool_call>\n```json\n{PING[:-1]}\n```\n</tool_call>",
        f"<tool_call>\n```json\n{PING[:-2]}\n```\n</tool_call>",
    ],
)
def test_brackets_that_are_missing_in_a_fence(text: str) -> None:
    assert made(text) == [("ping", {"host": "a"})]


@pytest.mark.parametrize("format", ["json_fence", "auto"])
def test_several_calls_in_a_fence(format: str) -> None:
    text = f'First\n```json\n{PING}\n{PING}\n```\nthen\n```json\n{PING}\n{{"port": 80}}\n```'
    assert made(text, format) == [("ping", {"host": "a"})] * 3
    assert "ping" not in toolhub.parse(text, format).text
    assert '{"port": 80}' in toolhub.parse(text, format).text


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('`{"host": "a"}`', {"host": "a"}),
        ('"{\\"host\\": \\"a\\"}"', {"host": "a"}),
        ('"two words"', {"input": "two words"}),
        ("`ls`", {"input": "ls"}),
        ("`a` and `b`", {"input": "`a` and `b`"}),
    ],
)
def test_the_input_of_an_action_may_be_quoted(written: str, arguments: dict[str, Any]) -> None:
    assert made(f"Action: `ping`\nAction Input: {written}\n") == [("ping", arguments)]


def test_why_arguments_in_a_string_cannot_be_read() -> None:
    function = {"name": "ping", "arguments": '{"host": "a'}
    found = toolhub.parse({"tool_calls": [{"id": "c1", "type": "function", "function": function}]})
    assert found.calls[0].error == "The arguments cannot be read: the text ends inside a string."


def test_what_the_api_has_done_itself_is_no_call() -> None:
    blocks = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "tool_use", "id": "toolu_1", "name": "ping", "input": {"host": "a"}},
    ]
    found = toolhub.parse({"role": "assistant", "content": blocks})
    assert [call.id for call in found.calls] == ["toolu_1"]


@pytest.mark.parametrize(
    "text",
    [
        f"[TOOL_CALLS] [{PING}] [/TOOL_CALLS]",
        f"[TOOL_CALLS][{PING}][/TOOL_CALLS]",
        '[TOOL_CALLS]ping[ARGS]{"host": "a"}[/TOOL_CALLS]',
        '[TOOL_CALLS]ping[ARGS]{"host": "a"}[TOOL_CALLS]ping[ARGS]{"host": "a"}[/TOOL_CALLS]</s>',
    ],
)
def test_the_closing_tag_of_mistral_is_no_call(text: str) -> None:
    for format in ("mistral_json", "mistral_args", "auto"):
        found = toolhub.parse(text, format)
        assert {(call.name, call.error, *call.repairs) for call in found.calls} == {("ping", None)}
        assert found.text.strip() == ""
        assert made(text, format)
    # Without a call it is only mentioned.
    assert toolhub.parse("It ends with [/TOOL_CALLS].").text == "It ends with [/TOOL_CALLS]."


def test_marks_of_another_family_are_left_alone() -> None:
    words = "<tool_call>not JSON</tool_call> and </tool_call>"
    for format in ("mistral_json", "llama3_json", "kimi_k2", "anthropic_xml", "deepseek_v31"):
        found = toolhub.parse(words, format)
        assert (found.calls, found.text) == ([], words), format
    found = toolhub.parse(f"[TOOL_CALLS] [{PING}] {words}", "mistral_json")
    assert [call.name for call in found.calls] == ["ping"]
    assert words in found.text
    # With the tag of its own, it is a call that cannot be read.
    assert toolhub.parse(words, "hermes").calls[0].error
