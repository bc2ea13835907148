"""Large values are read and released in slices, also those of calls that were given up and those that need an approval.

The tests count how often the core lets other threads run, and measure no time.
"""

import asyncio
import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from toolhub import ToolHub, _core
from toolhub.permissions import Approval

SLICE = 4_000
"""The most values in a slice."""
ROWS = [{"n": n, "inner": [n]} for n in range(10_000)]
RELEASED = 4 * len(ROWS) // SLICE
"""At least this many pauses to release a copy: of each row its entry, its two members, and the list in it."""


def pauses_of(work: Callable[[], Any]) -> int:
    before = _core.gil_pauses()
    work()
    return _core.gil_pauses() - before


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < limit, "it has not become true"
        time.sleep(0.005)


@pytest.mark.parametrize("end", ["returns", "returns its arguments", "raises"])
def test_the_arguments_of_a_function_that_was_given_up_are_released_in_slices(end: str) -> None:
    hub, began, over = ToolHub(), threading.Event(), threading.Event()

    def work(rows: Any) -> Any:
        began.set()
        assert over.wait(30)
        if end == "raises":
            raise ValueError(len(rows))
        return rows if end == "returns its arguments" else len(rows)

    async def give_up() -> None:
        call = asyncio.create_task(hub.execute("work", {"rows": ROWS}))
        assert await asyncio.to_thread(began.wait, 30)
        call.cancel()
        await asyncio.wait({call})

    hub.register(work)
    try:
        asyncio.run(give_up())
        before = _core.gil_pauses()
    finally:
        over.set()
    until(lambda: _core.gil_pauses() - before >= RELEASED)
    assert ROWS[-1] == {"n": 9_999, "inner": [9_999]}


def test_the_arguments_of_a_coroutine_that_was_given_up_are_released_in_slices() -> None:
    hub, over, ended = ToolHub(cancel_grace=0.01), threading.Event(), threading.Event()

    async def stubborn(rows: Any) -> int:
        while not over.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        ended.set()
        return len(rows)

    async def main() -> int:
        await hub.execute("stubborn", {"rows": ROWS}, timeout=0.01)
        before = _core.gil_pauses()
        over.set()
        while not ended.is_set():
            await asyncio.sleep(0.01)
        await asyncio.sleep(0)
        return _core.gil_pauses() - before

    hub.register(stubborn)
    assert asyncio.run(main()) >= RELEASED


def test_what_a_function_that_was_given_up_keeps_of_its_arguments_stays_whole() -> None:
    hub, began, over, kept = ToolHub(), threading.Event(), threading.Event(), list[Any]()

    def work(rows: Any) -> Any:
        kept.extend([rows[17], rows[-1]["inner"]])
        began.set()
        assert over.wait(30)
        return rows

    async def give_up() -> None:
        call = asyncio.create_task(hub.execute("work", {"rows": ROWS}))
        assert await asyncio.to_thread(began.wait, 30)
        call.cancel()
        await asyncio.wait({call})

    hub.register(work)
    try:
        asyncio.run(give_up())
        before = _core.gil_pauses()
    finally:
        over.set()
    until(lambda: _core.gil_pauses() - before >= RELEASED // 2)
    until(lambda: _core.pool_state()[2] == 0)
    assert kept == [{"n": 17, "inner": [17]}, [9_999]]


def test_large_arguments_that_need_an_approval_are_released_in_slices() -> None:
    hub, seen = ToolHub(), list[int]()

    async def send(rows: list[Any]) -> int:
        return len(rows)

    def approve(approval: Approval) -> bool:
        seen.append(len(approval.arguments["rows"]))
        return True

    hub.register(send, effects=True)
    function = {"name": "send", "arguments": json.dumps({"rows": ROWS})}
    message = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]}
    assert hub.run_sync(message).results[0].result == len(ROWS)
    unasked = pauses_of(lambda: hub.run_sync(message))
    asked = pauses_of(lambda: hub.run_sync(message, approve=approve))
    assert seen == [len(ROWS)]
    # Two more copies, one for the question and one that is approved: each is made, and each is released.
    assert asked - unasked >= 2 * RELEASED + 2 * (3 * len(ROWS) // SLICE)


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
    assert pauses_of(lambda: hub.call("measure", text)) >= RELEASED
    # What only Python takes for JSON is not read.
    odd = text.replace('"share": 0.1', '"share": NaN')
    assert hub.call("take", odd, validate=False).kind == "invalid_arguments"


def test_a_long_error_of_a_tool_is_shown_in_slices() -> None:
    hub, long = ToolHub(), "broken \x1b[31mdisk " * 50_000
    hub.register(lambda: {"success": False, "error": long}, name="fail")
    result = hub.call("fail")
    assert pauses_of(lambda: hub.call("fail")) > 0
    assert str(result.error).startswith("broken disk broken disk")
