"""Arguments that are built to hurt: endless schemas and patterns, deep and large values, hostile objects."""

import asyncio
import datetime
import logging
import re
import subprocess
import sys
import textwrap
import tracemalloc
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

import toolhub
from toolhub import ToolHub


@pytest.fixture
def hub() -> Iterator[ToolHub]:
    with ToolHub() as hub:
        yield hub


def costly_schema() -> dict[str, Any]:
    """A union of 60 levels, each of which leads to the next one twice."""
    defs: dict[str, Any] = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    defs["d60"] = {"type": "integer"}
    properties = {"a": {"$ref": "#/$defs/d0"}, "b": {"type": "integer"}}
    return {"type": "object", "properties": properties, "required": ["b"], "$defs": defs}


def test_a_schema_above_the_bound_is_checked_as_far_as_it_goes(hub: ToolHub) -> None:
    hub.register(lambda **given: given, name="costly", parameters=costly_schema())
    result = hub.call("costly", {"a": "x", "b": 1})
    assert result.success
    (sentence,) = result.meta["unchecked"]
    assert "may take too long" in sentence
    assert hub.call("costly", {"a": "x", "b": "many"}).kind == "invalid_arguments"


@pytest.mark.timeout(60)
def test_a_union_is_checked_as_deeply_as_that_can_be_paid(hub: ToolHub) -> None:
    """Each level has three branches that look at the next one: 3 ** 40 paths lead to the innermost value."""
    branch = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "required": ["a"]}
    union = {"anyOf": [branch, branch, {**branch, "required": ["a", "q"]}, {"type": "integer"}]}
    schema = {"type": "object", "$defs": {"n": union}, "properties": {"x": {"$ref": "#/$defs/n"}}}
    hub.register(lambda **given: given, name="nested", parameters=schema)
    for depth, kind in ((5, "invalid_arguments"), (40, None)):
        value: Any = "bad"
        for _ in range(depth):
            value = {"a": value}
        result = hub.call("nested", {"x": value}, deadline=30)
        assert result.kind == kind
        assert ("unchecked" in result.meta) == (kind is None)


@pytest.mark.timeout(60)
def test_a_large_pattern_is_skipped(hub: ToolHub) -> None:
    properties = {"x": {"type": "string", "pattern": "(.{0,200}.{0,200}){0,20}q$"}, "y": {"type": "integer"}}
    hub.register(lambda **given: "ran", name="wide", parameters={"type": "object", "properties": properties})
    result = hub.call("wide", {"x": "x" * 500}, deadline=30)
    (sentence,) = result.meta["unchecked"]
    assert sentence.startswith("#/properties/x/pattern is not checked: ")
    assert hub.call("wide", {"x": "x", "y": "many"}).kind == "invalid_arguments"


def test_of_a_schema_that_cannot_be_compiled_the_plain_rules_are_checked(
    hub: ToolHub, caplog: pytest.LogCaptureFixture
) -> None:
    properties = {"a": {"type": "string", "pattern": "("}, "b": {"$ref": "#/nowhere", "maximum": 3}}
    hub.register(
        lambda **given: given, name="half_broken", parameters={"type": "object", "properties": properties}
    )
    with caplog.at_level(logging.WARNING, "toolhub.arguments"):
        result = hub.call("half_broken", {"a": "x", "b": 1})
    (sentence,) = result.meta["unchecked"]
    assert sentence.startswith("#/properties/a/pattern is not checked: it cannot be compiled")
    assert [record.getMessage() for record in caplog.records] == [f"half_broken: {sentence}"]
    (tool,) = hub.tools()
    assert tool.unchecked == [sentence]
    assert sentence in str(hub.explain({"tool_name": "half_broken", "arguments": {}}))
    assert hub.call("half_broken", {"a": 5, "b": 1}, coerce=False).kind == "invalid_arguments"
    assert hub.call("half_broken", {"a": "x", "b": 4}).kind == "invalid_arguments"


def test_look_ahead_is_checked(hub: ToolHub) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?!bad)"}}}
    hub.register(lambda **given: given, name="ahead", parameters=schema)
    assert hub.call("ahead", {"a": "good"}).success
    assert hub.call("ahead", {"a": "bad"}).kind == "invalid_arguments"


class Greedy(BaseModel):
    model_config = ConfigDict(regex_engine="python-re")
    text: Annotated[str, Field(pattern=r"^((x+x+)+y|x+)$")]


