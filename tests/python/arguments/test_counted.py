"""Arguments are counted before they are written out, and numbers that JSON cannot write are refused."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from typing import Any

import pytest

from toolhub import ErrorKind, ToolHub, parse
from toolhub.cli import main

from .conftest import Mirror

MOST = 200_000

# In a process of its own, with little memory: a range that is written out takes 21 GB.
CHILD = """
import json, resource
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
from collections.abc import Sequence
from toolhub import ToolHub

class Endless(Sequence):
    "Says that it is empty and never ends."
    def __len__(self): return 0
    def __getitem__(self, at): return at

class Text(str):
    def __len__(self): return 10**12

hub = ToolHub()

@hub.tool
def count(items: list[int]) -> int:
    "Count."
    return len(items)

@hub.tool(parameters={"type": "object", "properties": {"items": {}}})
def write(**given) -> str:
    "Write."
    return "written"

huge = [range(10**9), [range(10**9)], {"deep": [range(10**9)]}, Endless(), range(10**30), [range(1000)] * 1000]
for name in ("count", "write"):
    for items in huge:
        if name == "count" and isinstance(items, Endless):
            continue  # it is the function's own hint that reads it
        result = hub.call(name, {"items": items}, deadline=60)
        print(json.dumps([name, str(items)[:30], result.success, result.meta["error"]["kind"], result.error]))
print(json.dumps(hub.call("write", {"items": Text("short")}).result))
print(json.dumps(hub.call("write", {"items": range(1000)}).result))
"""


def test_huge_sequences_are_refused_by_counting() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=45, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    *refused, text, numbers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert (text, numbers) == ("written", "written")
    for name, items, success, kind, error in refused:
        assert not success, (name, items)
        if name == "count" and items.startswith("[range(0, 1000)"):
            assert kind == "invalid_arguments", "its hint asks for integers"
            continue
        assert kind == "limit", (name, items, error)
        assert f"more than {MOST} values" in error


@pytest.mark.anyio
async def test_more_than_two_hundred_thousand_values_are_refused(mirror: Mirror) -> None:
    async with mirror({"type": "object", "properties": {"rows": {"type": "array"}}}) as call:
        assert (await call({"rows": [0] * (MOST - 10)})).success
        too_many = await call({"rows": [[0, 1]] * (MOST // 3 + 1)})
    assert too_many.meta["error"]["kind"] == ErrorKind.LIMIT
    assert f"more than {MOST} values" in str(too_many.error)


CALL = '<tool_call>\n{"tool_name": "half", "arguments": {"x": %s}}\n</tool_call>'


@pytest.mark.parametrize("number", ["1e999", "-1e999", "[1, 1e400]", '{"deep": 1e999}'])
@pytest.mark.anyio
async def test_a_number_of_a_model_that_no_float_can_hold_is_refused(number: str) -> None:
    got: list[Any] = []
    async with ToolHub() as hub:

        @hub.tool(read_only=True)
        def half(x: Any) -> str:
            """Halve."""
            got.append(x)
            return "half"

        @hub.tool(read_only=True)
        def both(x: Any, y: int) -> str:
            """Take two."""
            got.append(x)
            return "both"

        outcome = await hub.run(CALL % number)
        dispatched = await hub.dispatch(parse(CALL % number).calls[0])
        texts = await hub.execute("both", f'{{"x": {number}, "y": 2}}')
    assert got == []
    for result in (outcome.results[0], dispatched, texts):
        assert not result.success
        assert result.meta["error"]["kind"] == ErrorKind.INVALID_ARGUMENTS, result.error
    assert "x" in str(dispatched.error)
    assert "expected a number that a float can hold" in str(dispatched.error)


@pytest.mark.anyio
async def test_text_that_holds_such_a_number_is_not_read_as_an_object(mirror: Mirror) -> None:
    schema = {"type": "object", "properties": {"o": {"type": "object"}}}
    async with mirror(schema) as call:
        assert (await call({"o": '{"a": 1e300}'})).success
        refused = await call({"o": '{"a": 1e999}'})
    assert refused.meta["error"]["kind"] == ErrorKind.INVALID_ARGUMENTS


@pytest.mark.parametrize("word", ["x:=1e999", "x:=NaN", "x:=-Infinity", '{"x": 1e999}', '{"x": [NaN]}'])
def test_the_command_line_takes_finite_numbers_only(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "demo", word]) == 2
    assert "is not a number that a tool can get" in capsys.readouterr().err


def test_a_float_of_python_code_stays_what_it_is() -> None:
    with ToolHub() as hub:

        @hub.tool
        def half(x: float) -> float:
            """Halve."""
            return x / 2

        assert hub.call("half", {"x": math.inf}).result == math.inf
