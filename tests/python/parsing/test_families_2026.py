"""The families of 2026, from the definition of each format: sound, damaged and streamed."""

from typing import Any

import pytest

import toolhub

from .writers import LITERAL, QUOTED, Call, Writer

NEW = [
    "deepseek_dsml_v41",
    "dots",
    "functionary_v32",
    "gigachat3",
    "gigachat35",
    "granite_20b_fc",
    "hunyuan",
    "inkling",
    "iquest_coder",
    "k2_horizon",
    "minicpm5",
    "mirothinker",
    "muse",
    "plamo3",
    "sarashina",
    "solar_open2",
]
WRITERS: dict[str, Writer] = {**QUOTED, **LITERAL}
SOUND: list[list[Call]] = [
    [("now", {})],
    [("weather", {"city": "Paris"})],
    [("weather", {"city": "北京", "unit": "°C"})],
    [("weather", {"city": "Paris"}), ("now", {"zone": "UTC"})],
    [("note", {"text": "two\nlines, {brackets} and [more]"})],
    [("tags", {"list": ["a", "b"], "map": {"k": {"n": 1}}})],
    [("a.b-c_d", {"x": "1 < 2 && 3 > 2"})],
]


def read(text: str, format: str, tools: Any = None) -> toolhub.ParseResult:
    """As a whole; a stream of any deltas gives the same."""
    found = toolhub.parse(text, format, tools)
    for size in (1, 5, 33):
        stream = toolhub.StreamParser(format, tools)
        events = [event for at in range(0, len(text), size) for event in stream.feed(text[at : at + size])]
        events += stream.finish()
        assert [call.to_dict() for call in stream.calls] == [call.to_dict() for call in found.calls], text
        assert "".join(event["text"] for event in events if event["type"] == "text") == found.text
    return found


def made(text: str, format: str, tools: Any = None) -> list[Call]:
    found = read(text, format, tools)
    assert [call.error for call in found.calls] == [None] * len(found.calls), text
    return [(call.name, call.arguments) for call in found.calls]


@pytest.mark.parametrize("format", NEW)
@pytest.mark.parametrize("calls", SOUND)
def test_sound_calls(format: str, calls: list[Call]) -> None:
    text = WRITERS[format](calls)
    for asked in (format, "auto"):
        found = read(text, asked)
        assert [(call.name, call.arguments, call.repairs) for call in found.calls] == [
            (*call, []) for call in calls
        ]
        assert found.text.strip() == ""
        assert found.format == format
        around = read(f"Let me see.\n{text}\nDone.", asked)
        assert len(around.calls) == len(calls)
        assert around.text.split() == ["Let", "me", "see.", "Done."]


@pytest.mark.parametrize("format", NEW)
def test_a_text_that_ends_anywhere(format: str) -> None:
    text = WRITERS[format]([("weather", {"city": "Paris"}), ("now", {"zone": "UTC"})])
    for end in range(len(text)):
        for asked in (format, "auto"):
            sound = [call for call in read(text[:end], asked).calls if call.error is None]
            expected = [("weather", {"city": "Paris"}), ("now", {"zone": "UTC"})]
            # Nothing is invented: a call comes whole or not at all.
            assert [(call.name, call.arguments) for call in sound] == expected[: len(sound)], text[:end]


@pytest.mark.parametrize("format", NEW)
def test_a_call_in_reasoning_is_text(format: str) -> None:
    thought = WRITERS[format]([("delete_all", {})])
    text = WRITERS[format]([("now", {})])
    assert [name for name, _ in made(f"Perhaps {thought}\nNo.</think>\n{text}", format)] == ["now"]
    assert [name for name, _ in made(f"<think>Perhaps {thought}\nNo.</think>\n{text}", format)] == ["now"]


@pytest.mark.parametrize(
    ("family", "format"),
    [
        ("berrylm", "qwen3_coder"),
        ("ling3", "glm45"),
        ("poolside_v1", "glm47"),
        ("spark25", "glm45"),
        ("spark3", "glm45"),
    ],
)
@pytest.mark.parametrize("calls", SOUND)
def test_a_family_that_writes_as_another_one(family: str, format: str, calls: list[Call]) -> None:
    text = WRITERS[format](calls)
    assert made(text, family) == calls
    assert toolhub.parse(text, family).format in toolhub.formats()
    assert family not in toolhub.formats()


