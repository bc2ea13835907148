"""Arguments: what reaches a tool, what is refused, and that changes made by a tool stay inside it."""

import dataclasses
import datetime
import decimal
import enum
import itertools
import math
import pathlib
import uuid
from collections import OrderedDict
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

from support.tools import Run, Scripted
from toolhub import ErrorKind, ToolHub


@pytest.fixture
def hub() -> ToolHub:
    return ToolHub()


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Place(BaseModel):
    city: str
    zip: int | None = None


class Pair(NamedTuple):
    left: int
    right: int


def test_text_from_a_model_is_made_to_fit_unless_coercion_is_off(hub: ToolHub) -> None:
    @hub.tool
    def repeat(text: str, times: int, loud: bool = False) -> str:
        return text * times + "!" * loud

    assert hub.call("repeat", {"text": "a", "times": "3", "loud": "true"}).result == "aaa!"
    strict = hub.call("repeat", {"text": "a", "times": "3"}, coerce=False)
    assert strict.kind is ErrorKind.INVALID_ARGUMENTS
    assert "times" in str(strict.error)
    assert hub.call("repeat", {"text": "a", "times": 3}, coerce=False).result == "aaa"


def test_json_text_for_an_object_or_a_list_is_unpacked(hub: ToolHub) -> None:
    @hub.tool
    def total(numbers: list[int], where: Place) -> Any:
        return sum(numbers), where

    result = hub.call("total", {"numbers": "[1, 2]", "where": '{"city": "Rome"}'})
    assert result.result == (3, Place(city="Rome"))


def test_validation_can_be_turned_off(hub: ToolHub) -> None:
    @hub.tool
    def kind_of(number: int) -> str:
        return type(number).__name__

    hub.register(lambda **arguments: arguments, name="strict", parameters={"required": ["a"]})
    assert hub.call("kind_of", {"number": "7"}).result == "int"
    assert hub.call("kind_of", {"number": "7"}, validate=False).result == "str"
    assert hub.call("strict", {}).kind is ErrorKind.INVALID_ARGUMENTS
    assert hub.call("strict", {"b": object}, validate=False).result == {"b": object}
    wrong = hub.call("kind_of", {"nummer": 7}, validate=False)
    assert wrong.kind is ErrorKind.TOOL_ERROR
    assert "TypeError" in str(wrong.error)


def test_rich_types_of_a_signature_are_made_from_plain_data(hub: ToolHub) -> None:
    @hub.tool
    def plan(
        point: Point, colour: Colour, place: Place, day: datetime.date, mode: Literal["fast", "slow"]
    ) -> Any:
        return point, colour, place, day, mode

    plain = {
        "point": {"x": 1},
        "colour": "red",
        "place": {"city": "Rome"},
        "day": "2026-01-02",
        "mode": "fast",
    }
    made = (Point(1), Colour.RED, Place(city="Rome"), datetime.date(2026, 1, 2), "fast")
    assert hub.call("plan", plain).result == made
    assert hub.call("plan", plain, coerce=False).result == made
    names = ["point", "colour", "place", "day", "mode"]
    assert hub.call("plan", dict(zip(names, made, strict=True))).result == made
    for key, wrong in [("point", {"z": 1}), ("colour", "blue"), ("day", "tomorrow"), ("mode", "medium")]:
        result = hub.call("plan", plain | {key: wrong})
        assert result.kind is ErrorKind.INVALID_ARGUMENTS
        assert key in str(result.error)


def test_no_arguments_an_empty_mapping_and_none_are_the_same(hub: ToolHub) -> None:
    hub.register(lambda a=1: a, name="t")
    hub.register(lambda **arguments: arguments, name="schema", parameters={})
    for args in ((), (None,), ({},)):
        assert hub.call("t", *args).result == 1
        assert hub.call("schema", *args).result == {}


@pytest.mark.parametrize("mapping", [OrderedDict, MappingProxyType, dict], ids=lambda kind: kind.__name__)
def test_any_mapping_carries_arguments(hub: ToolHub, mapping: Any) -> None:
    hub.register(lambda a, b: a + b, name="t")
    hub.register(lambda **arguments: arguments, name="schema", parameters={"required": ["a"]})
    assert hub.call("t", mapping({"a": 1, "b": 2})).result == 3
    assert hub.call("schema", mapping({"a": [1]})).result == {"a": [1]}


PLAIN = [
    (datetime.date(2026, 1, 2), "2026-01-02"),
    (datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.UTC), "2026-01-02T03:04:00+00:00"),
    (datetime.time(3, 4), "03:04:00"),
    (Colour.RED, "red"),
    (Level.HIGH, 3),
    (Point(1, 2), {"x": 1, "y": 2}),
    (Place(city="Rome"), {"city": "Rome", "zip": None}),
    (Pair(1, 2), [1, 2]),
    ((1, "a"), [1, "a"]),
    ({3}, [3]),
    (frozenset({3}), [3]),
    (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    (decimal.Decimal("1.50"), "1.50"),
    (pathlib.PurePosixPath("/tmp/x"), "/tmp/x"),
    (MappingProxyType({"a": (1,)}), {"a": [1]}),
    (OrderedDict(a=None), {"a": None}),
]


