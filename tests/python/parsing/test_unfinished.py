"""A text that was cut never runs a tool with less than the model was about to say."""

import json
from typing import Any

import pytest

import toolhub
from parsing.writers import LITERAL, QUOTED

CALL = ("get_time", {"zone": "UTC", "count": 123, "deep": {"list": [1, 22, "x"]}, "on": True})
TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_time",
        "parameters": {
            "properties": {
                "zone": {"type": "string"},
                "count": {"type": "integer"},
                "deep": {"type": "object"},
                "on": {"type": "boolean"},
            }
        },
    }
]


def made(text: str, format: str) -> list[tuple[str, dict[str, Any]]]:
    calls = toolhub.parse(text, format, TOOLS).calls
    return [(call.name, call.arguments) for call in calls if not call.error]


@pytest.mark.parametrize("format", [format for format in QUOTED if format != "react"])
def test_a_cut_call_is_whole_or_none(format: str) -> None:
    text = QUOTED[format]([CALL])
    for asked in (format, "auto"):
        for end in range(len(text)):
            assert made(text[:end], asked) in ([], [CALL]), text[:end]


NEXT = ("next", {"a": "b"})


@pytest.mark.parametrize("format", [format for format in QUOTED if format != "react"])
def test_a_call_that_the_next_one_cuts_off_is_whole_or_none(format: str) -> None:
    text, after = QUOTED[format]([CALL]), QUOTED[format]([NEXT])
    for asked in (format, "auto"):
        for end in range(len(text)):
            found = made(f"{text[:end]}\n{after}", asked)
            assert all(call in (CALL, NEXT) for call in found), text[:end]


WRITTEN = json.dumps(CALL[1])


@pytest.mark.parametrize("format", [format for format in QUOTED if WRITTEN in QUOTED[format]([CALL])])
def test_arguments_that_go_on_behind_the_end_tag_are_not_made(format: str) -> None:
    text = QUOTED[format]([CALL])
    start = text.index(WRITTEN)
    tail = text[start + len(WRITTEN) :].lstrip("}] \n")
    for asked in (format, "auto"):
        for place, character in enumerate(WRITTEN):
            if character in "{[,:":
                cut = f"{text[: start + place + 1]}{tail}"
                assert made(cut, asked) == [], cut


@pytest.mark.parametrize("given", ['"{"', '"{\\"a\\": 1,"', '"{\\"a\\": ["', '{"a": [1,', "{"])
def test_cut_arguments_before_an_end_tag_are_named(given: str) -> None:
    text = f'<tool_call>{{"name": "get_time", "arguments": {given}</tool_call>'
    (call,) = toolhub.parse(text).calls
    assert (call.name, call.arguments, bool(call.error)) == ("get_time", {}, True)


def test_only_brackets_may_be_missing_before_an_end_tag() -> None:
    for given in ('{"a": 1', '{"a": [1', '{"a": {"b": 1'):
        (call,) = toolhub.parse(f'<tool_call>{{"name": "f", "arguments": {given}</tool_call>').calls
        assert (call.error, call.repairs) == (None, ["missing closing brackets"])
    # What is missing is not part of the arguments.
    assert made('<tool_call>{"name": "f", "arguments": {"a": 1},</tool_call>', "auto") == [("f", {"a": 1})]
    assert made('<tool_call>{"name": "f",</tool_call>', "auto") == []
    listed = '[TOOL_CALLS] [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {[/TOOL_CALLS]'
    found = toolhub.parse(listed).calls
    assert [(call.name, bool(call.error)) for call in found] == [("f", False), ("g", True)]


@pytest.mark.parametrize("format", LITERAL)
def test_a_name_alone_is_no_call(format: str) -> None:
    text = LITERAL[format]([CALL])
    first_value = text.index("UTC")
    for asked in (format, "auto"):
        for end in range(first_value):
            assert made(text[:end], asked) == [], text[:end]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "get_time"',
        '<tool_call>{"name": "get_time", "count": 12',
        '{"name": "get_time"',
        "<tool_call>\n<function=get_time>\n",
        '<function_calls><invoke name="get_time">',
    ],
)
def test_what_is_missing_is_named(text: str) -> None:
    found = toolhub.parse(text, tools=TOOLS)
    assert made(text, "auto") == []
    assert found.text == text or (found.calls[0].error and "ends before" in found.calls[0].error)


def test_a_call_without_arguments_may_lack_its_end_tag() -> None:
    for text in ('<tool_call>{"name": "get_time"}', '<tool_call>{"name": "get_time"</tool_call>'):
        assert made(text, "auto") == [("get_time", {})]
    both = "<tool_call>\n<function=get_time>\n</tool_call>\n<tool_call>\n<function=get_time>\n</function>"
    assert made(both, "auto") == [("get_time", {})] * 2


