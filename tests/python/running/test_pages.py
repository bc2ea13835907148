"""Cut results: what a model gets of JSON, and pages that are readable on their own."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolhub import ToolHub

pytestmark = pytest.mark.anyio

NOTE = re.compile(r"\[more: read_more\('(r_[0-9a-f]{16})', (\d+)\), [\d,]+ characters in all\]")
FAMILY, FLAG, ACCENT, SKIN = "👩\u200d👩\u200d👧\u200d👦", "🇩🇪", "e\u0301", "👍🏽"
# No page may begin with one of these: it belongs to the character before it.
INNER = "\u200d\u0301\ufe0f🏽"


def kept(text: str) -> tuple[ToolHub, str]:
    hub = ToolHub()
    hub.register(lambda: text, name="get_text", read_only=True)
    result = hub.call("get_text")
    hub.format(result, 10)
    return hub, result.meta["handle"]


def pages_of(hub: ToolHub, handle: str, limit: int) -> list[str]:
    pages: list[str] = []
    while page := hub.read_more(handle, sum(map(len, pages)), limit):
        pages.append(page)
    return pages


@pytest.mark.parametrize("cluster", [FAMILY, FLAG, ACCENT, SKIN, "क्षि", "\r\n"])
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 8, 100])
def test_pages_end_between_grapheme_clusters(cluster: str, limit: int) -> None:
    text = f"x{cluster * 20}y"
    hub, handle = kept(text)
    pages = pages_of(hub, handle, limit)
    assert "".join(pages) == text
    for page in pages:
        assert re.fullmatch(f"x?({cluster})*y?", page), page
        assert len(page) <= max(limit, len(cluster))


@given(
    parts=st.lists(
        st.sampled_from([FAMILY, FLAG, ACCENT, SKIN, "क्षि", "\r\n", "天气", "plain text. "]), max_size=60
    ),
    limit=st.integers(8, 60),
)
@settings(max_examples=60, deadline=None)
def test_all_pages_are_the_text(parts: list[str], limit: int) -> None:
    text = "".join(parts) + "The end of a text that does not fit."
    hub, handle = kept(text)
    pages = pages_of(hub, handle, limit)
    assert "".join(pages) == text
    assert not any(page[0] in INNER for page in pages)
    assert all(len(page) <= limit for page in pages)
    # A reader that takes steps of one size gets the same text.
    steps = [hub.read_more(handle, offset, limit) for offset in range(0, len(text), limit)]
    assert "".join(steps) == text


async def test_a_model_reads_whole_clusters() -> None:
    text = FAMILY * 2_000
    hub = ToolHub()
    hub.register(lambda: text, name="get_text", read_only=True)
    (shown,) = [m["content"] for m in (await hub.run(call("get_text"), results="openai")).messages]
    handle, at = NOTE.search(shown).groups()  # type: ignore[union-attr]
    read, offset = text[: int(at)], int(at)
    while offset < len(text):
        page = hub.call("read_more", {"handle": handle, "offset": offset}).text
        body, _, note = page.partition("\n[more: ")
        assert body == FAMILY * (len(body) // len(FAMILY))
        read += body
        offset = int(re.search(r", (\d+)\)", note)[1]) if note else len(text)  # type: ignore[index]
    assert read == text


def call(name: str) -> dict[str, Any]:
    function = {"name": name, "arguments": "{}"}
    return {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": function}]}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=8), inner, max_size=9),
    max_leaves=60,
)


@example(value=["\u2028", "\u2029", "\x85"], limit=150)
@given(
    value=st.lists(VALUES, min_size=1) | st.dictionaries(st.text(max_size=8), VALUES, min_size=1),
    limit=st.integers(150, 900),
)
@settings(max_examples=60, deadline=None)
def test_cut_json_is_one_line_of_json_and_one_line_that_says_how_to_read_on(value: Any, limit: int) -> None:
    hub = ToolHub()
    hub.register(lambda: {"padding": "A sentence. " * 90, "value": value}, name="get_value", read_only=True)
    shown = hub.format(hub.call("get_value"), limit)
    assert len(shown) <= limit
    line, _, note = shown.partition("\n")
    assert set(json.loads(line)) & {"padding", "…"}
    assert NOTE.fullmatch(note)


@pytest.mark.parametrize("results", ["openai", "openai_responses", "anthropic", "gemini", "tags"])
async def test_every_format_gets_the_same_lines(results: Any) -> None:
    hub = ToolHub(result_limit=1_000)
    hub.register(lambda: [{"number": n} for n in range(500)], name="get_value", read_only=True)
    outcome = await hub.run(call("get_value"), results=results)
    texts = re.findall(r'"number\\*":0.*?characters in all\]', json.dumps(outcome.messages))
    assert len(texts) == 1, outcome.messages

    def strings(value: Any) -> list[str]:
        inner: list[Any] = list(value.values()) if isinstance(value, dict) else value
        return [text for one in inner for text in strings(one)] if isinstance(inner, list) else [str(value)]

    said = next(text for text in strings(outcome.messages) if "read_more" in text)
    if results == "tags":
        said = json.loads(said.removeprefix("<tool_result>").removesuffix("</tool_result>"))["result"]
    line, note = said.split("\n")
    assert json.loads(line)[0] == {"number": 0}
    assert NOTE.fullmatch(note)
    # The program has the whole value, and the handle.
    (result,) = outcome.results
    assert len(result.result) == 500
    assert result.meta["handle"] == NOTE.fullmatch(note)[1]  # type: ignore[index]
    assert json.loads(result.text) == result.result
