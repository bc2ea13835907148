"""A damaged call takes in nothing of the next argument or call, and the sound calls around it are found."""

from typing import Any

import pytest

import toolhub

STRING = {"type": "string"}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "delete_rows",
        "parameters": {"properties": {"table": STRING, "where": STRING, "ids": {"type": "array"}}},
    },
    {"name": "list_files", "parameters": {"properties": {"dir": STRING, "all": {"type": "boolean"}}}},
    {"name": "get_weather", "parameters": {"properties": {"city": STRING}}},
    {"name": "ping", "parameters": {"properties": {"host": STRING}}},
    {"name": "batch", "parameters": {"properties": {"calls": {"type": "array"}, "note": STRING}}},
]
WEATHER = ("get_weather", {"city": "Bern"})
PING = ("ping", {"host": "h1"})


def read(text: str, format: str = "auto", tools: Any = TOOLS) -> list[tuple[str, dict[str, Any] | None]]:
    """Names and arguments, `None` for a call that cannot be read; deltas give the same."""
    found = toolhub.parse(text, format, tools)
    for size in (1, 5):
        stream = toolhub.StreamParser(format, tools)
        events = [event for at in range(0, len(text), size) for event in stream.feed(text[at : at + size])]
        events += stream.finish()
        assert [call.to_dict() for call in stream.calls] == [call.to_dict() for call in found.calls]
        assert "".join(event["text"] for event in events if event["type"] == "text") == found.text
    return [(call.name, None if call.error else call.arguments) for call in found.calls]


def made(text: str, format: str = "auto", tools: Any = TOOLS) -> list[Any]:
    return [(name, arguments) for name, arguments in read(text, format, tools) if arguments is not None]


SOUND = (
    '{"name": "get_weather", "arguments": {"city": "Bern"}}, {"name": "ping", "arguments": {"host": "h1"}}'
)
LISTS = {
    "mistral_json": f"[TOOL_CALLS][%s, {SOUND}]",
    "granite": f"<|tool_call|>[%s, {SOUND}]",
    "nemotron": f"<TOOLCALL>[%s, {SOUND}]</TOOLCALL>",
    "jamba": f"<tool_calls>[%s, {SOUND}]</tool_calls>",
    "cohere": f"<|START_ACTION|>[%s, {SOUND}]<|END_ACTION|>".replace('"name"', '"tool_name"'),
    "phi4": f"functools[%s, {SOUND}]",
    "llama3_json": f"<|python_tag|>%s; {SOUND.replace('}}, {', '}}; {')}",
    "hermes": f"<tool_call>[%s, {SOUND}]</tool_call>",
}
DAMAGED = {
    "no value": '{"name": "list_files", "arguments": {"dir": "/tmp", "all": }}',
    "no key": '{"name": "list_files", "arguments": {: "/tmp"}}',
    "no colon": '{"name": "list_files", "arguments": {"dir" "/tmp"}}',
    "no colon behind the name": '{"name" "list_files", "arguments": {"dir": "/tmp"}}',
    "no first quote": '{name": "list_files", "arguments": {"dir": "/tmp"}}',
    "no quote behind a key": '{"name": "list_files", "arguments": {"dir: "/tmp"}}',
    "words": '{"name": "list_files", "arguments": {"dir": the usual one}}',
}


@pytest.mark.parametrize("format", LISTS)
@pytest.mark.parametrize("kind", DAMAGED)
def test_the_calls_behind_a_damaged_one_of_a_list_are_found(format: str, kind: str) -> None:
    text = LISTS[format] % DAMAGED[kind]
    for asked in (format, "auto"):
        found = read(text, asked)
        assert found[1:] == [WEATHER, PING], found
        assert found[0][1] is None
        # Without the schemas too.
        assert read(text, asked, None) == found


@pytest.mark.parametrize("format", LISTS)
def test_the_last_bracket_of_a_call_may_be_missing_before_the_next_one(format: str) -> None:
    text = LISTS[format] % '{"name": "list_files", "arguments": {"dir": "/tmp"}'
    assert read(text, format) == [("list_files", {"dir": "/tmp"}), WEATHER, PING]
    # Where more are missing, it may have been cut.
    text = LISTS[format] % '{"name": "list_files", "arguments": {"dir": "/tmp"'
    assert ("list_files", {"dir": "/tmp"}) not in made(text, format)