@pytest.mark.parametrize("tag", ["think", "think_fast", "think_faster"])
def test_reasoning_of_k2_horizon(tag: str) -> None:
    thought = WRITERS["k2_horizon"]([("delete_all", {})])
    text = WRITERS["k2_horizon"]([("now", {})])
    for opening in (f"<ifm|{tag}>", ""):
        for format in ("k2_horizon", "auto"):
            assert made(f"{opening}{thought}</ifm|{tag}>{text}", format) == [("now", {})]


TYPED = [
    {
        "name": "plan",
        "parameters": {
            "properties": {
                "days": {"type": "integer"},
                "ratio": {"type": "float"},
                "deep": {"type": "bool"},
                "more": {"type": "dict"},
                "code": {"type": "string"},
            }
        },
    }
]


@pytest.mark.parametrize(
    "format", ["dots", "hunyuan", "iquest_coder", "k2_horizon", "minicpm5", "muse", "solar_open2"]
)
def test_the_schema_gives_types(format: str) -> None:
    given = {"days": 3, "ratio": 0.5, "deep": True, "more": {"a": 1}, "code": "007"}
    assert made(LITERAL[format]([("plan", given)]), format, TYPED) == [("plan", given)]


SPECIAL: list[tuple[str, str, list[Call], str]] = [
    (
        "deepseek_dsml_v41",
        '<｜DSML｜ invoke name="f"><｜DSML｜ parameter name="n" string="false">5</｜DSML｜ parameter></｜DSML｜ invoke>',
        [("f", {"n": 5})],
        "",
    ),
    (
        "deepseek_dsml_v41",
        '<｜DSML｜ calls><｜DSML｜ invoke name="f">{"n": 5}</｜DSML｜ invoke></｜DSML｜ calls>',
        [("f", {"n": 5})],
        "",
    ),
    (
        "deepseek_dsml_v41",
        '<｜DSML｜ tool_calls><｜DSML｜ invoke name="a::f"></｜DSML｜ invoke></｜DSML｜ calls>',
        [("a::f", {})],
        "",
    ),
    ("hunyuan", "<tool_calls><tool_call>f<tool_sep></tool_call></tool_calls>", [("f", {})], ""),
    (
        "hunyuan",
        "<tool_calls:opensource><tool_call:opensource>f<arg_key:opensource>k</arg_key:opensource>"
        "<arg_value:opensource>v</arg_value:opensource></tool_call:opensource></tool_calls:opensource>",
        [("f", {"k": "v"})],
        "",
    ),
    ("hunyuan", "<tool_call:6124c78e>f</tool_call:6124c78e>", [("f", {})], ""),
    (
        "hunyuan",
        "<tool_call>f<tool_sep><arg_key>k</arg_key><arg_value>v</tool_call>",
        [("f", {"k": "v"})],
        "",
    ),
    ("minicpm5", "<function name='f'><param name='k'>v</param></function>", [("f", {"k": "v"})], ""),
    (
        "minicpm5",
        '<function name="f"><param name="k">a &lt; b &amp;&amp; c</param></function>',
        [("f", {"k": "a < b && c"})],
        "",
    ),
    (
        "minicpm5",
        '<function name="f"><param name="k"><![CDATA[</param>]]></param></function>',
        [("f", {"k": "</param>"})],
        "",
    ),
    (
        "muse",
        ' to=self<|message|>Look it up.<|eom|><|start|>assistant to=f<|message|><atem:function_calls>\n<atem:invoke name="f">\n'
        '<atem:parameter name="k">v</atem:parameter>\n</atem:invoke>\n</atem:function_calls>',
        [("f", {"k": "v"})],
        "",
    ),
    ("muse", "<|start|>assistant to=user<|message|>Hello.<|eot|>", [], "Hello.<|eot|>"),
    (
        "muse",
        '<atem:invoke name="f"><atem:parameter name="k">v</atem:parameter></atem:invoke>',
        [("f", {"k": "v"})],
        "",
    ),
    (
        "dots",
        '<dots_function_call>{"name": "f", "arguments": {"k": 1}}</dots_function_call>',
        [("f", {"k": 1})],
        "",
    ),
    (
        "dots",
        "<dots_function_call><invoke name=f><parameter name=k>v</parameter></invoke></dots_function_call>",
        [("f", {"k": "v"})],
        "",
    ),
    ("dots", '<dots_function_call>\n<invoke name="f">\n</invoke>', [("f", {})], ""),
    (
        "inkling",
        '<|content_invoke_tool_json|>{"name": "f", "args": {"k": 1}}<|end_message|>',
        [("f", {"k": 1})],
        "",
    ),
    ("inkling", '<|message_model|>f<|content_invoke_tool_json|>{"name": "f", "args": {}}', [("f", {})], ""),
    (
        "inkling",
        '<|content_invoke_tool_json|>{"name": "f", "args": {"k": 1,}}<|end_message|>',
        [("f", {"k": 1})],
        "",
    ),
    (
        "gigachat3",
        'Sure.<|message_sep|>function call<|role_sep|>\n{"name": "f", "arguments": {"k": 1}}</s>',
        [("f", {"k": 1})],
        "Sure.",
    ),
    ("gigachat3", 'Sure.<|function_call|>{"name": "f", "arguments": {"k": 1}}', [("f", {"k": 1})], "Sure."),
    ("gigachat3", "<|function_call|>{'name': 'f', 'arguments': {}}", [("f", {})], ""),
    (
        "functionary_v32",
        '>>>all\nLet me see.>>>f\n{"k": 1}\n>>>g\n{}',
        [("f", {"k": 1}), ("g", {})],
        "Let me see.",
    ),
    ("functionary_v32", ">>> f(1)\n2", [], ">>> f(1)\n2"),
    ("functionary_v32", '>>>f\n{"k": [1, 2,]}<|eot_id|>', [("f", {"k": [1, 2]})], ""),
    (
        "granite_20b_fc",
        '<function_call> {"name": "f", "arguments": {}} <function_call> {"name": "g", "arguments": {}}',
        [("f", {}), ("g", {})],
        "",
    ),
    ("granite_20b_fc", '<function_call>{"name": "f", "arguments": {"k": 1}', [("f", {"k": 1})], ""),
    ("granite_20b_fc", "Write <function_call> before it.", [], "Write <function_call> before it."),
    (
        "harmony",
        ' to=functions.f<|channel|>commentary json<|message|>{"k": 1}<|call|>',
        [("f", {"k": 1})],
        "",
    ),
    ("harmony", "to=functions.f <|constrain|>json<|message|>{}", [("f", {})], ""),
    (
        "kimi_k2",
        "<think>I look it up.<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>",
        [("f", {})],
        "<think>I look it up.",
    ),
]


