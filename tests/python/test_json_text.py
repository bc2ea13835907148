"""Data is written as JSON whatever is in it, and long texts let other threads run."""

import json
import math
import threading
from collections import OrderedDict
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolhub
from toolhub import ToolHub, ToolResult, _core, parse
from toolhub._to_plain import readable

KEYS = st.text(max_size=8) | st.integers() | st.floats() | st.booleans() | st.none()
DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=("Cs",)), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=12,
)


def text_of(value: Any) -> str:
    hub = ToolHub()
    hub.register(lambda: value, name="give")
    result = hub.call("give")
    assert result.success, result.error
    return result.text


class Level(IntEnum):
    LOW = 1


class Odd:
    def __str__(self) -> str:
        return 'odd "thing"\n'


CYCLE: list[Any] = []
CYCLE.append(CYCLE)
DEEP: list[Any] = []
for _ in range(300):
    DEEP = [DEEP]


@settings(max_examples=300, deadline=None)
@given(DATA.map(lambda value: [value]))
def test_data_is_written_as_python_writes_it(value: Any) -> None:
    assert text_of(value) == readable(value)


@pytest.mark.parametrize(
    "value",
    [
        [math.nan, math.inf, -math.inf, -0.0, 1e22, 1e-7, 10**30],
        {"control": '\x00\x1f\x7f\x80\x9f\xa0\b\f\n\r\t"\\/', "wide": "é搜😀"},
        OrderedDict(a=[1, Level.LOW]),
        [Odd(), {"x": Odd()}],
        [{1, 2} & {1}],
        {(1, 2): "a name that is not text"},
        ["\ud800 alone"],
        CYCLE,
        DEEP,
        [10**5000],
    ],
    ids=[
        "numbers",
        "texts",
        "subclasses",
        "objects",
        "set",
        "odd name",
        "surrogate",
        "cycle",
        "deep",
        "digits",
    ],
)
def test_unusual_data_is_written_as_before(value: Any) -> None:
    assert text_of(value) == readable(value).replace("\ud800", "\ufffd")


def hold(work: Callable[[], Any]) -> int:
    """How often the GIL was released while it worked."""
    before = _core.gil_pauses()
    work()
    return _core.gil_pauses() - before


ROWS = [{"name": f"row {n}", "value": n} for n in range(20_000)]
TEXTS = {"English": "One more sentence. " * 50_000, "Chinese": "又一句话。" * 100_000}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_gil_is_released_for_long_texts(text: str) -> None:
    hub = ToolHub()
    hub.register(lambda: text, name="give")
    result: ToolResult = hub.call("give")
    call = f'<tool_call>{{"name": "x", "arguments": {{"a": "{text}"}}}}</tool_call>'
    for work in (
        lambda: result.text,
        lambda: hub.format(result),
        lambda: toolhub.format_results([result]),
        lambda: parse(text),
        lambda: parse(call),
        lambda: toolhub.truncate(text, 400_000),
    ):
        assert hold(work) > 0


def test_large_data_is_written_as_json() -> None:
    hub = ToolHub()
    hub.register(lambda: ROWS, name="give", read_only=True)
    assert hub.call("give").text == json.dumps(ROWS, ensure_ascii=False)


def test_data_that_another_thread_changes_is_written_or_shown() -> None:
    hub, over = ToolHub(), threading.Event()
    table = {str(n): [n] for n in range(20_000)}
    hub.register(lambda: table, name="give")
    result = hub.call("give")

    def change() -> None:
        n = 20_000
        while not over.is_set():
            table[str(n)] = [n]
            table.pop(str(n - 20_000))
            n += 1

    other = threading.Thread(target=change)
    other.start()
    for _ in range(5):
        assert result.text.startswith("{")
    over.set()
    other.join()


def test_a_missing_name_among_very_many_is_near_the_right_one() -> None:
    hub = ToolHub()

    def nothing() -> None: ...

    for name in [*(f"tool_{n}" for n in range(1_500)), "search_web"]:
        hub.register(nothing, name=name, parameters={"type": "object"})
    assert "'search_web'" in str(hub.call("serach_web").error)
    assert "'tool_1271'" in str(hub.call("tol_1271").error)