@pytest.mark.parametrize(
    "damaged",
    [
        '{"name": "list_files", "arguments": {"dir": "/tmp',
        '{"name": "list_files", "arguments": {"dir: "/tmp"}}\n```',
        '{"name": "list_files", "arguments": {dir": "/tmp"}}\n```',
        '[{"name": "list_files", "arguments": {"dir": /tmp"}}]\n```',
    ],
)
def test_the_call_in_the_next_fence_is_found(damaged: str) -> None:
    text = f'```json\n{damaged}\n```json\n{{"name": "ping", "arguments": {{"host": "h1"}}}}\n```'
    for asked in ("json_fence", "auto"):
        assert made(text, asked) == [PING]


@pytest.mark.parametrize(
    "format", [format for format in LISTS if format != "llama3_json"]
)  # which writes no list
def test_a_call_does_not_run_without_the_arguments_behind_its_bracket(format: str) -> None:
    text = LISTS[format] % '{"name": "list_files"}, "arguments": {"dir": "/tmp"}}'
    assert "list_files" not in [name for name, _ in made(text, format)]


def test_a_cut_call_behind_a_damaged_one_is_not_made() -> None:
    damaged = '{"name": "list_files", "arguments": {"all": }}'
    cut = '{"name": "delete_rows", "arguments": {"table": "users"}'
    text = f'[TOOL_CALLS][{damaged}, {{"name": "ping", "arguments": {{"host": "h1"}}}}, {cut}'
    assert made(text) == [PING]


def test_calls_in_apertus_are_found_by_the_names_of_tools() -> None:
    sound = '{"get_weather": {"city": "Bern"}}, {"ping": {"host": "h1"}}'
    for damaged in (
        '{"list_files": {"dir": }}',
        '{list_files": {"dir": "/tmp"}}',
        '{"list_files" {"dir": "/tmp"}}',
    ):
        text = f"<|tools_prefix|>[{damaged}, {sound}]<|tools_suffix|>"
        assert made(text, "apertus") == made(text) == [WEATHER, PING], text


INNER = '{"name": "delete_rows", "arguments": {"table": "users"}}'


@pytest.mark.parametrize("format", LISTS)
@pytest.mark.parametrize(
    "damaged",
    [
        # A call in the arguments of a damaged one is data, wherever it stands there.
        f'{{"name": "batch", "arguments": {{"note": , "calls": [{INNER}, {INNER}]}}}}',
        f'{{"name": "batch", "arguments": {{"calls": [{INNER}, {INNER}], "note": }}}}',
        f'{{name": "batch", "arguments": {{"calls": [{INNER}, {INNER}]}}}}',
        f'{{"name": "batch, "arguments": {{"note": "}}}}}}", "calls": [{INNER}, {INNER}]}}}}',
        f'{{"name": "batch", "arguments": {{"calls": [{INNER[:-1]}, {INNER}]}}}}',
        f'{{"name": "batch", "arguments": {{"calls": [{INNER[:-2]}, {INNER}]}}}}',
        f'{{"name": "batch", "arguments": {{"note": oops }}}}, {INNER}"}}}}'.replace(
            INNER, INNER.replace('"', '\\"')
        ),
    ],
)
def test_no_call_is_made_of_the_arguments_of_a_damaged_one(format: str, damaged: str) -> None:
    for asked in (format, "auto"):
        assert "delete_rows" not in [name for name, _ in made(LISTS[format] % damaged, asked)]


PYTHON = {
    "lfm2": "<|tool_call_start|>[{}, get_weather(city='Bern'), ping(host='h1')]<|tool_call_end|>",
    "pythonic": "[{}, get_weather(city='Bern'), ping(host='h1')]",
    "olmo3": "<function_calls>\n{}\nget_weather(city='Bern')\nping(host='h1')\n</function_calls>",
}


@pytest.mark.parametrize("format", PYTHON)
def test_no_call_is_made_of_a_string_of_a_damaged_one(format: str) -> None:
    # The quote before x is lost: what looks like a call is in the second string.
    damaged = "list_files(dir=x', all='y), delete_rows(table=z), w')"
    for text in (
        PYTHON[format].replace("{}", damaged),
        PYTHON[format].replace("{}", damaged.replace("), ", ")\n")),
    ):
        for asked in (format, "auto"):
            assert "delete_rows" not in [name for name, _ in made(text, asked)], text


def test_other_code_in_a_list_stays_text() -> None:
    for text in (
        "The points are [Point(x=1), Point(x=a)].",
        "It returns [list_files(dir=d), other(x=1)] then.",
        "[f(a), g(b=1)] is a list.",
    ):
        for tools in (TOOLS, None):
            assert read(text, tools=tools) == []
            assert toolhub.parse(text, tools=tools).text == text


ROW = {"table": "users", "where": "id = 5"}


def glm(inside: str) -> str:
    sound = "<tool_call>ping<arg_key>host</arg_key><arg_value>h1</arg_value></tool_call>"
    return f"<tool_call>delete_rows{inside}</tool_call>{sound}"


