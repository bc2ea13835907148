"""Forms that models really wrote, as reports of 2026 show them: what the format says, and what went wrong."""

from typing import Any

import pytest

import toolhub

from .test_families_2026 import made, read
from .test_forms import tool

TEXT = {"type": "string"}
DSML = """<@tool_calls>
<@invoke name="open">
<@parameter name="path" string="true">a.py</@parameter>
<@parameter name="lines" string="false">[1, 2]</@parameter>
</@invoke>
</@tool_calls>"""


@pytest.mark.parametrize("token", ["｜DSML｜", "|DSML|", "‖DSML‖", "｜｜DSML｜｜"])
@pytest.mark.parametrize("format", ["deepseek_dsml_v4", "auto"])
def test_dsml_whose_token_is_spelt_otherwise(token: str, format: str) -> None:
    opened = [("open", {"path": "a.py", "lines": [1, 2]})]
    text = DSML.replace("@", token)
    assert made(f"I look.\n{text}", format) == opened
    assert read(f"I look.\n{text}", format).text.strip() == "I look."
    assert made(text.replace("tool_calls", "function_calls"), format) == opened
    # Without its opening tag, and with a call that was cut.
    without = text.removeprefix(f"<{token}tool_calls>\n")
    assert made(without, format) == opened
    assert read(without, format).text == ""
    (call,) = read(text[: text.index("a.py") + 2], format).calls
    assert call.error


@pytest.mark.parametrize("text", ["The token is <|DSML| here.", "<‖DSML‖ is a mark", "<｜｜DSML｜｜"])
def test_a_token_that_is_only_mentioned_is_text(text: str) -> None:
    found = read(text, "auto")
    assert (found.calls, found.text) == ([], text)


BASH = tool("bash", command=TEXT, timeout={"type": "integer"})
BASHER = tool("bash_run", command=TEXT)


@pytest.mark.parametrize(
    "head",
    ["bashcommand", "bash command", "bash\ncommand", "bash<tool_call>command", "bash <tool_call> command"],
)
@pytest.mark.parametrize("format", ["glm47", "glm45", "auto"])
def test_glm_without_the_tag_of_its_first_key(head: str, format: str) -> None:
    text = (
        f"<tool_call>{head}</arg_key><arg_value>ls</arg_value>"
        "<arg_key>timeout</arg_key><arg_value>5</arg_value></tool_call>"
    )
    assert made(text, format, [BASHER, BASH]) == [("bash", {"command": "ls", "timeout": 5})]
    (call,) = toolhub.parse(text, format, [BASHER, BASH]).calls
    assert call.repairs == ["a missing start tag"]
    # Where the name ends must be certain: nothing is guessed.
    for tools in (None, [BASHER], [tool("bash", path=TEXT)]):
        assert all(call.error for call in read(text, format, tools).calls)


def test_the_longest_name_of_a_tool_counts() -> None:
    text = "<tool_call>bash_runcommand</arg_key><arg_value>ls</arg_value></tool_call>"
    for tools in ([BASH, BASHER], [BASHER, BASH]):
        assert made(text, "auto", tools) == [("bash_run", {"command": "ls"})]


@pytest.mark.parametrize("surplus", ["</arg_key>", "</arg_key></arg_key>", "\n</arg_key>\n"])
def test_glm_with_more_end_tags_than_keys(surplus: str) -> None:
    text = f"<tool_call>list<arg_key>path</arg_key>{surplus}<arg_value>/tmp</arg_value></tool_call>"
    assert made(text, "glm47") == [("list", {"path": "/tmp"})]
    assert toolhub.parse(text).calls[0].repairs == ["a surplus tag"]


WRITE = tool("Write", path=TEXT)


@pytest.mark.parametrize("key", ["parameters", "arguments"])
def test_a_whole_call_in_place_of_the_arguments(key: str) -> None:
    given = f'{{"name": "Write", "{key}": {{"path": "a"}}}}'
    harmony = f"<|channel|>commentary to=functions.Write <|constrain|>json<|message|>{given}<|call|>"
    kimi = f"<|tool_call_begin|>functions.Write:0<|tool_call_argument_begin|>{given}<|tool_call_end|>"
    for text in (harmony, kimi):
        for tools in (None, [WRITE]):
            assert made(text, "auto", tools) == [("Write", {"path": "a"})]
        assert toolhub.parse(text).calls[0].repairs == ["arguments in a wrapper"]
        # A tool with such parameters, and a call of another tool.
        own: dict[str, Any] = {"properties": {key: {"type": "object"}, "name": TEXT}}
        own = {"name": "Write", "parameters": own}
        assert made(text, "auto", [own]) == [("Write", {"name": "Write", key: {"path": "a"}})]
        other = text.replace('"name": "Write"', '"name": "Other"')
        assert made(other, "auto") == [("Write", {"name": "Other", key: {"path": "a"}})]


CALL = '{"name": "ping", "arguments": {"host": "a"}}'


@pytest.mark.parametrize("mark", ["```", "~~~"])
@pytest.mark.parametrize("format", ["json_fence", "auto"])
def test_json_in_a_fence_of_a_language_is_code(mark: str, format: str) -> None:
    for word in ("python", "py", "Python", "js", "bash", "rust", "c++", "python3"):
        text = f"So:\n{mark}{word}\n{CALL}\n{mark}\nDone."
        found = read(text, format)
        assert (found.calls, found.text) == ([], text), word
    for word in ("", "json", "JSON", "tool_call", "tool", "function_call", "action"):
        assert made(f"So:\n{mark}{word}\n{CALL}\n{mark}\n", format) == [("ping", {"host": "a"})], word


def test_code_does_not_hide_the_calls_after_it() -> None:
    text = f"```python\n{CALL}\n```\n```json\n{CALL}\n```"
    assert made(text, "auto") == [("ping", {"host": "a"})]
