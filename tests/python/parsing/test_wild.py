"""Variants of the formats that models write in practice: read where it is certain what is meant, streamed or not."""

from typing import Any

import pytest

from .test_families_2026 import SOUND, made, read
from .writers import Call, invoked, wrapped

CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [
    {"name": name, "parameters": CITY}
    for name in ("get_weather", "shell", "tool_12", "bash", "read", "create-pdf-file", "web.search")
]
LONGCAT = wrapped(
    invoked(
        "<longcat_tool_call>",
        "{}\n",
        "<longcat_arg_key>{}</longcat_arg_key>\n<longcat_arg_value>[]</longcat_arg_value>\n",
        "",
        "</longcat_tool_call>",
    ),
    "\n",
)


def schema(value: Any) -> dict[str, Any]:
    kinds = {str: "string", dict: "object", list: "array", int: "integer"}
    return {"type": kinds[type(value)]}


def schemas(calls: list[Call]) -> list[dict[str, Any]]:
    return [
        {"name": name, "parameters": {"properties": {key: schema(value) for key, value in given.items()}}}
        for name, given in calls
    ]


@pytest.mark.parametrize("format", ["longcat", "auto"])
@pytest.mark.parametrize("calls", SOUND)
def test_the_pairs_of_longcat(format: str, calls: list[Call]) -> None:
    assert made(LONGCAT(calls), format, schemas(calls)) == calls


PAIR = "<longcat_arg_key>city</longcat_arg_key><longcat_arg_value>Bern</longcat_arg_value>"


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (f"<longcat_tool_call>f{PAIR}", [("f", {"city": "Bern"})]),
        (
            f"<longcat_tool_call>f\n{PAIR}\n<longcat_tool_call>g</longcat_tool_call>",
            [("f", {"city": "Bern"}), ("g", {})],
        ),
        (f"<longcat_think>f{PAIR}</longcat_think>No.", []),
        ("<longcat_tool_call> is the tag.", []),
    ],
)
def test_damaged_pairs_of_longcat(text: str, calls: list[Call]) -> None:
    assert made(text, "longcat") == calls


def test_pairs_of_longcat_that_are_cut() -> None:
    for cut in ("<longcat_tool_call>f<longcat_arg_key>a</longcat_arg_key><longcat_arg_value>x",):
        assert [call.error is None for call in read(cut, "longcat").calls] == [False]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('<tool_call>get_weather>{"city": "Bern"}', [("get_weather", {"city": "Bern"})]),
        ('<tool_call>get_weather>{"city": "Bern"}</tool_call>', [("get_weather", {"city": "Bern"})]),
        ('<tool_call>get_weather\n{"city": "Bern"}\n</tool_call>', [("get_weather", {"city": "Bern"})]),
        ('<tool_call>a/b>{"x": {"y": [1]}}<tool_call>c>{}', [("a/b", {"x": {"y": [1]}}), ("c", {})]),
        ('<tool_call>f>{"text": "</tool_call>"}</tool_call>', [("f", {"text": "</tool_call>"})]),
        ('Write <tool_call> name>{"a": 1} there.', []),
        ('`<tool_call>name>{"a": 1}</tool_call>`', []),
        ("<tool_call>x > {} is true", []),
    ],
)
@pytest.mark.parametrize("format", ["glm47", "auto"])
def test_glm_writes_json_too(text: str, calls: list[Call], format: str) -> None:
    assert made(text, format) == calls


def test_json_of_glm_that_is_cut_is_no_call() -> None:
    for cut in ('<tool_call>f>{"a": "b', '<tool_call>f>{"a": 1', '<tool_call>f>{"a": {"b": 1}'):
        assert [call.error is None for call in read(cut, "glm47").calls] == [False], cut


KIMI = '<|tool_call_begin|>{}<|tool_call_argument_begin|>{{"city": "Bern"}}<|tool_call_end|>'
HARMONY = '<|start|>assistant<|channel|>commentary to=functions.{}<|message|>{{"city": "Bern"}}<|call|>'
GEMMA = '<|tool_call>call:{}{{city:<|"|>Bern<|"|>}}<tool_call|>'


@pytest.mark.parametrize(
    ("form", "written", "name"),
    [
        (KIMI, "functions_get_weather_1", "get_weather"),
        (KIMI, "functions_get_weather:1", "get_weather"),
        (KIMI, "functionsget_weather1", "get_weather"),
        (KIMI, "functions-get_weather-12", "get_weather"),
        (KIMI, "functions_tool_12", "tool_12"),
        (KIMI, "functions_unknown_1", "functions_unknown_1"),
        (HARMONY, "shelljson", "shell"),
        (HARMONY, "shell", "shell"),
        (HARMONY, "unknownjson", "unknownjson"),
        (GEMMA, "google:mcp:text_generation:create-pdf-file", "create-pdf-file"),
        (GEMMA, "default_api.shell", "shell"),
        (GEMMA, "web.search", "web.search"),
        (GEMMA, "google:web.search", "web.search"),
        (GEMMA, "ns:unknown", "ns:unknown"),
    ],
)
def test_a_name_means_the_only_known_tool_that_fits(form: str, written: str, name: str) -> None:
    assert made(form.format(written), "auto", TOOLS) == [(name, {"city": "Bern"})]