@pytest.mark.parametrize("gap", ["", "\n"])
@pytest.mark.parametrize(
    "inside",
    [
        "<arg_key>table</arg_key>{0}<arg_value>users</arg_value>{0}where</arg_key>{0}<arg_value>id = 5</arg_value>",
        "<arg_key>table=users</arg_value>{0}<arg_key>where=id = 5</arg_value>",
        "<arg_key>table</arg_key>{0}<arg_value>users</arg_value>{0}<arg_key>where=id = 5</arg_value>",
    ],
)
def test_glm_without_some_tags(inside: str, gap: str) -> None:
    text = glm(inside.format(gap))
    for tools in (TOOLS, None):
        assert read(text, tools=tools) == [("delete_rows", ROW), PING]
        assert toolhub.parse(text, tools=tools).calls[0].repairs == ["a missing start tag"]


def test_a_key_with_the_end_of_a_value_is_no_argument() -> None:
    assert read(glm("<arg_key>table</arg_value>")) == [("delete_rows", None), PING]
    # The tool has no such parameter.
    lost = "<arg_key>table</arg_key><arg_value>users</arg_value>other</arg_key><arg_value>x</arg_value>"
    assert read(glm(lost)) == [("delete_rows", None), PING]
    quoted = "see <arg_key>where</arg_key><arg_value>x</arg_value> there"
    text = glm(f"<arg_key>table</arg_key><arg_value>{quoted}</arg_value>")
    assert read(text) == [("delete_rows", {"table": quoted}), PING]


INVOKED = {
    "anthropic_xml": (
        '<function_calls>{}<invoke name="delete_rows">{}',
        '<parameter name="%s">',
        "</parameter>",
    ),
    "minimax_m2": (
        '<minimax:tool_call>{}<invoke name="delete_rows">{}',
        '<parameter name="%s">',
        "</parameter>",
    ),
    "step3": (
        '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="delete_rows">',
        '<steptml:parameter name="%s">',
        "</steptml:parameter>",
    ),
    "qwen3_coder": ("<tool_call>{}<function=delete_rows>{}", "<parameter=%s>", "</parameter>"),
    "seed_oss": ("<seed:tool_call>{}<function=delete_rows>{}", "<parameter=%s>", "</parameter>"),
    "muse": (
        '<atem:function_calls>{}<atem:invoke name="delete_rows">{}',
        '<atem:parameter name="%s">',
        "</atem:parameter>",
    ),
}
ENDS = {
    "anthropic_xml": "</invoke></function_calls>",
    "minimax_m2": "</invoke></minimax:tool_call>",
    "step3": "</steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
    "qwen3_coder": "</function></tool_call>",
    "seed_oss": "</function></seed:tool_call>",
    "muse": "</atem:invoke></atem:function_calls>",
}


def invoked(format: str, inside: str, gap: str) -> str:
    """`(name` and `)` stand for the tags of a parameter, `|` for a line end or nothing."""
    begin, tag, end = INVOKED[format]
    for name in ("table", "where", "ids"):
        inside = inside.replace(f"({name} ", tag % name)
    return begin.replace("{}", gap) + inside.replace(")", end).replace("|", gap) + gap + ENDS[format]


@pytest.mark.parametrize("gap", ["", "\n"])
@pytest.mark.parametrize("format", INVOKED)
def test_a_parameter_ends_where_the_next_one_begins(format: str, gap: str) -> None:
    for inside in (
        "(table users|(where id = 5)",
        "(table users|(where id = 5",
        "(table users</table>|(where id = 5)",
    ):
        text = invoked(format, inside, gap)
        for tools in (TOOLS, None):
            assert read(text, format, tools) == [("delete_rows", ROW)], text
            assert toolhub.parse(text, format, tools).calls[0].repairs == ["a missing end tag"]
    # Its start tag is missing: nobody knows which one it was.
    text = invoked(format, "(table users)|id = 5)", gap)
    assert read(text, format) == [("delete_rows", None)], text


@pytest.mark.parametrize("format", INVOKED)
@pytest.mark.parametrize(
    "value",
    [
        "see (where x) there",
        "the (table tag and its (table end",
        "write `)` at the end",
        "a ) tag",
        "<a></b> and </table> here",
    ],
)
def test_a_value_may_quote_tags(format: str, value: str) -> None:
    text = invoked(format, f"(where id = 5)(table {value})", "")
    (call,) = toolhub.parse(text, format, TOOLS).calls
    _, tag, end = INVOKED[format]
    for name in ("table", "where"):
        value = value.replace(f"({name} ", tag % name)
    assert (call.error, call.arguments) == (None, {"where": "id = 5", "table": value.replace(")", end)})
