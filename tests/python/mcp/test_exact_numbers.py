"""Integers of any size and floats arrive as they were sent: from Python to a server, and back."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhub import ToolHub

pytestmark = pytest.mark.anyio

# It gives back what it was sent, as structured content, as text and in `_meta`; `show` gives the digits that it read.
SERVER = """
import json, sys
sys.set_int_max_str_digits(0)
schema = {"type": "object", "properties": {"value": {}}}
bounded = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 2**70 + 1, "maximum": 2**256 - 1}}}
tools = [
    {"name": "echo", "inputSchema": schema, "annotations": {"readOnlyHint": True}},
    {"name": "show", "inputSchema": schema, "annotations": {"readOnlyHint": True}},
    {"name": "bounded", "inputSchema": bounded, "outputSchema": {"properties": {"value": {"maximum": 2**256 - 1}}}},
]
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if "id" not in message:
        continue
    if method == "server/discover":
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    elif method == "tools/list":
        result = {"tools": tools}
    else:
        given = params["arguments"]
        value = given.get("value", given.get("n"))
        result = {"content": [{"type": "text", "text": repr(value)}], "_meta": {"value": value}}
        if params["name"] != "show":
            result["structuredContent"] = {"value": value}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""

HUGE = [2**63, -(2**63) - 1, 2**64 - 1, 2**64, 2**70 + 1, -(10**100) - 7, 10**5000 + 3, 2**100_000 + 1]


@pytest.fixture(scope="module")
async def exact() -> AsyncIterator[ToolHub]:
    async with ToolHub() as hub:
        hub.add_server("s", command=sys.executable, args=["-c", SERVER])
        await hub.connect(["s"])
        yield hub


@pytest.mark.parametrize("number", HUGE, ids=lambda number: f"{number.bit_length()} bits")
async def test_an_integer_of_any_size_arrives_both_ways(exact: ToolHub, number: int) -> None:
    for value in (number, [number, {"deep": [number]}], {"a": {"b": number}}):
        result = await exact.execute("echo", {"value": value}, server="s")
        assert result.success, result.error
        assert result.result == {"value": value}


NUMBERS = (
    st.integers()
    | st.integers(min_value=-(10**400), max_value=10**400)
    | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    NUMBERS | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


async def test_numbers_keep_value_and_type(exact: ToolHub) -> None:
    loop = asyncio.get_running_loop()

    @settings(max_examples=150, deadline=None)
    @given(value=VALUES)
    def check(value: Any) -> None:
        call = exact.execute("echo", {"value": value}, server="s")
        result = asyncio.run_coroutine_threadsafe(call, loop).result()
        assert result.success, result.error
        assert repr(result.result["value"]) == repr(value)

    await asyncio.to_thread(check)


async def test_a_server_reads_the_digits_that_python_wrote(exact: ToolHub) -> None:
    for value in (2**70, 1.0, 1, -0.0, 1e300, 10**30, 1e22, [2**64, 0.1]):
        result = await exact.execute("show", {"value": value}, server="s")
        assert result.result == repr(value)


async def test_an_integer_of_more_than_100000_digits_is_refused_before_it_is_sent(exact: ToolHub) -> None:
    result = await exact.execute("echo", {"value": [1 << 400_000]}, server="s")
    assert result.kind == "invalid_arguments"
    assert "value[0]: the integer has more than 100000 digits" in str(result.error)


async def test_bounds_beyond_64_bits_are_shown_and_checked_exactly(exact: ToolHub) -> None:
    (tool,) = [tool for tool in exact.tools() if tool.name == "bounded"]
    bounds = tool.parameters["properties"]["n"]
    assert (bounds["minimum"], bounds["maximum"]) == (2**70 + 1, 2**256 - 1)
    shown = json.dumps(exact.as_openai())
    assert str(2**256 - 1) in shown
    for fits in (2**70 + 1, 2**256 - 1, str(2**256 - 1)):
        result = await exact.execute("bounded", {"n": fits}, server="s")
        assert (result.success, result.result) == (True, {"value": int(fits)}), result.error
    for too_far in (2**70, 2**256):
        result = await exact.execute("bounded", {"n": too_far}, server="s")
        assert result.kind == "invalid_arguments"


async def test_a_model_and_the_store_keep_the_digits(tmp_path: Path) -> None:
    number = 2**200 + 1
    async with ToolHub(store=tmp_path / "hub.db") as hub:
        hub.add_server("s", command=sys.executable, args=["-c", SERVER])
        await hub.connect(["s"])
        message = {
            "tool_calls": [{"id": "1", "function": {"name": "echo", "arguments": f'{{"value": {number}}}'}}]
        }
        run = await hub.run(message)
        assert run.results[0].result == {"value": number}
        assert str(number) in json.dumps(run.messages)
        text = await hub.run(
            f'<tool_call>{{"name": "echo", "arguments": {{"value": [{number},]}}}}</tool_call>'
        )
        assert text.results[0].result == {"value": [number]}
    async with ToolHub(store=tmp_path / "hub.db") as hub:
        hub.add_server("s", command=sys.executable, args=["-c", SERVER])
        (tool,) = [tool for tool in hub.tools() if tool.name == "bounded"]
        assert tool.parameters["properties"]["n"]["maximum"] == 2**256 - 1


async def test_a_float_beyond_the_range_is_infinite_and_costs_only_itself(hub: ToolHub) -> None:
    # The server reads `1e400` as infinite and writes `Infinity`, which is not JSON, so the test writes it by hand.
    script = SERVER.replace("json.dumps({", "FAR % message['id'] if method == 'tools/call' else json.dumps({")
    far = '{"jsonrpc": "2.0", "id": %d, "result": {"content": [], "structuredContent": {"far": 1e400, "near": [-1e400, 1e5]}}}'
    hub.add_server("s", command=sys.executable, args=["-c", f"FAR = {far!r}\n{script}"])
    result = await hub.execute("echo", server="s")
    assert result.result == {"far": float("inf"), "near": [float("-inf"), 1e5]}
