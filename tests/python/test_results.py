"""Results: real dicts with attributes, the same shape for every end of a call."""

import asyncio
import copy
import json
import pickle
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tools import Endless, Run, Scripted, offer
from toolhub import ErrorKind, ToolError, ToolHub, ToolResult


@pytest.fixture
def hub() -> ToolHub:
    return ToolHub()


META = {
    "tool",
    "source",
    "server",
    "strategy",
    "synthesized",
    "synthesis_method",
    "source_count",
    "sources",
    "attempts",
    "duration_ms",
    "truncated",
    "cached",
}


def test_a_result_is_a_real_dict_that_json_can_write(hub: ToolHub) -> None:
    hub.register(lambda: {"rows": [1, 2]}, name="t")
    result = hub.call("t")
    assert isinstance(result, dict)
    assert type(result) is ToolResult
    assert list(result) == ["success", "result", "error", "_meta"]
    assert json.loads(json.dumps(result)) == result
    assert {**result} == result == dict(result)
    assert result["result"] == {"rows": [1, 2]}
    assert result.get("nothing") is None


def test_attributes_say_the_same_as_keys(hub: ToolHub) -> None:
    hub.register(lambda: 5, name="t")
    result = hub.call("t")
    assert (result.success, result.result, result.error) == (True, 5, None)
    assert result.meta is result["_meta"]
    assert result.kind is None
    assert result.exception is None
    assert (result.unwrap(), result.full(), bool(result)) == (5, 5, True)
    result["result"] = 6
    assert result.result == 6
    failed = hub.call("nobody")
    assert (failed.success, failed.result, bool(failed)) == (False, None, False)
    assert failed.error == failed["error"]
    assert failed.kind is ErrorKind.NOT_FOUND


def test_every_end_of_a_call_has_the_same_keys(run: Run) -> None:
    hub = ToolHub(timeout=0.01)
    hub.register(lambda: 1, name="good", timeout=30)
    hub.register(Scripted(OSError("x")), name="bad", timeout=30)
    hub.register(Endless(), name="endless")
    hub.register(lambda a: a, name="picky")
    results = [run(hub.execute(name)) for name in ("good", "bad", "endless", "picky", "nobody")]
    results.append(run(hub.execute_by_capability("no such thing")))
    hub.close()
    results.append(run(hub.execute("good")))
    for result in results:
        assert set(result) == {"success", "result", "error", "_meta"}
        assert set(result.meta) >= META
        json.dumps(result)
        if not result.success:
            error = result.meta["error"]
            assert set(error) >= {"kind", "code", "status", "retry_after", "retryable", "outcome"}
            assert error["outcome"] in ("not_sent", "failed", "unknown")
            assert result.error
            assert "\n" not in result.error


def test_meta_tells_who_answered_and_how_long_it_took(hub: ToolHub) -> None:
    hub.register(lambda: 1, name="t", source="mcps", server="brave")
    meta = hub.call("t").meta
    assert (meta["tool"], meta["source"], meta["server"]) == ("t", "mcps", "brave")
    assert (meta["sources"], meta["source_count"]) == (["mcps"], 1)
    assert (meta["synthesized"], meta["synthesis_method"], meta["cached"]) == (False, None, False)
    (attempt,) = meta["attempts"]
    assert (attempt["tool"], attempt["source"], attempt["server"]) == ("t", "mcps", "brave")
    assert (attempt["ok"], attempt["error"]) == (True, None)
    assert 0 <= attempt["duration_ms"] <= meta["duration_ms"]


def test_meta_lists_every_attempt_and_what_it_answered(hub: ToolHub) -> None:
    offer(hub, "t", a=Scripted(OSError("disk")), b=Scripted({"success": False}), c=Scripted("fine"))
    meta = hub.call("t", strategy="fallback").meta
    assert [(row["server"], row["ok"]) for row in meta["attempts"]] == [
        ("a", False),
        ("b", False),
        ("c", True),
    ]
    assert [row["server"] for row in meta["errors"]] == ["a", "b"]
    assert "disk" in meta["errors"][0]["error"]
    assert "without an error" in meta["errors"][1]["error"]