@pytest.mark.parametrize("format", LITERAL)
def test_a_call_cut_between_two_arguments_is_whole_or_none(format: str) -> None:
    text = LITERAL[format]([CALL])
    for asked in (format, "auto"):
        whole = made(text, asked)
        assert [name for name, _ in whole] == [CALL[0]]
        for end in range(len(text)):
            assert made(text[:end], asked) in ([], whole), text[:end]


# Cut behind the first of two arguments.
CUT_TEXTS = {
    "qwen3_coder": "<tool_call>\n<function=delete_rows>\n<parameter=table>\nusers\n</parameter>\n",
    "seed_oss": "<seed:tool_call>\n<function=delete_rows>\n<parameter=table>users</parameter>",
    "anthropic_xml": '<function_calls>\n<invoke name="delete_rows">\n<parameter name="table">users</parameter>\n',
    "minimax_m2": '<minimax:tool_call>\n<invoke name="delete_rows">\n<parameter name="table">users</parameter>',
    "deepseek_dsml_v4": '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="delete_rows">\n'
    '<｜DSML｜parameter name="table" string="true">users</｜DSML｜parameter>\n',
    "glm45": "<tool_call>delete_rows\n<arg_key>table</arg_key>\n<arg_value>users</arg_value>\n",
    "glm47": "<tool_call>delete_rows<arg_key>table</arg_key><arg_value>users</arg_value>",
    "hunyuan": "<tool_calls><tool_call>delete_rows<tool_sep><arg_key>table</arg_key><arg_value>users</arg_value>",
    "step3": "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>"
    '<steptml:invoke name="delete_rows"><steptml:parameter name="table">users</steptml:parameter>',
    "minicpm5": '<function name="delete_rows"><param name="table">users</param>',
    "muse": '<atem:function_calls>\n<atem:invoke name="delete_rows">\n'
    '<atem:parameter name="table">users</atem:parameter>\n',
    "solar_open2": "<|tool_call:start|>delete_rows\n"
    "<|tool_arg:start|>table<|tool_arg:value|>users<|tool_arg:end|>\n",
    "react": "Thought: clean up\nAction: delete_rows\nAction Input:",
    "react, a line end": "Action: delete_rows\nAction Input: \n",
}


@pytest.mark.anyio
@pytest.mark.parametrize("kind", CUT_TEXTS)
async def test_a_cut_call_does_not_run(kind: str) -> None:
    ran: list[Any] = []
    hub = toolhub.ToolHub()

    @hub.tool
    def delete_rows(table: str = "", where: str | None = None) -> None:
        """Delete rows of a table; without `where`, all of them."""
        ran.append((table, where))

    (result,) = (await hub.run(CUT_TEXTS[kind])).results
    assert not result.success
    assert not ran
    # Nobody knows a tool that is not there yet: it may take other arguments.
    (result,) = (await toolhub.ToolHub().run(CUT_TEXTS[kind])).results
    assert "ends before" in result.error


def known(*names: str, **other: Any) -> list[dict[str, Any]]:
    properties = {name: {"type": "string"} for name in names}
    return [{"name": "delete_rows", "parameters": {"properties": properties, **other}}]


@pytest.mark.parametrize("format", [kind for kind in CUT_TEXTS if "react" not in kind])
def test_what_shows_that_a_call_without_its_end_is_over(format: str) -> None:
    text = CUT_TEXTS[format]

    def calls(text: str, tools: Any) -> list[Any]:
        found = toolhub.parse(text, tools=tools).calls
        return [(call.name, call.arguments, call.repairs) for call in found if not call.error]

    cut = ("delete_rows", {"table": "users"}, ["a missing end tag"])
    # The tool has no other arguments, or nobody said which tools there are.
    assert calls(text, known("table")) == [cut]
    assert calls(text, None) == [cut]
    # The tool takes others, or is not known.
    assert calls(text, known("table", "where")) == []
    assert calls(text, known("table", additionalProperties={"type": "string"})) == []
    assert calls(text, [{"name": "other", "parameters": {}}]) == []
    # Another call follows.
    after = LITERAL[format]([NEXT]).removeprefix("<tool_calls>")
    first, second = calls(text + after, known("table", "where"))
    assert first[:2] == cut[:2]
    assert second[:2] == NEXT


def test_an_action_without_input_is_made_if_its_tool_takes_none_or_an_observation_follows() -> None:
    text = "Action: delete_rows\nAction Input:"
    assert toolhub.parse(text, tools=known()).calls[0].error is None
    for tools in (None, known("table")):
        assert toolhub.parse(text, tools=tools).calls[0].error
        assert toolhub.parse(f"{text}\nObservation: done", tools=tools).calls[0].arguments == {}
    damaged = 'Action: delete_rows\nAction Input: "table": "users", "where": "id = 5"}'
    assert toolhub.parse(damaged, tools=known("table", "where")).calls[0].error
