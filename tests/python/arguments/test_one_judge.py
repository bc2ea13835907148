"""One judge: a function with a signature and a tool with the same schema accept, refuse and coerce the same values.

The tool with the schema always takes the full path through the core, so these tests also hold the fast path to it.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import json
import math
import pathlib
import uuid
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from support.checking import reaching, taking, violations
from toolhub import ErrorKind, ToolHub
from toolhub._to_plain import to_plain


class Level(enum.IntEnum):
    HIGH = 3


class Colour(enum.Enum):
    RED = "red"
    DARK_BLUE = "dark_blue"


@dataclasses.dataclass
class Point:
    x: int
    label: str = ""


class Place(BaseModel):
    city: str
    lat: float | None = None
    secret: str = Field("", alias="Secret")


SCALARS = st.sampled_from(
    [str, int, float, bool, None, Any, Literal["a", "b-c"], Literal[1, "1", True], Literal["on"]]
)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pairs = st.tuples(inner, inner)
    return (
        inner.map(lambda hint: list[hint])
        | inner.map(lambda hint: dict[str, hint])
        | inner.map(lambda hint: Optional[hint])  # noqa: UP045
        | pairs.map(lambda two: Union[two])  # noqa: UP007
    )


PLAIN_HINTS = st.recursive(SCALARS | st.sampled_from([list, dict]), containers, max_leaves=4)
RICH_HINTS = st.recursive(
    SCALARS
    | st.sampled_from(
        [
            Colour,
            Point,
            Place,
            set[int],
            tuple[int, ...],
            tuple[int, str],
            Annotated[int, Field(ge=2)],
            Annotated[str, Field(min_length=2)],
            decimal.Decimal,
        ]
    ),
    containers,
    max_leaves=4,
)

LEAVES = st.sampled_from(
    [
        "",
        "5",
        "5.0",
        " 7 ",
        "1e3",
        "yes",
        "true",
        "False",
        "null",
        "a",
        "B C",
        "dark blue",
        "[1]",
        '{"a": "1"}',
        "12,5",
    ]
) | st.sampled_from([0, 1, 5, -3, 2**53 + 1, True, False, None, 0.5, 3.0, 1e300])
JSON = st.recursive(
    LEAVES | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "x", "city", "label", "lat"]), inner, max_size=3)
    ),
    max_leaves=5,
)


def judged(tool: Any, schema: Any, arguments: Any, coerce: bool) -> Any:
    hub = ToolHub()
    hub.register(tool, name="tool", parameters=schema)
    result = hub.call("tool", arguments, coerce=coerce)
    assert result.success or result.kind is ErrorKind.INVALID_ARGUMENTS, result.error
    return result


def schema_of(tool: Any) -> Any:
    hub = ToolHub()
    hub.register(tool, name="tool")
    return hub.get("tool").parameters


def boxed(hint: Any) -> Any:
    """A function with an argument of this hint; its result is not taken for a failure, whatever it is."""

    def tool(it, rest=0):
        return ("got", it, rest)

    tool.__annotations__.update(it=hint, rest=int)
    return tool


ARGUMENTS = st.fixed_dictionaries({"it": JSON}, optional={"rest": LEAVES, "odd": LEAVES})


@given(hint=PLAIN_HINTS, arguments=ARGUMENTS, coerce=st.booleans())
def test_plain_signatures_and_schemas_agree_in_all(hint: Any, arguments: Any, coerce: bool) -> None:
    tool = boxed(hint)
    by_signature = judged(tool, None, arguments, coerce)
    by_schema = judged(tool, schema_of(tool), arguments, coerce)
    assert by_signature.success == by_schema.success, (by_signature.error, by_schema.error)
    assert by_signature.result == by_schema.result
    assert by_signature.error == by_schema.error


@given(hint=RICH_HINTS, arguments=ARGUMENTS, coerce=st.booleans())
def test_what_a_schema_refuses_no_signature_takes(hint: Any, arguments: Any, coerce: bool) -> None:
    tool = boxed(hint)
    by_signature = judged(tool, None, arguments, coerce)
    by_schema = judged(tool, schema_of(tool), arguments, coerce)
    if not by_schema.success:
        assert by_signature.error == by_schema.error
    # The schema of a decimal takes any text.
    elif "Decimal" not in str(hint):
        assert by_signature.success, by_signature.error


@pytest.mark.parametrize(
    ("hint", "given", "got"),
    [
        (str, 5, "5"),
        (str, True, "true"),
        (int, "5", 5),
        (int, "5.0", 5),
        (float, "1e3", 1000.0),
        (bool, "False", False),
        (list[int], "7", [7]),
        (list[str], "a", ["a"]),
        (set[int], [1, 1, 2], {1, 2}),
        (Colour, "Dark Blue", Colour.DARK_BLUE),
        (Literal["celsius"], "Celsius", "celsius"),
        (Point, '{"x": "1", "label": 2}', Point(1, "2")),
        (datetime.date, "2026-01-02", datetime.date(2026, 1, 2)),
        (datetime.datetime, 0, datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)),
        (decimal.Decimal, "1.50", decimal.Decimal("1.50")),
    ],
)
def test_coercion_then_building(hint: Any, given: Any, got: Any) -> None:
    found = reaching(boxed(hint), {"it": given})
    assert found == ("got", got, 0)
    assert type(found[1]) is type(got)


@pytest.mark.parametrize(
    ("hint", "given"),
    [
        (bool, "yes"),
        (bool, 1),
        (bool, "on"),
        (int, True),
        (int, "5_000"),
        (float, "nan"),
        (str, None),
        (str, [1]),
    ],
)
def test_what_could_mean_something_else_is_refused(hint: Any, given: Any) -> None:
    assert len(violations(boxed(hint), {"it": given})) == 1


class Frame:
    """A class of the user's; nothing describes it in JSON."""


