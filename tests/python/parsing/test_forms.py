"""Forms of single families that differ from the rest: from the definition of each, sound, damaged and streamed."""

import json
from typing import Any

import pytest

import toolhub

from .test_families_2026 import made, read
from .writers import Call


def tool(name: str = "f", **properties: Any) -> dict[str, Any]:
    return {"name": name, "parameters": {"type": "object", "properties": properties}}


def k2(*calls: tuple[str, str], section: str = "tool_calls_section") -> str:
    written = (
        f"<|tool_call_begin|>{header}<|tool_call_argument_begin|>{arguments}<|tool_call_end|>"
        for header, arguments in calls
    )
    return f"<|{section}_begin|>{''.join(written)}<|{section}_end|>"


CITY = {"name": "weather", "parameters": {"properties": {"city": {}}, "required": ["city"]}}
PATH = {"name": "open", "parameters": {"properties": {"path": {}, "mode": {}}, "required": ["path"]}}


@pytest.mark.parametrize(
    "header", ["0", "3", "call_3", "call00003", "toolu_01Ab", "functions.3", ":3", "call_0a9f"]
)
@pytest.mark.parametrize("format", ["kimi_k2", "auto"])
def test_kimi_ids_without_a_name(header: str, format: str) -> None:
    text = k2((header, '{"city": "Paris"}'))
    for tools in (None, [CITY], [CITY, PATH]):
        (call,) = read(text, format, tools).calls
        assert (call.name, call.id, call.error) == ("", header, "The call has no name.")


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("functions.open:0", "open"),
        ("open:12", "open"),
        ("open", "open"),
        ("functionsopen5", "open"),
        ("functions.open5", "open5"),
        ("functions.call_2:0", "call_2"),
        ("calls", "calls"),
        ("a.b.open:0", "a.b.open"),
    ],
)
def test_kimi_names(header: str, name: str) -> None:
    assert made(k2((header, '{"path": "a"}')), "kimi_k2", [CITY, PATH]) == [(name, {"path": "a"})]


def test_kimi_calls_of_both_kinds() -> None:
    text = k2(("functions.open:0", '{"path": "a"}'), ("1", '{"city": "Oslo"}'), section="tool_call_section")
    named, nameless = read(text, "kimi_k2", [CITY, PATH]).calls
    assert (named.name, named.arguments) == ("open", {"path": "a"})
    assert (nameless.name, nameless.error) == ("", "The call has no name.")
    assert toolhub.parse(text, tools=[CITY, PATH]).text == ""


def k3(tool: str, *arguments: tuple[str, str, str]) -> str:
    written = (
        f'<|open|>argument key="{key}" type="{kind}"<|sep|>{value}<|close|>argument<|sep|>'
        for key, kind, value in arguments
    )
    return (
        f'<|open|>tools<|sep|><|open|>call tool="{tool}" index="0"<|sep|>{"".join(written)}<|close|>call<|sep|>'
        "<|close|>tools<|sep|>"
    )


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (k3("a&amp;b", ("k", "string", "v")), [("a&b", {"k": "v"})]),
        (k3("f", ("say &quot;x&quot;", "number", "5")), [("f", {'say "x"': 5})]),
        (k3("f", ("k", "string", "a &amp; b")), [("f", {"k": "a &amp; b"})]),
        (k3("f", ("&amp;quot;", "string", "v")), [("f", {"&quot;": "v"})]),
        (k3("f", ("k", "object", '{"n": [1]}')), [("f", {"k": {"n": [1]}})]),
        (k3("f"), [("f", {})]),
        (k3("f", ("k", "string", "v")).removesuffix("<|close|>tools<|sep|>"), [("f", {"k": "v"})]),
    ],
)
@pytest.mark.parametrize("format", ["kimi_k3", "auto"])
def test_kimi_k3(text: str, calls: list[Call], format: str) -> None:
    assert made(text, format) == calls
    message = (
        f"<|open|>response<|sep|>Well.<|close|>response<|sep|>{text}<|close|>message<|sep|><|end_of_msg|>"
    )
    assert made(message, format) == calls
    assert toolhub.parse(message, format).text == "Well."
    thought = f"<|open|>think<|sep|>{k3('delete_all')}<|close|>think<|sep|>"
    assert made(thought + message, format) == calls
    assert made(f"{k3('delete_all')} no.<|close|>think<|sep|>{message}", format) == calls