@pytest.mark.parametrize(("format", "text", "calls", "around"), SPECIAL)
def test_forms_of_their_own(format: str, text: str, calls: list[Call], around: str) -> None:
    for asked in (format, "auto"):
        assert made(text, asked) == calls
        assert toolhub.parse(text, asked).text.strip() == around


def test_kimi_calls_that_its_reasoning_closes_are_text() -> None:
    section = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.{}:0<|tool_call_argument_begin|>{{}}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    )
    text = f"<think>{section.format('delete_all')}No.</think>{section.format('ping')}"
    for asked in ("kimi_k2", "auto"):
        assert made(text, asked) == [("ping", {})]


def test_descriptions_of_other_apis() -> None:
    text = "<tool_call><function=plan><parameter=days>3</parameter></function></tool_call>"
    declaration = {
        "name": "plan",
        "parameters": {"type": "OBJECT", "properties": {"days": {"type": "INTEGER"}}},
    }
    for tools in (
        [{"functionDeclarations": [declaration]}, {"googleSearch": {}}],
        [{"function_declarations": [declaration]}],
        [{"type": "web_search"}, {"type": "function", **declaration}],
        [{"type": "web_search_20250305", "name": "web_search"}, declaration],
    ):
        assert made(text, "auto", tools) == [("plan", {"days": 3})]
    with pytest.raises(ValueError, match="each of the tools must have a name"):
        toolhub.parse(text, tools=[{"parameters": {}, "description": "no name"}])


def test_code_between_tildes_is_text() -> None:
    call = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    assert made(f"~~~python\n{call}\n~~~\n{call}", "auto") == [("ping", {})]
