"""Long texts are read in slices.

The tests count how often the core lets other threads run, and measure no time.
"""

import json
from collections.abc import Callable
from typing import Any

from toolhub import ToolHub, _core

SLICE = 4_000
"""The most values in a slice."""
ROWS = [{"n": n, "inner": [n]} for n in range(10_000)]
VALUES = 4 * len(ROWS)
"""Of each row the row, its two members, and the number in the list."""


def pauses_of(work: Callable[[], Any]) -> int:
    before = _core.gil_pauses()
    work()
    return _core.gil_pauses() - before


def test_a_long_text_with_arguments_is_read_in_slices() -> None:
    hub = ToolHub()

    async def take(rows: list[Any], big: int, share: float) -> list[Any]:
        return [len(rows), rows[-1], big, share]

    hub.register(take)
    given = {"rows": ROWS, "big": 2**70, "share": 0.1}
    text = json.dumps(given, ensure_ascii=False)
    assert hub.call("take", text).result == [10_000, {"n": 9_999, "inner": [9_999]}, 2**70, 0.1]
    # A tool of one text is given the text itself, so nothing else of this call is in slices but the look at what it holds.
    hub.register(
        lambda text: len(text),
        name="measure",
        parameters={"type": "object", "properties": {"text": {"type": "string"}}},
    )
    assert hub.call("measure", text).result == len(text)
    assert pauses_of(lambda: hub.call("measure", text)) >= VALUES // SLICE
    # What only Python takes for JSON is not read.
    odd = text.replace('"share": 0.1', '"share": NaN')
    assert hub.call("take", odd, validate=False).kind == "invalid_arguments"


def test_a_long_error_of_a_tool_is_shown_in_slices() -> None:
    hub, long = ToolHub(), "broken \x1b[31mdisk " * 50_000
    hub.register(lambda: {"success": False, "error": long}, name="fail")
    result = hub.call("fail")
    assert pauses_of(lambda: hub.call("fail")) > 0
    assert str(result.error).startswith("broken disk broken disk")