MARK = "]<]minimax[>["


def m3(inside: str) -> str:
    text = f'<tool_call>\n<invoke name="f">{inside}</invoke>\n</tool_call>'
    return text.replace("<", f"{MARK}<")


INTEGERS = {"type": "array", "items": {"type": "integer"}}
ITEMS = "<l><item>1</item><item>2</item></l>"


@pytest.mark.parametrize(
    ("inside", "schema", "value"),
    [
        (ITEMS, INTEGERS, [1, 2]),
        (ITEMS, {"anyOf": [INTEGERS, {"type": "null"}]}, [1, 2]),
        (ITEMS, {"oneOf": [{"type": "null"}, INTEGERS]}, [1, 2]),
        (ITEMS, {"type": ["null", "array"], "items": {"type": "integer"}}, [1, 2]),
        (ITEMS, {"allOf": [INTEGERS]}, [1, 2]),
        (ITEMS, {"type": "object"}, ["1", "2"]),
        (ITEMS, {"type": "object", "properties": {"item": {"type": "integer"}}}, {"item": [1, 2]}),
        (ITEMS, None, ["1", "2"]),
        ("<l><item>1</item></l>", INTEGERS, [1]),
        ("<l><item>1</item></l>", {"type": "object"}, {"item": "1"}),
        ("<l></l>", INTEGERS, []),
        ("<l></l>", {"anyOf": [INTEGERS, {"type": "null"}]}, []),
        ("<l></l>", {"type": "object"}, {}),
        ("<l></l>", {"type": "string"}, ""),
        ("<l>[]</l>", INTEGERS, []),
        ("<l><a>1</a><a>2</a></l>", {"type": "object"}, {"a": ["1", "2"]}),
        ("<l><a></a></l>", {"type": "object", "properties": {"a": INTEGERS}}, {"a": []}),
        ("<l><item><n>1</n></item></l>", {"type": "array", "items": {"$ref": "#/$defs/one"}}, [{"n": 1}]),
    ],
)
def test_minimax_m3_lists(inside: str, schema: Any, value: Any) -> None:
    tools = None
    if schema is not None:
        tools = [tool(l=schema)]
        tools[0]["parameters"]["$defs"] = {"one": {"properties": {"n": {"type": "integer"}}}}
    for format in ("minimax_m3", "auto"):
        assert made(m3(inside), format, tools) == [("f", {"l": value})]


def test_a_schema_that_refers_to_itself() -> None:
    node: dict[str, Any] = {"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}, {"type": "array"}]}
    tools = [tool(l={"$ref": "#/$defs/n"})]
    tools[0]["parameters"]["$defs"] = {"n": node}
    assert made(m3(ITEMS), "minimax_m3", tools) == [("f", {"l": ["1", "2"]})]


def dsml(*parameters: tuple[str, str, str]) -> str:
    written = (
        f'<｜DSML｜parameter name="{name}" {attribute}>{value}</｜DSML｜parameter>\n'
        for name, attribute, value in parameters
    )
    return (
        f'<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n{"".join(written)}</｜DSML｜invoke>\n'
        "</｜DSML｜function_calls>"
    )


TEXT, JSON = 'string="true"', 'string="false"'
TYPED = [
    tool(n={"type": "integer"}, s={"type": "string"}, b={"type": "boolean"}, l={"type": "array"}, any={})
]


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        ([("n", JSON, "5"), ("s", TEXT, "x")], {"n": 5, "s": "x"}),
        ([("n", TEXT, "5")], {"n": 5}),
        ([("s", JSON, "007")], {"s": "007"}),
        ([("s", JSON, "1.10")], {"s": "1.10"}),
        ([("s", TEXT, "5")], {"s": "5"}),
        ([("b", TEXT, "true")], {"b": True}),
        ([("l", TEXT, "[1, 2]")], {"l": [1, 2]}),
        ([("any", TEXT, "5"), ("n", TEXT, "five")], {"any": "5", "n": "five"}),
        ([("arguments", JSON, '{"n": 5, "s": "x"}')], {"n": 5, "s": "x"}),
        ([("arguments", TEXT, '{"n": 5}')], {"n": 5}),
        ([("input", JSON, '{"n": 5}')], {"n": 5}),
        ([("arguments", JSON, '{"other": 5}')], {"arguments": {"other": 5}}),
        ([("arguments", JSON, '{"n": 5}'), ("s", TEXT, "x")], {"arguments": {"n": 5}, "s": "x"}),
    ],
)
@pytest.mark.parametrize("format", ["deepseek_dsml", "auto"])
def test_dsml_types_and_wrappers(
    parameters: list[tuple[str, str, str]], arguments: dict[str, Any], format: str
) -> None:
    assert made(dsml(*parameters), format, TYPED) == [("f", arguments)]