FRAME = Frame()
INSTANCES = [
    (Frame, FRAME),
    (list[Frame], [FRAME]),
    (dict[str, Frame | None], {"a": FRAME, "b": None}),
    (datetime.date, datetime.date(2026, 1, 2)),
    (datetime.datetime | None, datetime.datetime(2026, 1, 2, 3, 4)),
    (list[datetime.date | int], [datetime.date(2026, 1, 2), 3]),
    (Place, Place(city="Rome", Secret="s")),
    (list[Place], [Place(city="Rome")]),
    (Point, Point(1)),
    (Colour, Colour.RED),
    (uuid.UUID, uuid.UUID(int=5)),
    (decimal.Decimal, decimal.Decimal("0.1")),
    (pathlib.Path, pathlib.Path("x")),
    (bytes, b"\xff"),
    (set[int], {1, 2}),
    (float, math.inf),
    (int, 10**30),
    (list[int], [10**30, 1]),
    (str, "\ud800"),
    (dict[int, str], {1: "a"}),
    (Annotated[Frame, "described"], FRAME),
    (type[Frame], Frame),
]


@pytest.mark.parametrize(
    ("hint", "value"), INSTANCES, ids=lambda value: getattr(value, "__name__", type(value).__name__)
)
@pytest.mark.parametrize("coerce", [True, False])
def test_an_instance_that_the_hint_names_is_passed(hint: Any, value: Any, coerce: bool) -> None:
    assert reaching(boxed(hint), {"it": value, "rest": 1}, coerce=coerce) == ("got", value, 1)


def test_values_beside_an_instance_are_still_checked_and_coerced() -> None:
    hint = dict[str, Frame | int]
    assert reaching(boxed(hint), {"it": {"a": FRAME}, "rest": "5"}) == ("got", {"a": FRAME}, 5)
    assert violations(boxed(Frame), {"it": FRAME, "rest": "yes"}) == [
        "rest: expected an integer, got 'yes' (string)"
    ]
    assert violations(boxed(Frame), {"it": FRAME, "odd": 1}) == [
        "odd: unknown argument (expected only it, rest)"
    ]
    pair = tuple[Frame, int]
    assert reaching(boxed(pair), {"it": [FRAME, "5"]}) == ("got", (FRAME, 5), 0)
    assert violations(boxed(pair), {"it": [FRAME, "yes"]}) == [
        "it[1]: expected an integer, got 'yes' (string)"
    ]


