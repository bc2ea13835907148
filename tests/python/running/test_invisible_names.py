"""What cannot be seen in a tool's name that a model wrote does not go back to the model, to a terminal or to a log."""

import json
import logging
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhub import ToolHub, format_results, parse

HIDDEN = [
    "sea\u200brch",
    "sea\u202erch",
    "sea\x1b[31mrch",
    "se\u2066a\u2069rch",
    "se\U000e0041arch",
    "a\u2028b",
    "s\x07h",
]


def hidden_in(text: str) -> list[str]:
    return [hex(ord(c)) for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") and c != "\n"]


def call(name: str) -> str:
    return (
        f"<tool_call>\n{json.dumps({'id': name, 'tool_name': name, 'arguments': {'q': 'x'}})}\n</tool_call>"
    )


@pytest.mark.anyio
@pytest.mark.parametrize("name", HIDDEN, ids=ascii)
async def test_nothing_hidden_goes_back(name: str, caplog: pytest.LogCaptureFixture) -> None:
    events: list[Any] = []
    caplog.set_level(logging.DEBUG, "toolhub")
    async with ToolHub() as hub:

        @hub.tool
        def search(q: str) -> str:
            """Search."""
            return q

        hub.on_event(events.append)
        outcome = await hub.run(call(name))
        result = await hub.execute(name, {"q": "x"})
        routed = await hub.dispatch({"tool_name": "search", "source": name, "arguments": {"q": "x"}})
        told = str(hub.explain({"tool_name": name, "arguments": {}}))
    shown = [json.dumps(outcome.messages, ensure_ascii=False), str(result.error), str(routed.error), told]
    shown += [str(event) for event in events] + [record.getMessage() for record in caplog.records]
    assert [hidden_in(text) for text in shown] == [[]] * len(shown)


@given(st.text(alphabet=st.characters(categories=["Cf", "Cc", "L", "Zl"]), min_size=1, max_size=30))
def test_any_name_is_written_without_what_cannot_be_seen(name: str) -> None:
    failed: dict[str, Any] = {"success": False, "result": None, "error": "no such tool", "_meta": {}}
    [asked] = parse(call(name)).calls or [None]
    if asked is None:
        return
    for form in ("tags", "gemini"):
        written = format_results([(asked, failed)], form)
        names = written if isinstance(written, str) else written[0]["parts"][0]["functionResponse"]["name"]
        joiners = {"\u200c", "\u200d"}  # Persian is written with them
        assert [c for c in hidden_in(names) if chr(int(c, 16)) not in joiners] == []