def test_a_parameter_that_is_no_wrapper() -> None:
    text = dsml(("arguments", JSON, '{"n": 5}'))
    assert made(text, "deepseek_dsml") == [("f", {"arguments": {"n": 5}})]
    own = [tool(arguments={"type": "object"}, n={"type": "integer"})]
    assert made(text, "deepseek_dsml", own) == [("f", {"arguments": {"n": 5}})]
    (call,) = toolhub.parse(text, tools=TYPED).calls
    assert call.repairs == ["arguments in a wrapper"]


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("{n:<q>5<q>,s:5}", {"n": 5, "s": "5"}),
        ("{s:1.10,b:<q>true<q>}", {"s": "1.10", "b": True}),
        ("{s:true,n:5}", {"s": "true", "n": 5}),
        ("{l:<q>[1]<q>}", {"l": [1]}),
        ("{n:<q>five<q>}", {"n": "five"}),
        ("{any:<q>5<q>}", {"any": "5"}),
        ('{s:<q>a "b" {c}<q>}', {"s": 'a "b" {c}'}),
    ],
)
@pytest.mark.parametrize(
    ("format", "open", "quote", "close"),
    [
        ("gemma4", "<|tool_call>", '<|"|>', "<tool_call|>"),
        ("functiongemma", "<start_function_call>", "<escape>", "<end_function_call>"),
    ],
)
def test_gemma_types(
    written: str, arguments: dict[str, Any], format: str, open: str, quote: str, close: str
) -> None:
    text = f"{open}call:f{written.replace('<q>', quote)}{close}"
    for asked in (format, "auto"):
        assert made(text, asked, TYPED) == [("f", arguments)]


def lfm2(calls: str) -> str:
    return f"<|tool_call_start|>[{calls}]<|tool_call_end|>"


@pytest.mark.parametrize(
    ("calls", "arguments"),
    [
        ('f(s="say \\"hi\\" now", n=-1.5)', {"s": 'say "hi" now', "n": -1.5}),
        ("f(s='grep -F \"]\" log.txt')", {"s": 'grep -F "]" log.txt'}),
        ("f(s='''two\n'quoted' lines''')", {"s": "two\n'quoted' lines"}),
        ("f(size=(800, 600), on=True)", {"size": [800, 600], "on": True}),
    ],
)
def test_lfm2_sound_strings(calls: str, arguments: dict[str, Any]) -> None:
    assert made(lfm2(calls), "lfm2") == [("f", arguments)]
    (call,) = toolhub.parse(lfm2(calls), "lfm2").calls
    assert call.repairs == []


@pytest.mark.parametrize("calls", ["f(s='a b)", "f(s='say 'hi, then go')", "f(s=nope)"])
def test_lfm2_strings_that_cannot_be_told(calls: str) -> None:
    found = read(f"{lfm2(calls)}{lfm2('g()')}", "lfm2").calls
    assert [(call.name, bool(call.error)) for call in found] == [("f", True), ("g", False)]