@pytest.mark.timeout(30)
def test_patterns_of_fields_cannot_run_forever(hub: ToolHub) -> None:
    """Python's engine needs exponential time for these, also where the text fits."""

    async def take(
        greedy: Greedy | None = None,
        compiled: Annotated[str, Field(pattern=re.compile(r"^((x+x+)+y|x+)$"))] = "x",
        ahead: Annotated[str, Field(pattern=r"^(?!y)")] = "x",
        beside: Annotated[str, Field(pattern=r"^((x+x+)+y|x+)$")] = "x",
    ) -> str:
        return "ok"

    hub.register(take)
    long = "x" * 60
    for fitting in ({"greedy": {"text": long}}, {"compiled": long}, {"beside": long, "ahead": long}):
        assert hub.call("take", fitting).success
    for other in (
        {"greedy": {"text": long + "!"}},
        {"compiled": long + "!"},
        {"ahead": "y"},
        {"beside": long + "!"},
    ):
        assert hub.call("take", other).kind == "invalid_arguments"


@pytest.mark.parametrize("text", ["NaN", "nan", "inf", "-inf", "Infinity", "1e999", "-1e999"])
def test_text_of_a_number_that_is_not_finite_is_refused(hub: ToolHub, text: str) -> None:
    async def numbers(
        one: float = 0,
        many: list[float] | None = None,
        either: int | float | None = None,
        text: str | float = "",
    ) -> list[Any]:
        return [one, many, either, text]

    hub.register(numbers)
    for odd in ({"one": text}, {"many": [text]}, {"many": f"[{text}]"}, {"either": text}):
        assert hub.call("numbers", odd).kind == "invalid_arguments", odd
    assert hub.call("numbers", {"text": text}).result == [0, None, None, text]


SMALL_STACK = """
    import asyncio, threading
    from toolhub import ToolHub

    def nested(levels, kind):
        value = 1
        for _ in range(levels):
            value = [value] if kind is list else {"a": value}
        return value

    TREE = {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/tree"}},
                      {"type": "object", "additionalProperties": {"$ref": "#/$defs/tree"}}]}

    async def main():
        hub = ToolHub()

        async def again(n: int = 0) -> str:
            result = await hub.execute("again", {"n": n + 1})
            return result.result if result.success else result.error

        async def echo(x):
            return x

        hub.register(again)
        hub.register(echo)
        parameters = {"type": "object", "properties": {"x": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": TREE}}
        hub.register(echo, name="tree", parameters=parameters)
        hub.register(echo, name="tree", parameters=parameters, priority=1)
        result = await hub.execute("again", {})
        print("RecursionError" in result.result)
        for levels in (50, 99, 120, 5_000, 100_000):
            for kind in (list, dict):
                for tool in ("echo", "tree"):
                    deep = nested(levels, kind)
                    result = await hub.execute(tool, {"x": deep}, strategy="all" if tool == "tree" else "auto")
                    assert result.success == (levels < 100), (levels, kind, tool, result.error)
                    result = await hub.execute(tool, {"x": "[" * levels + "1" + "]" * levels})
        print("done")

    threading.stack_size(512 * 1024)
    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    thread.join()
"""


def test_deep_recursion_on_a_small_stack_ends_in_an_exception() -> None:
    script = textwrap.dedent(SMALL_STACK)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ended.stdout.split() == ["True", "done"], ended.stderr
    assert ended.returncode == 0


@pytest.mark.parametrize("is_async", [True, False])
def test_what_a_tool_keeps_of_large_arguments_stays_whole(hub: ToolHub, is_async: bool) -> None:
    kept = list[Any]()

    def keep(rows: list[dict[str, Any]]) -> int:
        kept.extend([rows[17], rows[-1]["inner"]])
        return len(rows)

    async def keep_async(rows: list[dict[str, Any]]) -> int:
        return keep(rows)

    hub.register(keep_async if is_async else keep, name="keep")
    hub.register(lambda rows: kept.append(rows), name="keep_all")
    rows = [{"n": n, "inner": [n, [n]]} for n in range(5_000)]
    assert hub.call("keep", {"rows": rows}).result == 5_000
    assert kept == [{"n": 17, "inner": [17, [17]]}, [4_999, [4_999]]]
    assert hub.call("keep_all", {"rows": rows}).success
    assert kept[2] == rows
    assert kept[2] is not rows


def test_a_container_that_occurs_twice_is_copied_once_and_a_cycle_is_refused(hub: ToolHub) -> None:
    shared, cycle = [1], list[Any]()
    cycle.append([cycle])

    async def take(a: Any, b: Any) -> bool:
        return a is b and a is not shared

    hub.register(take)
    assert hub.call("take", {"a": shared, "b": shared}).result is True
    assert hub.call("take", {"a": cycle, "b": 1}).kind == "invalid_arguments"