@pytest.mark.parametrize(
    "value",
    [
        0,
        "",
        False,
        [],
        {},
        0.0,
        "text",
        [1],
        {"a": 1},
        None,
        {"error": "no"},
    ],
    ids=repr,
)
@pytest.mark.parametrize("is_async", [False, True])
def test_any_value_is_a_success_and_comes_as_it_is(hub: ToolHub, value: Any, is_async: bool) -> None:
    async def later() -> Any:
        return value

    hub.register(later if is_async else (lambda: value), name="t")
    result = hub.call("t")
    assert result.success
    assert result.result is value


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"success": False, "error": "no disk"}, "no disk"),
        ({"success": False, "message": "no paper"}, "no paper"),
        ({"success": False, "error": None, "message": "no paper"}, "no paper"),
        ({"success": False, "error": {"code": 5}}, "5"),
        ({"success": False}, "success: False"),
        (ToolResult(success=False, error="inner failure"), "inner failure"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("is_async", [False, True])
def test_success_false_is_a_failure(hub: ToolHub, value: Any, told: str, is_async: bool) -> None:
    async def later() -> Any:
        return value

    hub.register(later if is_async else (lambda: value), name="t")
    result = hub.call("t")
    assert not result.success
    assert result.kind is ErrorKind.TOOL_ERROR
    assert result.result is None
    assert told in str(result.error)


def test_text_is_the_value_as_a_reader_wants_it(hub: ToolHub) -> None:
    for value, text in [
        ("plain", "plain"),
        (5, "5"),
        ({"é": [1, None]}, '{"é": [1, null]}'),
        ((1, 2), "[1, 2]"),
        (b"bytes", "bytes"),
        (True, "True"),
    ]:
        hub.register(lambda value=value: value, name="t", replace=True)
        assert hub.call("t").text == text
    assert hub.call("nobody").text == hub.call("nobody").error


def test_unwrap_raises_a_tool_error_with_kind_sentence_result_and_cause(hub: ToolHub) -> None:
    hub.register(Scripted(KeyError("missing")), name="t")
    result = hub.call("t")
    with pytest.raises(ToolError) as caught:
        result.unwrap()
    assert caught.value.kind is ErrorKind.TOOL_ERROR
    assert caught.value.result is result
    assert str(caught.value) == result.error
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(ToolError, match="nobody") as caught:
        hub.call("nobody").unwrap()
    assert caught.value.kind is ErrorKind.NOT_FOUND
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_an_exception_keeps_the_traceback_of_the_tool(
    hub: ToolHub, run: Run, is_async: bool, count: int
) -> None:
    def helper() -> None:
        raise ZeroDivisionError("by design")

    def sync_tool() -> None:
        helper()

    async def async_tool() -> None:
        await asyncio.sleep(0)
        helper()

    for n in range(count):
        tool = async_tool if is_async else sync_tool
        hub.register(tool, name="t", source="mcps", server=f"s{n}")
    result = run(hub.execute("t", strategy="first"))
    assert isinstance(result.exception, ZeroDivisionError)
    names = [frame.name for frame in traceback.extract_tb(result.exception.__traceback__)]
    assert names[-2:] == ["async_tool" if is_async else "sync_tool", "helper"]
    assert result.error == "Tool 't' raised ZeroDivisionError: by design"


def test_a_failure_that_is_no_exception_has_none(hub: ToolHub) -> None:
    hub.register(lambda: {"success": False}, name="t")
    assert hub.call("t").exception is None


def test_the_exception_belongs_to_the_error_that_is_told(hub: ToolHub) -> None:
    offer(hub, "t", a=Scripted(OSError("first")), b=Scripted(ValueError("second")))
    result = hub.call("t", strategy="fallback")
    assert "first" in str(result.error)
    assert isinstance(result.exception, OSError)


def test_results_can_be_copied_and_pickled(hub: ToolHub) -> None:
    hub.register(lambda: [1], name="t")
    result = hub.call("t")
    again = pickle.loads(pickle.dumps(result))
    assert type(again) is ToolResult
    assert again == result
    deep = copy.deepcopy(result)
    deep.result.append(2)
    assert result.result == [1]
    failed = hub.call("nobody")
    assert pickle.loads(pickle.dumps(failed)).kind is ErrorKind.NOT_FOUND


def test_reading_an_attribute_does_not_change_the_dict() -> None:
    result = ToolResult(success=True, result=1)
    assert (result.kind, result.error, result.exception, result.text) == (None, None, None, "1")
    assert result == {"success": True, "result": 1}


def test_two_calls_share_no_part_of_their_results(hub: ToolHub) -> None:
    hub.register(lambda: 1, name="t")
    one, two = hub.call("t"), hub.call("t")
    one.meta["attempts"].clear()
    one.meta["sources"].append("else")
    assert len(two.meta["attempts"]) == 1
    assert two.meta["sources"] == ["tools"]
    assert len(hub.call("t").meta["attempts"]) == 1


def test_a_result_shows_itself(hub: ToolHub) -> None:
    hub.register(lambda: 1, name="t")
    assert repr(hub.call("t")) == "ToolResult(success=True, tool='t', text='1')"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


@given(value=values)
def test_any_value_that_a_tool_returns_comes_back_unchanged(value: Any) -> None:
    hub = ToolHub()
    hub.register(lambda: value, name="t")
    result = hub.call("t")
    if isinstance(value, dict) and "success" in value:
        assert result.success == bool(value["success"])
    else:
        assert result.result is value
        assert isinstance(result.text, str)
    assert ToolResult(json.loads(json.dumps(result.meta))) == result.meta


stats_of_one = {"tool", "source", "server", "calls", "successes", "failures", "success_rate", "success_ewma"}


def test_stats_count_calls_successes_failures_by_kind_and_latency(run: Run) -> None:
    hub = ToolHub()
    hub.register(Scripted(1, OSError("x"), ToolError("y", kind="auth"), 1, {"success": False}), name="t")
    hub.register(Endless(), name="endless", timeout=0.01)
    hub.register(lambda a: a, name="never_called")
    for _ in range(5):
        run(hub.execute("t"))
    run(hub.execute("endless"))
    run(hub.execute("never_called", {}))
    stats = hub.stats()
    assert list(stats) == ["t", "endless", "never_called"]
    (row,) = stats["t"]
    assert set(row) >= stats_of_one
    assert (row["calls"], row["successes"], row["failures"]) == (5, 2, {"tool_error": 2, "auth": 1})
    assert row["success_rate"] == 2 / 5
    assert 0 < row["success_ewma"] < 1
    assert all(
        row[key] >= 0 for key in ("latency_ewma_ms", "latency_p50_ms", "latency_p95_ms", "last_success")
    )
    assert stats["endless"][0]["failures"] == {"timeout": 1}
    assert (stats["endless"][0]["success_rate"], stats["endless"][0]["success_ewma"]) == (0.0, 0.8)
    (fresh,) = stats["never_called"]
    assert (fresh["calls"], fresh["failures"], fresh["last_success"], fresh["latency_p50_ms"]) == (
        0,
        {},
        None,
        None,
    )
    assert hub.stats("endless") == {"endless": stats["endless"]}
    assert hub.stats("nobody") == {}
    assert hub.get("t").candidates[0].stats == row
    json.dumps(stats)
