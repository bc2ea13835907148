"""What notebooks get to show: all of it escaped, and nothing called for it."""

import base64
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhub import RunOutcome, ToolHub, ToolResult
from toolhub.agents import Plan, Step
from toolhub.display._html import MOST_CHARACTERS
from toolhub.display._views import _parameter_table
from toolhub.exceptions import ErrorKind, ToolError
from toolhub.servers import ConnectReport

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()
HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)> " \' & \u202e</pre></div>'


def html(thing: Any) -> str:
    shown = thing._repr_mimebundle_()
    assert list(shown) == ["text/html"]
    return shown["text/html"]


def body(thing: Any) -> str:
    """The HTML without its style."""
    return re.sub(r"<style>.*?</style>", "", html(thing), flags=re.DOTALL)


def tags(text: str) -> set[str]:
    return set(re.findall(r"<\s*/?\s*([a-zA-Z]+)", text))


OURS = {"div", "table", "tr", "th", "td", "b", "span", "pre", "code", "img", "audio"}


def hub() -> ToolHub:
    made = ToolHub()

    @made.tool(read_only=True)
    def weather(city: str, days: int = 3) -> str:
        "The weather of a city."
        return f"{city}: sun for {days} days"

    @made.tool
    def delete_everything(sure: bool) -> None:
        "Deletes everything."

    return made


def test_a_hub_shows_its_tools_and_servers_without_starting_any() -> None:
    with hub() as made:
        made.add_server("files", command="no-such-program-anywhere")
        shown = body(made)
        assert "2 tools, 1 servers" in shown
        assert "<b>weather</b>" in shown
        assert "<b>files</b>" in shown
        assert '<span class="good">harmless</span>' in shown
        assert [server.state for server in made.servers()] == ["disconnected"]


def test_a_tool_shows_its_parameters() -> None:
    made = hub()
    tool = made.get("weather")
    assert tool is not None
    shown = body(tool)
    assert "<code>city</code>" in shown
    assert "integer" in shown
    assert "required" in shown
    assert "The weather of a city." in shown
    assert "<code>city</code>" in body(tool.candidates[0])


def test_lists_and_statistics_are_tables_and_still_lists() -> None:
    made = hub()
    made.call("weather", {"city": "Oslo"})
    assert "weather" in body(made.tools())
    hits = made.search("weather")
    assert isinstance(hits, list)
    assert "weather" in body(hits)
    assert made.search("") == []
    assert "100%" in body(made.stats())
    assert "100%" in body(made.stats(rows=True))
    assert made.stats("weather")["weather"][0]["calls"] == 1


def test_a_result_shows_tables_and_texts() -> None:
    rows = [{"city": "Oslo", "t": 3}, {"city": "Rome", "wind": None}]
    shown = body(
        ToolResult(success=True, result=rows, error=None, _meta={"tool": "list", "duration_ms": 1500})
    )
    assert "<th>city</th><th>t</th><th>wind</th>" in shown
    assert "<td>Rome</td><td></td><td>None</td>" in shown
    assert "1.50 s" in shown
    assert "<td>a</td><td>1</td>" in body(ToolResult(success=True, result={"a": 1}))
    assert "<pre>just text</pre>" in body(ToolResult(success=True, result="just text"))
    assert "<pre>[1, 2]</pre>" in body(ToolResult(success=True, result=[1, 2]))


def test_a_failure_shows_its_kind_and_sentence() -> None:
    shown = body(hub().call("wether"))
    assert '<span class="bad">not_found</span>' in shown
    assert "There is no tool named" in shown


def test_the_lanes_of_a_race_show_each_candidate() -> None:
    made = ToolHub(limits={"breaker_threshold": 0})

    def broken(x: int) -> int:
        raise ValueError("no")

    def sound(x: int) -> int:
        return x

    made.register(broken, name="try", priority=0, read_only=True)
    made.register(sound, name="try", priority=1, read_only=True, source="skills")
    result = made.call("try", {"x": 1}, strategy="fallback")
    shown = body(result)
    assert shown.count('class="bar ') == 2
    assert 'class="bar bad"' in shown
    assert 'class="bar good"' in shown
    assert "ValueError" in shown


def test_an_explanation_shows_the_candidates_in_order() -> None:
    shown = body(hub().explain("weather", {"city": "Oslo"}))
    assert "<b>first</b>" in shown
    assert 'class="bar good"' in shown
    assert "The arguments fit." in shown


def test_a_plan_and_a_run() -> None:
    plan = Plan([Step(1, "Look it up", "search"), Step(2, "Add", "calculate", [1])], ["Step 3 was empty."])
    shown = body(plan)
    assert "<code>calculate</code></td><td>1</td>" in shown
    assert "Step 3 was empty." in shown
    made = hub()
    text = 'Let me see. <tool_call>{"name": "weather", "arguments": {"city": "Oslo"}}</tool_call>'
    shown = body(made.run_sync(text))
    assert "Let me see." in shown
    assert "Oslo: sun for 3 days" in shown
    assert "fine" in body(ConnectReport(["fine"], {"bad": ToolError("no", ErrorKind.CONNECT)}))