def test_a_name_that_may_mean_two_tools_stays_as_it_is() -> None:
    tools = [*TOOLS, {"name": "get_weather_1", "parameters": CITY}, {"name": "search", "parameters": CITY}]
    for form, written in ((KIMI, "functions_get_weather_1"), (GEMMA, "google:web.search")):
        assert made(form.format(written), "auto", tools) == [(written, {"city": "Bern"})]


LS = "<parameter=city>\nls\n</parameter>\n"


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (f"<parameter=bash>\n{LS}</function>", [("bash", {"city": "ls"})]),
        (f"<tool_call>\n<parameter=bash>\n{LS}</function>\n</tool_call>", [("bash", {"city": "ls"})]),
        (f"<parameter=unknown>\n{LS}</function>", []),
        ("<parameter=bash>\nls\n</parameter>", []),
        ("A <function read> is a tag, and <function x> too.", []),
        (f"<function=read>\n{LS}</function>", [("read", {"city": "ls"})]),
    ],
)
@pytest.mark.parametrize("format", ["qwen3_coder", "auto"])
def test_variants_of_qwen(text: str, calls: list[Call], format: str) -> None:
    assert made(text, format, TOOLS) == calls


@pytest.mark.parametrize(
    "inside",
    ['"a": "x"y", "b": "z"w"', '"a": "x"y"', '"a": "He said "no", "b": "c"', '"a": "x "y", "b": "z" w"'],
)
def test_quotes_that_can_be_read_in_two_ways(inside: str) -> None:
    found = read(f'<tool_call>{{"name": "f", "arguments": {{{inside}}}}}</tool_call>', "hermes")
    assert [call.error is None for call in found.calls] == [False]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (
            '<tool_call><invoke name="f"><parameter name="a">b</parameter></invoke></tool_call>',
            [("f", {"a": "b"})],
        ),
        ('Thought: now.\nAction: f ({"a": "b"})', [("f", {"a": "b"})]),
        ('Action: f({"a": {"b": [1]}})\nObservation: made up\nAction: g({})', [("f", {"a": {"b": [1]}})]),
        ("Action: look (carefully) at it", []),
    ],
)
def test_other_variants(text: str, calls: list[Call]) -> None:
    assert made(text, "auto") == calls


def test_marks_without_a_call_leave_the_text() -> None:
    assert read("Done.]<]minimax[>[</tool_call>", "auto").text == "Done."
    tail = "".join(f"</｜DSML｜{name}>" for name in ("parameter", "invoke", "tool_calls"))
    assert read(f"It is 5.{tail}", "auto").text == "It is 5."
    quoted = "The mark `</｜DSML｜invoke>` ends a call."
    assert read(quoted, "auto").text == quoted


MIRO = "<use_mcp_tool>\n<server_name>{0}</server_name>\n<tool_name>{1}</tool_name>\n"


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('<arguments>\n{"city": "Bern"}\n</arguments>\n</use_mcp_tool>', [("get_weather", {"city": "Bern"})]),
        ('<arguments>{"city": "Bern"}</arguments>', [("get_weather", {"city": "Bern"})]),
        ('<arguments>{"city": "Bern",}</use_mcp_tool>', [("get_weather", {"city": "Bern"})]),
        ("</use_mcp_tool>", [("get_weather", {})]),
        ("<arguments></arguments></use_mcp_tool>", [("get_weather", {})]),
        ("and so on", []),
    ],
)
@pytest.mark.parametrize("format", ["mirothinker", "auto"])
def test_tools_of_servers(text: str, calls: list[Call], format: str) -> None:
    assert made(MIRO.format("w", "get_weather") + text, format) == calls


def test_a_tool_that_is_known_with_its_server() -> None:
    end = '<arguments>{"city": "Bern"}</arguments></use_mcp_tool>'
    assert made(MIRO.format("web", "search") + end, "auto", TOOLS) == [("web.search", {"city": "Bern"})]
    assert made(MIRO.format("x", "search") + end, "auto", TOOLS) == [("search", {"city": "Bern"})]
    for cut in ("", "<arguments>", '<arguments>{"city": "Be'):
        found = read(MIRO.format("web", "search") + cut, "mirothinker")
        assert [call.error is None for call in found.calls] == [False], cut