@pytest.mark.parametrize(("value", "plain"), PLAIN, ids=lambda value: type(value).__name__)
def test_well_known_types_are_checked_in_their_json_form(hub: ToolHub, value: Any, plain: Any) -> None:
    seen: list[Any] = []
    hub.register(lambda v: seen.append(v) or "ok", name="any")
    hub.register(
        lambda v: seen.append(v) or "ok", name="fits", parameters={"properties": {"v": {"const": plain}}}
    )
    hub.register(
        lambda v: seen.append(v) or "ok", name="refuses", parameters={"properties": {"v": {"const": 77}}}
    )
    assert hub.call("any", {"v": value}).success
    assert hub.call("fits", {"v": value}).success, hub.call("fits", {"v": value}).error
    assert seen == [value, value]
    assert hub.call("refuses", {"v": value}).kind is ErrorKind.INVALID_ARGUMENTS
    assert len(seen) == 2


NOT_JSON = [
    (math.nan, "not a JSON number"),
    (math.inf, "not a JSON number"),
    (-math.inf, "not a JSON number"),
    (1 << 400_000, "more than 100000 digits"),
    (b"bytes", "bytes are not JSON"),
    (bytearray(b"x"), "bytes are not JSON"),
    (object(), "object is not JSON"),
    (3 + 4j, "complex is not JSON"),
    ({1: 2}, "names must be text"),
    ("\ud800", "surrogates"),
    (len, "is not JSON"),
    (datetime.date, "is not JSON"),
]


@pytest.mark.parametrize(("value", "reason"), NOT_JSON, ids=lambda value: type(value).__name__)
def test_what_is_not_json_is_refused_for_a_json_schema_and_the_place_is_named(
    hub: ToolHub, value: Any, reason: str
) -> None:
    tool = Scripted("never")
    hub.register(tool, name="schema", parameters={})
    result = hub.call("schema", {"rows": [0, {"cell": value}]})
    assert result.kind is ErrorKind.INVALID_ARGUMENTS
    assert "rows[1].cell: " in str(result.error)
    assert reason in str(result.error)
    assert tool.runs == 0
    assert hub.call("schema", {}).kind is None


@pytest.mark.parametrize("value", [value for value, _ in NOT_JSON], ids=lambda value: type(value).__name__)
def test_a_python_tool_gets_any_value_as_it_is(hub: ToolHub, value: Any) -> None:
    seen: list[Any] = []
    hub.register(lambda v: seen.append(v) or "ok", name="any")
    assert hub.call("any", {"v": value}).success
    (got,) = seen
    assert got is value or got == value


@pytest.mark.parametrize("value", [value for value, _ in NOT_JSON], ids=lambda value: type(value).__name__)
def test_a_value_of_the_wrong_type_is_refused_with_a_sentence(hub: ToolHub, value: Any) -> None:
    @hub.tool
    def strict(day: datetime.date) -> str:
        return "never"

    result = hub.call("strict", {"day": value})
    assert result.kind is ErrorKind.INVALID_ARGUMENTS
    assert "day" in str(result.error)
    assert len(str(result.error)) < 500
    assert hub.call("strict", {"day": "2026-01-02"}).result == "never"


CYCLES: dict[str, Any] = {"dict": {}, "list": [], "deep": {"a": [{}]}}
CYCLES["dict"]["self"] = CYCLES["dict"]
CYCLES["list"].extend([CYCLES["list"]] * 3)
CYCLES["deep"]["a"][0]["up"] = CYCLES["deep"]


@pytest.mark.parametrize("cycle", CYCLES)
@pytest.mark.parametrize("parameters", [None, {}], ids=["signature", "schema"])
def test_cyclic_arguments_are_refused(hub: ToolHub, cycle: str, parameters: Any) -> None:
    tool = Scripted("never")
    hub.register(lambda v: tool(), name="t", parameters=parameters)
    for args in ({"v": CYCLES[cycle]}, CYCLES[cycle]):
        result = hub.call("t", args)
        assert result.kind is ErrorKind.INVALID_ARGUMENTS
        assert "cyclic" in str(result.error)
    assert tool.runs == 0
    assert hub.call("t", {"v": 1}).success


def test_deep_arguments_are_carried_and_too_deep_ones_refused(hub: ToolHub) -> None:
    def nested(depth: int) -> Any:
        value: Any = 1
        for _ in range(depth):
            value = [value]
        return value

    for parameters, coerce in itertools.product((None, {}), (True, False)):
        hub.register(lambda v: v, name="t", parameters=parameters, replace=True)
        assert hub.call("t", {"v": nested(50)}, coerce=coerce).result == nested(50)
        assert hub.call("t", {"v": nested(400)}, coerce=coerce).kind is ErrorKind.INVALID_ARGUMENTS
        assert hub.call("t", {"v": nested(100_000)}, coerce=coerce).kind is ErrorKind.INVALID_ARGUMENTS