class Blocks:
    """Content of a server, as the core keeps it."""

    structured = None

    def __init__(self, *content: dict[str, Any]) -> None:
        self.content = list(content)


def with_blocks(*content: dict[str, Any]) -> ToolResult:
    result = ToolResult(success=True, result=list(content), error=None, _meta={"tool": "draw"})
    result._blocks = Blocks(*content)
    return result


def test_images_and_sounds_are_shown() -> None:
    shown = body(
        with_blocks(
            {"type": "text", "text": "here"},
            {"type": "image", "mimeType": "image/png", "data": PIXEL},
            {"type": "audio", "mimeType": "audio/wav", "data": PIXEL},
        )
    )
    assert f'<img src="data:image/png;base64,{PIXEL}"' in shown
    assert "<audio controls" in shown
    assert "<pre>here</pre>" in shown


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "mimeType": "image/svg+xml", "data": PIXEL},
        {"type": "image", "mimeType": 'image/png" onerror="alert(1)', "data": PIXEL},
        {"type": "image", "mimeType": "image/png", "data": '" onerror="alert(1)'},
        {"type": "image", "mimeType": "text/html", "data": PIXEL},
        {"type": "image", "mimeType": ["image/png"], "data": 5},
    ],
)
def test_what_is_no_picture_is_not_shown_as_one(block: dict[str, Any]) -> None:
    shown = body(with_blocks(block))
    assert "<img" not in shown
    assert "onerror=" not in shown.replace("onerror=&quot;", "")


def test_objects_with_a_display_of_their_own_are_shown_by_it() -> None:
    class Frame:
        def _repr_html_(self) -> str:
            return "<table><tr><td>frame</td></tr></table>"

    class Figure:
        def _repr_png_(self) -> bytes:
            return base64.b64decode(PIXEL)

    class Broken:
        def _repr_html_(self) -> str:
            raise RuntimeError

    assert "<td>frame</td>" in body(ToolResult(success=True, result=Frame()))
    assert PIXEL in body(ToolResult(success=True, result=Figure()))
    assert "Broken" in body(ToolResult(success=True, result=Broken()))


def test_long_texts_and_tables_are_cut_and_say_so() -> None:
    shown = body(ToolResult(success=True, result="x" * 100_000))
    assert len(shown) < 2 * MOST_CHARACTERS
    assert "100,000 characters; the first 4,000 are shown." in shown
    assert "70 rows; the first 50 are shown." in body(
        ToolResult(success=True, result=[{"n": n} for n in range(70)])
    )


def hostile_things(text: str) -> list[Any]:
    made = ToolHub()
    schema = {
        "type": "object",
        "properties": {text: {"type": "string", "description": text, "enum": [text], "default": text}},
        "required": [text],
    }
    made.register(lambda **_: text, name="odd", description=text, parameters=schema)
    tool = made.get("odd")
    meta = {"tool": text, "attempts": [{"server": text, "error": text, "ok": False}] * 2}
    return [
        made,
        tool,
        made.tools(),
        made.search("odd"),
        made.stats(),
        made.explain("odd"),
        ToolResult(success=True, result=text, error=None, _meta=meta),
        ToolResult(success=True, result=[{text: text}], error=None, _meta=meta),
        ToolResult(success=True, result={text: [text]}, error=None, _meta=meta),
        ToolResult(success=False, result=None, error=text, _meta=meta),
        with_blocks({"type": "text", "text": text}, {"type": text, "uri": text}),
        Plan([Step(text, text, text, [text])], [text]),
        RunOutcome(text, [], [ToolResult(success=True, result=text)]),
        ConnectReport([text], {text: ToolError(text, ErrorKind.CONNECT)}),
    ]


def test_nothing_of_others_becomes_a_tag() -> None:
    for thing in hostile_things(HOSTILE):
        shown = body(thing)
        assert tags(shown) <= OURS, (thing, shown)
        assert "onerror" not in re.sub(r">[^<]*<", "><", shown)
        assert "\u202e" not in shown
        assert shown.count("<div") == shown.count("</div>")


@given(st.text(max_size=60))
def test_any_text_is_survived_and_escaped(text: str) -> None:
    plain = set(re.findall(r"<\s*/?\s*([a-zA-Z]+)", body(ToolResult(success=True, result="x"))))
    assert tags(body(ToolResult(success=True, result=text))) <= plain
    assert tags(body(ToolResult(success=True, result=[{text: text}]))) <= OURS


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
WORDS = st.sampled_from(["type", "enum", "anyOf", "oneOf", "items", "default", "description"])


@given(st.dictionaries(st.text(max_size=8), JSON | st.dictionaries(WORDS, JSON), max_size=4), JSON)
def test_any_schema_is_survived(properties: dict[str, Any], required: Any) -> None:
    shown = _parameter_table({"properties": properties, "required": required})
    assert shown is None or tags(shown) <= OURS


@given(JSON)
def test_any_value_is_survived(value: Any) -> None:
    assert tags(body(ToolResult(success=True, result=value))) <= OURS