def test_an_object_of_another_class_is_named() -> None:
    assert violations(boxed(datetime.date), {"it": FRAME}) == [
        "it: expected a date such as '2025-01-31', got a Python object of type Frame"
    ]
    assert violations(boxed(Frame), {"it": Point(1)}) == [
        "it: expected an instance of Frame, got a Python object of type Point"
    ]


def test_an_object_that_does_not_fit_as_it_is_is_passed_in_its_json_form() -> None:
    assert reaching(boxed(str), {"it": datetime.date(2026, 1, 2)}) == ("got", "2026-01-02", 0)
    assert reaching(boxed(list[str]), {"it": [Colour.RED, "x"]}) == ("got", ["red", "x"], 0)
    assert reaching(boxed(Point), {"it": Place(city="Rome").model_copy(update={"x": 1})}, validate=False)
    assert reaching(boxed(Annotated[int, AfterValidator(lambda n: n + 1)]), {"it": Level.HIGH}) == (
        "got",
        4,
        0,
    )


def test_a_value_that_two_arguments_share_is_coerced_for_each() -> None:
    def tool(numbers: list[int], texts: list[str]) -> Any:
        return numbers, texts

    shared = ["5"]
    assert reaching(tool, {"numbers": shared, "texts": shared}) == ([5], ["5"])
    assert shared == ["5"]


def test_candidates_of_one_name_take_the_same_arguments() -> None:
    """In a race, one candidate must not take what the other refuses."""
    hub = ToolHub()

    @hub.tool(name="switch")
    def native(on: bool, label: str) -> list[Any]:
        return [on, label]

    schema = hub.get("switch").parameters
    hub.register(lambda on, label: [on, label], name="switch", source="mcps", server="s", parameters=schema)
    for args, wanted in (({"on": "true", "label": 5}, [True, "5"]), ({"on": "yes", "label": "x"}, None)):
        for source in ("tools", "mcps"):
            result = hub.call("switch", args, source=source)
            assert result.result == wanted
            assert result.kind is (None if wanted else ErrorKind.INVALID_ARGUMENTS)


def test_the_schema_is_checked_although_a_pattern_needs_look_around() -> None:
    tool = boxed(Annotated[str, Field(pattern=r"^(?!bad)")])
    assert violations(tool, {"it": "good", "rest": "yes"}) == [
        "rest: expected an integer, got 'yes' (string)"
    ]
    assert violations(tool, {"it": "bad"}) == [
        "it: expected a string that matches '^(?!bad)', got 'bad' (string)"
    ]


def test_one_parameter_that_takes_all() -> None:
    assert reaching(taking(Any), {"it": FRAME}) is FRAME


class Number(enum.Enum):
    FIVE = 5
    TEXT = "5"


class Mode(enum.Flag):
    ON = 1


OBJECTS = [
    *(Colour.RED, Level.HIGH, Number.FIVE, Number.TEXT, Mode.ON),
    *(b"5", b"red", bytearray(b"5"), memoryview(b"5")),
    *((1, 2), ("a",), {1, 2}, frozenset({1}), collections.deque([1]), range(2), {"a": 1}.keys()),
    *(fractions.Fraction(5), fractions.Fraction(1, 3), 3 + 4j, 5.0, 5.5, 1e300),
    *(datetime.date(2026, 1, 2), datetime.timedelta(seconds=5), uuid.UUID(int=5), pathlib.PurePath("x")),
    *(collections.UserString("5"), FRAME),
]
HELD = st.sampled_from(OBJECTS)
HELD = HELD | HELD.map(lambda value: [value]) | HELD.map(lambda value: {"a": value})
# `Any`, `list` and `dict` name every Python object, so there is nothing to agree on.
NAMING_SCALARS = st.recursive(
    st.sampled_from([str, int, float, bool, None, Literal["red", "b-c"], Literal[5, 6]]),
    containers,
    max_leaves=3,
)