def glm(value: str, gap: str = "\n") -> str:
    return f"<tool_call>f{gap}<arg_key>l</arg_key>{gap}<arg_value>{value}</arg_value>{gap}</tool_call>"


LISTED = [tool(l={"type": "array"})]


@pytest.mark.parametrize("format", ["glm45", "glm47", "auto"])
@pytest.mark.parametrize("gap", ["\n", "", "\\n", "\\n\n"])
def test_glm_escaped_json(format: str, gap: str) -> None:
    value = [{"id": "1", "task": 'a "b"\nc'}]
    plain = json.dumps(value)
    escaped = json.dumps(plain)
    for written in (plain, escaped, escaped[1:-1]):
        assert made(glm(written, gap), format, LISTED) == [("f", {"l": value})]
    # A text stays as it is.
    assert made(glm(escaped, gap), format, [tool(l={"type": "string"})]) == [("f", {"l": escaped})]
    assert made(glm(escaped[1:-1], gap), format) == [("f", {"l": escaped[1:-1]})]
    assert made(glm("[1", gap), format, LISTED) == [("f", {"l": "[1"})]


OPENAI_CALL = {"id": "c1", "type": "function", "function": {"name": "ping", "arguments": '{"host": "a"}'}}
OPENAI = {"role": "assistant", "content": "Well.", "tool_calls": [OPENAI_CALL]}
BLOCKS = [
    {"type": "text", "text": "Well."},
    {"type": "tool_use", "id": "toolu_1", "name": "ping", "input": {"host": "a"}},
]
PARTS = [{"text": "Well."}, {"functionCall": {"name": "ping", "args": {"host": "a"}}}]


@pytest.mark.parametrize(
    ("message", "format"),
    [
        (OPENAI, "openai"),
        ([OPENAI], "openai"),
        ({"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": OPENAI}]}, "openai"),
        ({"model": "m", "created_at": "now", "message": OPENAI}, "openai"),
        (BLOCKS, "anthropic"),
        ({"role": "assistant", "content": BLOCKS}, "anthropic"),
        ({"id": "msg_1", "type": "message", "role": "assistant", "content": BLOCKS}, "anthropic"),
        ({"role": "model", "parts": PARTS}, "gemini"),
        ({"candidates": [{"content": {"role": "model", "parts": PARTS}}]}, "gemini"),
        (
            [
                {"type": "message", "content": [{"type": "output_text", "text": "Well."}]},
                {"type": "function_call", "call_id": "c", "name": "ping", "arguments": '{"host": "a"}'},
            ],
            "openai_responses",
        ),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_whole_messages_as_text(message: Any, format: str, indent: int | None) -> None:
    text = json.dumps(message, indent=indent)
    for asked in ("auto", "json_bare"):
        assert made(f"\n{text}\n", asked) == [("ping", {"host": "a"})]
        found = toolhub.parse(text, asked)
        assert (found.text, found.format, found.calls[0].repairs) == ("Well.", format, [])
        assert [call.id for call in found.calls] == [call.id for call in toolhub.parse(message).calls]
    for end in range(len(text)):
        assert [
            call for call in toolhub.parse(text[:end]).calls if call.arguments not in ({"host": "a"},)
        ] == []


@pytest.mark.parametrize(
    "value",
    [
        {"role": "assistant", "content": "No call."},
        {"role": "admin", "content": [1, 2]},
        {"type": "text", "text": "x"},
        [{"role": "user", "content": "Ping a."}, OPENAI, {"role": "tool", "content": "up"}],
        {"content": [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}]},
        {"id": 1, "choices": ["a", "b"]},
    ],
)
def test_json_that_asks_for_nothing_is_text(value: Any) -> None:
    text = json.dumps(value)
    found = read(text, "auto")
    assert (found.calls, found.text) == ([], text)


def test_a_message_in_a_text_is_not_the_whole() -> None:
    text = f"{json.dumps(BLOCKS)} is what I would send."
    assert "is what I would send." in read(text, "auto").text


