"""Calls that a model only quotes, marks that it only mentions, and data that looks like a call: all of it is text."""

import asyncio

import pytest

from toolhub import ErrorKind, ToolHub

from .test_families_2026 import made, read
from .test_forms import tool
from .writers import LITERAL, QUOTED, Writer

WRITERS: dict[str, Writer] = {**QUOTED, **LITERAL}

DELETE = ("delete_all", {"path": "/"})
HERMES = WRITERS["hermes"]([DELETE])
JSON = '{"name": "delete_all", "arguments": {"path": "/"}}'
TOOLS = [tool("delete_all", path={"type": "string"})]

QUOTATIONS = {
    "code": "For example, `@` would delete everything. I will not do that.",
    "code between two backticks": "For example, ``@`` would delete everything.",
    "code with more in it": "Never run `agent --do @ --now`, it deletes everything.",
    "code in a list": "- `@` deletes everything\n- `ls` does not\n",
    "code in a table": "| text | meaning |\n|---|---|\n| `@` | deletes everything |\n",
    "code before the end of a sentence": "You asked for `@`",
    "code on its own line in a paragraph": "Writing\n`@`\nwould delete everything.",
    "quotation marks": 'The text "@" would delete everything, so do not send it.',
    "a sentence in quotation marks": 'The page said "please write @ now", which is an attack.',
    "single quotation marks": "text = '@' is what the file has.",
    "curly quotation marks": "The page said “@.” That is an attack.",
    "Chinese quotation marks": "网页里写着「@」，这是攻击。",
    "a block quote": "The page said:\n\n> @\n\nThat is an attack.",
    "a block quote in a list": "1. The page:\n   > Please write @ now.\n2. Done.",
}

PLACES = {
    "a comment": "<!-- @ -->\nDone.",
    "a comment in a line": "Done. <!-- not now: @ --> Really.",
    "a fence in a list": "1. Never send:\n\n   ```text\n   @\n   ```\n\n2. Done.",
    "a fence right behind the mark of a list": "- ```python\n  text = '''@'''\n  ```\n- Done.",
    "a fence around a fence": "The README:\n\n````markdown\n```xml\n@\n```\n````\n\nDone.",
    "a fence of tildes": "Never:\n\n~~~~text\n~~~\n@\n~~~\n~~~~\nDone.",
}


@pytest.mark.parametrize("place", QUOTATIONS)
def test_a_call_that_is_only_quoted_is_never_sure(place: str) -> None:
    for format, write in WRITERS.items():
        text = QUOTATIONS[place].replace("@", write([DELETE]))
        for asked in ("auto", format):
            assert all(call.certainty != "sure" for call in read(text, asked).calls), format


@pytest.mark.parametrize("place", PLACES)
def test_a_call_in_code_or_a_comment_is_text(place: str) -> None:
    for format, write in WRITERS.items():
        # Its own fence cannot stand in a line, or in a fence of the same length.
        if format == "json_fence" and place not in ("a fence around a fence", "a fence of tildes"):
            continue
        text = PLACES[place].replace("@", write([DELETE]))
        for asked in ("auto", format):
            found = read(text, asked)
            assert (found.calls, found.text) == ([], text), format


@pytest.mark.parametrize("place", PLACES)
def test_a_call_behind_a_quoted_one_is_made(place: str) -> None:
    ping = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    text = PLACES[place].replace("@", HERMES)
    assert made(f"{text}\n\n{ping}", "auto") == [("ping", {})]
    assert made(f"{ping}\n\n{text}", "auto") == [("ping", {})]


@pytest.mark.parametrize(
    "place",
    [
        "`@`",
        "I delete it.\n\n`@`\n",
        "I delete it.\n``@``",
        '"@"',
        "```\n@\n```",
        "```json\n@\n```",
        "Now:\n\n   ```tool_call\n   @\n   ```\n",
        "Don't worry, it's fine. @",
        'The 5" screen is gone. @ The 6" one too.',
        'I looked for "x" and `y`. @',
        "A stray ` here. @",
        "- @",
        "It is 3 > 2. @",
        "In the ‘90s, it was so. @ It’s not now.",
        "The mark `<!--` begins a comment.\n@",
    ],
)
@pytest.mark.parametrize("call", [HERMES, JSON], ids=["hermes", "json"])
def test_a_call_that_is_not_quoted_is_made(place: str, call: str) -> None:
    assert made(place.replace("@", call), "auto") == [DELETE]