@given(hint=NAMING_SCALARS, value=HELD, coerce=st.booleans())
def test_python_objects_for_plain_hints_are_judged_as_for_an_equal_schema(
    hint: Any, value: Any, coerce: bool
) -> None:
    tool = boxed(hint)
    by_signature = judged(tool, None, {"it": value}, coerce)
    by_schema = judged(lambda it: ("got", it, 0), schema_of(tool), {"it": value}, coerce)
    assert by_signature.success == by_schema.success, (by_signature.error, by_schema.error)
    if by_schema.success:
        # The tool with the schema gets the object itself where it fits.
        assert json_form(by_signature.result) == json_form(by_schema.result)


def json_form(value: Any) -> Any:
    return json.loads(json.dumps(value, default=to_plain))


@pytest.mark.parametrize(
    ("hint", "value", "words"),
    [
        (int, Colour.RED, "it: expected an integer"),
        (float, Colour.RED, "it: expected a number"),
        (list[int], [1, Colour.RED], "it[1]: expected an integer"),
        (set[int], [Colour.RED], "it[0]: expected an integer"),
        (tuple[int, str], (1, b"x"), "it[1]: expected a string"),
        (Point, {"x": Colour.RED}, "it.x: expected an integer"),
        (Place, {"city": b"Rome"}, "it.city: expected a string"),
        (list[Place], [{"city": "Rome", "lat": Colour.RED}], "it[0].lat: expected a number or null"),
        (Annotated[int, Field(ge=2)], Colour.RED, "it: expected an integer"),
        (int, fractions.Fraction(1, 3), "it: expected an integer"),
        (int, b"5", "it: expected an integer"),
        (str, b"red", "it: expected a string"),
        (list[int], memoryview(b"5"), "it: expected an array"),
        (dict[str, list[int]], {"a": memoryview(b"")}, "it.a: expected an array"),
        (set[int], memoryview(b"5"), "it: expected an array"),
        (frozenset[int], memoryview(b"5"), "it: expected an array"),
        (tuple[int, ...], memoryview(b"5"), "it: expected an array"),
    ],
)
def test_the_builder_converts_no_scalars_on_its_own(hint: Any, value: Any, words: str) -> None:
    (sentence,) = violations(boxed(hint), {"it": value})
    assert sentence.startswith(f"{words}, got a Python object of type ")


@pytest.mark.parametrize(
    ("hint", "value", "got"),
    [
        (int, Number.TEXT, 5),
        (int, Number.FIVE, 5),
        (str, Number.TEXT, "5"),
        (Point, {"x": Number.TEXT}, Point(5)),
        (set[int], [5.0], {5}),
        (Point, {"x": 5.0}, Point(5)),
        (int, fractions.Fraction(5), 5),
        (list[int], collections.deque([1]), [1]),
        (list, {"a": Colour.RED}, [{"a": "red"}]),
        (dict[int, str], {"1": "a"}, {1: "a"}),
        (Annotated[int, BeforeValidator(str)], 5, 5),
    ],
)
def test_objects_arrive_as_what_the_hint_names(hint: Any, value: Any, got: Any) -> None:
    found = reaching(boxed(hint), {"it": value})
    assert found == ("got", got, 0)
    assert type(found[1]) is type(got)


class Hidden(BaseModel):
    shown: int
    hidden: SkipJsonSchema[int] = 0


@pytest.mark.parametrize(
    ("hint", "value", "got"),
    [
        (Annotated[int, WithJsonSchema({"type": "string"})], "5", 5),
        (Annotated[int, Field(json_schema_extra={"type": "string"})], "5", 5),
        (Hidden, {"shown": 1, "hidden": "5"}, Hidden(shown=1, hidden=5)),
    ],
)
def test_the_builder_converts_what_the_schema_does_not_describe(hint: Any, value: Any, got: Any) -> None:
    assert reaching(boxed(hint), {"it": value}) == ("got", got, 0)