@pytest.mark.parametrize(
    ("text", "calls", "around"),
    [
        ('f\n{"k": 1}', [("f", {"k": 1})], ""),
        ('f\n{"k": 1}\n>>>g\n{}', [("f", {"k": 1}), ("g", {})], ""),
        ('all\nWell.>>>f\n{"k": 1}', [("f", {"k": 1})], "Well."),
        ('\nf\n{"k": [1, 2,]}<|eot_id|>', [("f", {"k": [1, 2]})], ""),
        ("all\nNo call.", [], "No call."),
        (">>>python\nprint(1)\nprint(2)", [("python", {"code": "print(1)\nprint(2)"})], ""),
        ("python\nprint(1)<|eot_id|>", [("python", {"code": "print(1)"})], ""),
        ('python\n{"code": "1"}', [("python", {"code": "1"})], ""),
        ("f is a word", [], "f is a word"),
        ("Hello.\nThere.", [], "Hello.\nThere."),
        ("", [], ""),
    ],
)
def test_functionary_whose_first_mark_is_in_the_prompt(text: str, calls: list[Call], around: str) -> None:
    assert made(text, "functionary_v32") == calls
    assert toolhub.parse(text, "functionary_v32").text.strip() == around


def test_functionary_among_all_formats_needs_a_known_tool() -> None:
    text = 'f\n{"k": 1}'
    assert made(text, "auto") == []
    assert made(text, "auto", [tool("g")]) == []
    assert made(text, "auto", [tool("f")]) == [("f", {"k": 1})]
    assert made(f"<think>{text}</think>{text}", "auto", [tool("f")]) == []
    (call,) = read('f\n{"k": 1,', "functionary_v32").calls
    assert call.error


PING = '{"name": "ping", "arguments": {"host": "a"}}'


@pytest.mark.parametrize("mark", ["```", "~~~"])
@pytest.mark.parametrize(
    ("text", "calls", "around"),
    [
        (f"M\n{PING}\nM", 1, ""),
        (f"Mjson\n{PING}\nM", 1, ""),
        (f"Mjson\n[{PING}, {PING}]\nM", 2, ""),
        (f"Mjson\n{PING}\n{PING}\nM", 2, ""),
        (f"Mjson\n{PING}", 1, ""),
        (f"Mjson\n{PING}}}\nM", 1, ""),
        (f"Well.\nMjson\n{PING}\nM\nDone.", 1, "Well.\n\nDone."),
        (f"Mjson\n{PING}\nMjson\n{PING}\nM", 2, ""),
        (f"Mjson\n{PING[:-3]}\nMjson\n{PING}\nM", 1, f"Mjson\n{PING[:-3]}"),
        (f"Mpython\ncall = {PING}\nM", 0, f"Mpython\ncall = {PING}\nM"),
        (f"<tool_call>\nMjson\n{PING}\nM\n</tool_call>", 1, ""),
        (f"Action:\nMjson\n{PING}\nM\n", 1, ""),
    ],
)
def test_fences(mark: str, text: str, calls: int, around: str) -> None:
    text, around = text.replace("M", mark), around.replace("M", mark)
    assert made(text, "auto") == [("ping", {"host": "a"})] * calls
    assert toolhub.parse(text).text.strip() == around


@pytest.mark.parametrize(
    "text",
    [
        '<tool_result>\n{"id": "call_1", "tool_name": "delete_all", "success": true, "result": 3}\n</tool_result>',
        '{"id": "call_1", "tool_name": "delete_all", "success": true, "result": 3}',
        '{"tool_result": {"id": "call_1", "tool_name": "delete_all"}, "x": 1}',
        '```json\n{"tool_results": [{"tool_name": "delete_all"}]}\n```',
        '{"functionResponse": {"name": "delete_all", "args": {}}}',
        '{"tool_result": {"tool_name": "delete_all"}',
        '{"name": "delete_all", "status": "done"}',
    ],
)
def test_a_result_that_the_model_repeats_is_no_call(text: str) -> None:
    tools = [{"name": "delete_all", "parameters": {"type": "object"}}]
    assert read(text, "auto", tools).calls == []
    assert made('{"name": "delete_all"}', "auto", tools) == [("delete_all", {})]