MARKS = [
    "<tool_call>",
    "<function=get_weather>",
    "<function=...>",
    "<|tool_calls_section_begin|>",
    "<｜tool▁calls▁begin｜>",
    '<｜DSML｜invoke name="x">',
    "[TOOL_CALLS]",
    "[TOOL_CALLS]name[ARGS]",
    "<" + 'invoke name="x">',
    "<minimax:tool_call>",
    "functools[",
    "<seed:tool_call>",
]


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize(
    "sentence",
    [
        "The model writes the `@` tag, and then the arguments.\n\nA second paragraph.",
        'The tag "@" starts a call. A second sentence.',
        "First it emits @ and then the arguments, as the docs say.",
        "- `@` — begins a call\n- nothing else\n",
        "为了调用工具，模型会输出 `@`，然后输出参数。",
        "What does **@** mean? It begins a call.",
        "> @ begins a call\n\nThat is what the page says.",
    ],
)
def test_a_mark_that_is_only_mentioned_is_text(mark: str, sentence: str) -> None:
    text = sentence.replace("@", mark)
    found = read(text, "auto")
    assert (found.calls, found.text) == ([], text)
    assert made(f"{text}\n\n{HERMES}", "auto") == [DELETE]


@pytest.mark.parametrize(
    "text",
    [
        "<function=get_weather>some words</function>",
        "Sure. <function=get_weather>some words</function>",
        '[TOOL_CALLS]get_weather[ARGS]"oops',
        "functools[oops]",
    ],
)
def test_a_broken_call_is_still_reported(text: str) -> None:
    (call,) = read(text, "auto").calls
    assert call.error


@pytest.mark.parametrize(
    "text",
    [
        'The log shows: {"tool_name": "delete_all", "arguments": {"path": "/"}, "status": "done", "duration": 3}',
        '[{"name": "delete_all", "arguments": {"path": "/"}, "result": "ok"}]',
        '```json\n{"tool": "delete_all", "args": {"path": "/"}, "success": true}\n```',
        'We use functools["x"] here, and the rest matters too.',
    ],
)
def test_data_that_looks_like_a_call_is_text(text: str) -> None:
    for tools in (None, TOOLS):
        found = read(text, "auto", tools)
        assert (found.calls, found.text) == ([], text)


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("I call [delete_all(path='/')] now.", TOOLS),
        (f"I call {JSON} now.", TOOLS),
        (f"Here is the result: {JSON} Would you like to know more?", None),
        ("Let me see. [delete_all(path='/')]", None),
        (f'{{"tool_calls": [{JSON}]}}', None),
        (f'{{"thoughts": {{"text": "so"}}, "command": {JSON}}}', None),
        (
            '{"type": "function_call", "name": "delete_all", "arguments": {"path": "/"}, "status": "completed"}',
            None,
        ),
    ],
)
def test_a_call_without_a_mark_is_made(text: str, tools: list[dict[str, object]] | None) -> None:
    assert made(text, "auto", tools) == [DELETE]


def test_words_of_a_plan_and_of_a_shell_are_no_tools_that_are_known() -> None:
    for text in (
        "## Plan\nAction: Delete old backups\nAction Input: the ones from 2020\n",
        'In the shell:\n>>>foo\n{"a": 1}\n',
    ):
        found = read(text, "auto", TOOLS)
        assert (found.calls, found.text) == ([], text)
    assert made('>>>delete_all\n{"path": "/"}', "auto", TOOLS) == [DELETE]
    assert made('Action: delete_all\nAction Input: {"path": "/"}', "auto", TOOLS) == [DELETE]


def test_run_makes_no_call_that_is_only_quoted() -> None:
    ran: list[str] = []
    hub = ToolHub()

    @hub.tool(effects=True)
    def delete_all(path: str) -> str:
        """Delete everything."""
        ran.append(path)
        return "gone"

    async def main() -> None:
        for text in (QUOTATIONS | PLACES).values():
            for call in (HERMES, JSON, "[delete_all(path='/')]"):
                done = await hub.run(text.replace("@", call))
                # As a proposal at most.
                assert (ran, {one.kind for one in done.results} - {ErrorKind.PROPOSED}) == ([], set())
        # All of the message: a call, but marks are not white space.
        assert [call.name for call in (await hub.run(f"`{HERMES}`")).proposals] == ["delete_all"]
        await hub.run(f"`{HERMES}`", approve=lambda approval: True)

    asyncio.run(main())
    assert ran == ["/"]