def test_large_arguments_that_are_coerced_keep_what_fits(hub: ToolHub) -> None:
    async def take(rows: list[dict[str, int]]) -> list[dict[str, int]]:
        return rows

    hub.register(take)
    rows: list[dict[str, Any]] = [{"n": n} for n in range(3_000)]
    rows[5] = {"n": "5"}
    assert hub.call("take", {"rows": rows}).result == [{"n": n} for n in range(3_000)]
    assert rows[5] == {"n": "5"}


def test_calls_with_large_equal_arguments_share_one_execution(hub: ToolHub) -> None:
    calls = list[int]()

    async def count(table: dict[str, int]) -> int:
        calls.append(1)
        return len(table)

    hub.register(count, read_only=True)
    table = {f"key {n}": n for n in range(6_000)}
    other = dict(reversed(table.items()))
    results = [hub.call("count", {"table": given}, cache_ttl=60) for given in (table, other)]
    assert [result.result for result in results] == [6_000, 6_000]
    assert len(calls) == 1


def test_a_mapping_that_changes_while_it_is_read_is_refused(hub: ToolHub) -> None:
    class Growing:
        def isoformat(self) -> str:
            data[str(len(data))] = 1
            return "now"

    data: dict[str, Any] = {"a": Growing(), "b": 2}
    with pytest.raises(ValueError, match="changed while it was read"):
        hub.register(lambda: 1, name="odd", annotations=data)


class HostileError(Exception):
    def __str__(self) -> str:
        raise SystemExit("no text")

    __repr__ = __str__


class HostileMeta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise HostileError(name)


def hostile_objects() -> dict[str, Any]:
    def raising(self: object, *_: object) -> Any:
        raise HostileError

    def exiting(self: object, *_: object) -> Any:
        raise SystemExit(3)

    return {
        "class": type("Odd", (), {"__class__": property(raising)})(),
        "class that exits": type("Odd", (), {"__class__": property(exiting)})(),
        "str": type("Odd", (), {"__str__": raising, "__repr__": raising})(),
        "str that exits": type("Odd", (), {"__str__": exiting, "__repr__": exiting})(),
        "str that is a number": type("Odd", (), {"__str__": lambda _: 5, "__repr__": lambda _: 5})(),
        "attributes": type("Odd", (), {"__getattribute__": raising})(),
        "metaclass": HostileMeta("Odd", (), {})(),
        "dict": type("Odd", (dict,), dict.fromkeys(("__iter__", "items", "keys", "__getitem__"), raising))(
            a=1
        ),
        "list": type("Odd", (list,), {"__iter__": raising, "__len__": raising})([1]),
        "text": type("Odd", (str,), {"__str__": raising, "__repr__": raising})("x"),
    }


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", hostile_objects())
def test_hostile_objects_never_escape(hub: ToolHub, name: str) -> None:
    odd = hostile_objects()[name]

    async def give() -> Any:
        return odd

    async def fail() -> Any:
        raise HostileError

    async def typed(x: int = 0) -> str:
        return "ok"

    async def loose(x: Any = None) -> str:
        return "ok"

    for priority in (0, 1):
        hub.register(give, priority=priority, read_only=True)
    hub.register(fail)
    hub.register(typed)
    hub.register(loose)
    hub.register(lambda **given: "ok", name="declared", parameters={"type": "object"})

    async def main() -> None:
        for strategy in ("first", "all"):
            result = await hub.execute("give", {}, strategy=strategy)
            assert result.success
        assert (await hub.execute("fail", {})).kind == "tool_error"
        for tool in ("typed", "loose", "declared"):
            for given in ({"x": odd}, {"x": [odd]}, {"x": {"k": odd}}, odd):
                await hub.execute(tool, given)

    asyncio.run(main())


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", hostile_objects())
def test_a_hostile_default_is_kept_from_the_hub(hub: ToolHub, name: str) -> None:
    odd = hostile_objects()[name]

    def untyped(x=odd):  # type: ignore[no-untyped-def]
        return x is odd

    async def plain(x: int = odd) -> bool:
        return x is odd

    async def rich(*, x: datetime.date = odd, y: Annotated[int, Field(ge=1)] = 1) -> bool:
        return x is odd

    for tool in (untyped, plain, rich):
        # A second time from the cache of what is known about a function.
        hub.register(tool)
        hub.register(tool)
        result = hub.call(tool.__name__)
        assert result.result is True, (tool.__name__, result.error)
    assert len(hub.as_openai()) == len(hub.tools()) == 3
    assert hub.explain("rich")