SHAPES = {
    "list": lambda inner: {"v": inner},
    "in a dict": lambda inner: {"v": {"k": inner}},
    "in a list": lambda inner: {"v": [inner]},
    "in a tuple": lambda inner: {"v": (inner,)},
    "in an ordered dict": lambda inner: {"v": OrderedDict(k=inner)},
    "ordered arguments": lambda inner: OrderedDict(v=inner),
    "read-only arguments": lambda inner: MappingProxyType({"v": inner}),
}


def deface(value: Any) -> str:
    """Change whatever can be changed, as a careless tool does."""
    if isinstance(value, dict):
        list(map(deface, value.values()))
        value["defaced"] = True
    elif isinstance(value, (list, tuple)):
        list(map(deface, value))
        if isinstance(value, list):
            value.append("defaced")
    return "done"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("parameters", [None, {}], ids=["signature", "schema"])
def test_what_a_tool_does_to_its_arguments_does_not_reach_the_caller(
    hub: ToolHub, shape: str, parameters: Any
) -> None:
    hub.register(lambda v: deface(v), name="t", parameters=parameters)
    inner: list[Any] = [1, {"a": 2}]
    assert hub.call("t", SHAPES[shape](inner)).result == "done"
    assert inner == [1, {"a": 2}]


@pytest.mark.parametrize("strategy", ["fallback", "first", "all"])
def test_what_a_tool_does_to_its_arguments_does_not_reach_the_other_candidates(
    hub: ToolHub, run: Run, strategy: str
) -> None:
    seen: list[Any] = []

    async def careless(v: Any) -> dict[str, Any]:
        seen.append(str(v))
        deface(v)
        return {"success": False}

    for server in "abc":
        hub.register(careless, name="t", source="mcps", server=server, read_only=True)
    run(hub.execute("t", {"v": [{"a": [1]}]}, strategy=strategy))
    assert seen == ["[{'a': [1]}]"] * 3


def test_an_object_with_execute_gets_a_copy_too(hub: ToolHub) -> None:
    class Tool:
        name, description = "t", "Changes its input."

        def execute(self, input: Any) -> Any:
            return deface(input)

    hub.register(Tool())
    given = {"a": 1, "b": [2]}
    assert hub.call("t", given).success
    assert given == {"a": 1, "b": [2]}


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)
WIDE_AND_DEEP = {"wide": list(range(300)), "long": "é\n搜😀" * 2_000, "deep": [[[[[[{"a": [{}]}]]]]]]}


def same(one: Any, other: Any) -> bool:
    """Equal, and of equal types all the way down: 1 is not 1.0 and not True."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@given(args=json_objects)
@example(args=WIDE_AND_DEEP)
def test_any_json_reaches_a_tool_with_a_json_schema_unchanged(args: dict[str, Any]) -> None:
    hub = ToolHub()
    hub.register(lambda **arguments: {"got": arguments}, name="t", parameters={})
    result = hub.call("t", args)
    assert result.success, result.error
    assert same(result.result["got"], args)


@given(args=json_objects)
@example(args=WIDE_AND_DEEP)
def test_any_json_passes_through_the_core_unchanged(args: dict[str, Any]) -> None:
    hub = ToolHub()
    # Examples and annotations are kept in the core, so what is read back has crossed twice.
    candidate = hub.register(lambda: 1, name="t", examples=[args], annotations=args)
    assert same(candidate.examples, [args])
    assert same(candidate.annotations, args)


def test_what_is_more_than_a_plain_type_is_always_validated(hub: ToolHub) -> None:
    @hub.tool
    def bounded(n: Annotated[int, Field(ge=3)]) -> int:
        return n

    @hub.tool
    def loud(text: Annotated[str, AfterValidator(str.upper)]) -> str:
        return text

    @hub.tool
    def half(n: int, share: Annotated[float, Field(le=1)] = 0.5, **rest: int) -> Any:
        return n, share, rest

    assert hub.call("bounded", {"n": 2}).kind is ErrorKind.INVALID_ARGUMENTS
    assert hub.call("loud", {"text": "a"}).result == "A"
    assert hub.call("half", {"n": 1}).result == (1, 0.5, {})
    assert hub.call("half", {"n": 1, "more": "2"}).result == (1, 0.5, {"more": 2})
    assert hub.call("half", {"n": 1, "share": 2.0}).kind is ErrorKind.INVALID_ARGUMENTS


paths = st.lists(st.integers(0, 3) | st.sampled_from(["a", "b", "name"]), max_size=6)


@given(path=paths, value=st.sampled_from([value for value, _ in NOT_JSON]))
def test_what_is_not_json_is_refused_at_any_place_and_the_place_is_named(
    path: list[int | str], value: Any
) -> None:
    hub = ToolHub()
    hub.register(lambda **arguments: 1, name="t", parameters={})
    wrapped = value
    for step in reversed(path):
        wrapped = {step: wrapped} if isinstance(step, str) else [0] * step + [wrapped]
    result = hub.call("t", {"top": wrapped})
    place = "top" + "".join(f".{step}" if isinstance(step, str) else f"[{step}]" for step in path)
    assert result.kind is ErrorKind.INVALID_ARGUMENTS
    assert f": {place}: " in str(result.error)
    assert hub.call("t", {"top": 1}).success