def test_long_answers_are_merged_by_their_start_and_their_bytes() -> None:
    long = "word " * 50_000
    merged = toolhub.merge([long + "yes", long + "no", long + "yes", "é" * 20_000, "é" * 20_000], limit=20)
    first, second, third = merged.result.split("\n\n")
    assert first.startswith("[result 1, result 3] (same answer from 2) word")
    assert second.startswith("[result 2] word")
    assert third.startswith("[result 4, result 5] (same answer from 2) é")


def nothing() -> None:
    """A function that is known after its first registration, so that the others are quick."""


def test_tools_are_chosen_for_a_prompt_without_python_lists_of_all() -> None:
    hub, count = ToolHub(), 1_000
    for number in range(count):
        hub.register(nothing, name=f"tool_{number}", description="A tool.", parameters={"type": "object"})
    tracemalloc.start()
    try:
        hub.system_prompt(limit=5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < count * 50, "a list of names takes more"


def test_every_pattern_counts_for_every_name(hub: ToolHub) -> None:
    """500 patterns look at 500 long names. That is too much, so the result says what was not checked."""
    patterns = {f"^(a|b)*{n}$": {"type": "string"} for n in range(500)}
    schema = {
        "type": "object",
        "patternProperties": patterns,
        "properties": {"n": {"type": "integer"}},
    }
    hub.register(lambda **given: len(given), name="named", parameters=schema)
    names = {"ab" * 200 + str(n): 1 for n in range(500)}
    result = hub.call("named", names)
    assert result.success, result.error
    (sentence,) = result.meta["unchecked"]
    assert "may take too long for these arguments" in sentence
    # All other rules are checked, and so are the patterns for arguments of the usual size.
    assert hub.call("named", {**names, "n": "many"}).kind == "invalid_arguments"
    assert hub.call("named", {"ab7": []}).kind == "invalid_arguments"


def test_what_takes_too_long_to_coerce_is_refused_with_a_sentence(hub: ToolHub) -> None:
    """50 branches, each of which would be tried on each of the texts."""
    item = {"anyOf": [{"type": "integer"}, {"type": "object"}, {"type": "array"}]}
    union = {"anyOf": [{"type": "array", "items": item}] * 50}
    hub.register(lambda a: a[0], name="union", parameters={"type": "object", "properties": {"a": union}})
    assert hub.call("union", {"a": ["1"] * 20}).result == 1
    result = hub.call("union", {"a": ["1"] * 5_000})
    assert result.kind == "invalid_arguments"
    assert "finding out where would take too long" in str(result.error)


@pytest.mark.parametrize("texts", [100, 500, 2_000])
def test_many_items_with_a_union_are_coerced_like_one(hub: ToolHub, texts: int) -> None:
    """Each item once had a validation of all of them, so only the first 64 at most were coerced."""
    item = {"anyOf": [{"type": "integer", "minimum": 50 - n} for n in range(50)]}
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": item}}}
    hub.register(lambda a: sum(a), name="total", parameters=schema)
    assert hub.call("total", {"a": ["49", 7] * (texts // 2)}).result == 28 * texts
    result = hub.call("total", {"a": ["0"] + ["49"] * (texts - 1)})
    assert result.kind == "invalid_arguments"
    assert str(result.error).count("expected") == 1


@pytest.mark.parametrize(("looks", "fits"), [(3, True), (30, False)])
def test_a_refusal_says_why_and_what_fits_in_the_end_is_not_refused(
    hub: ToolHub, looks: int, fits: bool
) -> None:
    """The list of what is wrong can be paid for once with 3 looks at each item, but not twice; with 30 not at all."""
    items = {"allOf": [{"type": "integer"}] * looks}
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": items}}}
    hub.register(lambda a: sum(a), name="total", parameters=schema)
    result = hub.call("total", {"a": ["1"] * 90_000})
    if fits:
        assert result.result == 90_000
    else:
        assert "finding out where would take too long" in str(result.error)


def test_a_name_that_changes_its_mapping_breaks_no_look_for_numbers(hub: ToolHub) -> None:
    class Odd:
        def __str__(self) -> str:
            table.clear()
            return "odd"

    table: dict[Any, Any] = {"a": 1, Odd(): 2, "b": float("inf"), "c": float("nan")}
    hub.register(lambda b: b, name="take")
    refused = asyncio.run(hub.dispatch({"name": "take", "arguments": table}))
    assert refused.kind == "invalid_arguments"
    assert "b: expected a number that a float can hold" in str(refused.error)
