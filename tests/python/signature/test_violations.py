"""Argument errors are sentences that a model can act on."""

import dataclasses
import datetime
import decimal
import enum
import pathlib
import unicodedata
import uuid
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field, RootModel, SecretStr

from support.checking import taking, violations
from toolhub import ErrorKind, ToolHub


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Row(BaseModel):
    name: Annotated[str, Field(min_length=2)]
    age: Annotated[int, Field(ge=0, lt=150)] = 0


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Foreign:
    """A class that pydantic knows nothing about."""


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


def even(value: int) -> int:
    if value % 2:
        raise ValueError("the number must be even")
    return value


def failing(hint: Any, value: Any) -> list[str]:
    return violations(taking(hint), {"it": value})


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (int, 1.5, "an integer"),
        (int, True, "an integer"),
        (float, "x", "a number"),
        (bool, "perhaps", "true or false"),
        (bool, "yes", "true or false"),
        (bool, 1, "true or false"),
        (str, [3], "a string"),
        (None, 3, "null"),
        (list[int], "x", "an array"),
        (set[int], "x", "an array"),
        (tuple[int], "x", "an array"),
        (dict[str, int], 3, "an object"),
        (Row, 3, "an object"),
        (Point, 3, "an object"),
        (bytes, [], "a string"),
        (Color, "green", "one of 'red', 'blue'"),
        (Literal["a", "b", "c"], "z", "one of 'a', 'b', 'c'"),
        (datetime.datetime, "x", "a date and time such as '2025-01-31T12:00:00Z'"),
        (datetime.date, "x", "a date such as '2025-01-31'"),
        (datetime.date | None, "x", "a date such as '2025-01-31'"),
        (datetime.date, Foreign(), "a date such as '2025-01-31'"),
        (datetime.time, "x", "a time such as '12:00:00'"),
        (datetime.timedelta, "x", "a duration such as 'PT1H30M'"),
        (uuid.UUID, "x", "a UUID"),
        (decimal.Decimal, "x", "a valid decimal"),
        (decimal.Decimal, [], "a number or a string"),
        (pathlib.Path, [], "a string"),
        (Annotated[int, Field(gt=3)], 1, "a value greater than 3"),
        (Annotated[int, Field(ge=3)], 1, "a value of at least 3"),
        (Annotated[int, Field(lt=3)], 9, "a value less than 3"),
        (Annotated[int, Field(le=3)], 9, "a value of at most 3"),
        (Annotated[int, Field(multiple_of=2)], 9, "a multiple of 2"),
        (Annotated[str, Field(min_length=2)], "a", "a string of at least 2 characters"),
        (Annotated[str, Field(max_length=2)], "abc", "a string of at most 2 characters"),
        (Annotated[str, Field(pattern="^a+$")], "b", "a string that matches '^a+$'"),
        (Annotated[list[int], Field(min_length=2)], [1], "at least 2 items"),
        (Annotated[list[int], Field(max_length=2)], [1, 2, 3], "at most 2 items"),
        (int | None, "x", "an integer or null"),
        (int | list[int] | Row, "x", "an integer or an array or an object"),
        (Foreign, 3, "an instance of Foreign"),
        (type[Foreign], 3, "a subclass of Foreign"),
        (int, Foreign(), "an integer"),
    ],
)
def test_what_was_expected(hint: Any, value: Any, expected: str) -> None:
    (found,) = failing(hint, value)
    assert found.startswith(f"it: expected {expected}, got ")


def test_a_validator_of_the_user_speaks_for_itself() -> None:
    assert failing(Annotated[int, AfterValidator(even)], 3) == [
        "it: the number must be even, got 3 (integer)"
    ]
    lookahead = Annotated[str, Field(pattern=r"^(?!bad)")]
    assert failing(lookahead, "bad thing") == [
        "it: expected a string that matches '^(?!bad)', got 'bad thing' (string)"
    ]


@pytest.mark.parametrize(
    ("hint", "value", "paths"),
    [
        (list[Row], [{"name": "ab"}, {"name": "ab", "age": -1}, {"name": "a"}], ["it[1].age", "it[2].name"]),
        (dict[str, Point], {"a b": {"x": "q"}, "c": {"x": "q"}}, ["it['a b'].x", "it.c.x"]),
        (tuple[int, str], [1, []], ["it[1]"]),
        (int | list[int] | Row, {"age": 3}, ["it.name"]),
        (int | list[int] | Row, [1, "x", 2], ["it[1]"]),
        (list[int | str] | None, [1, []], ["it[1]"]),
        (Row | Point, {"x": "q"}, ["it.x"]),
        (Cat | Dog, {"kind": "dog", "tricks": [[]]}, ["it.tricks[0]"]),
        (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "cat", "lives": "x"}, ["it.lives"]),
        (dict[int, str], {"x": "y"}, ["it.x"]),
        (list[list[int]], [[1], ["x"]], ["it[1][0]"]),
        (dict[str, datetime.date], {"a": "2025-01-31", "b c": "x"}, ["it['b c']"]),
        (list[datetime.date | int], [1, "x"], ["it[1]"]),
        (list[datetime.date], '["2025-01-31", "x"]', ["it[1]"]),
        (list[Foreign], [Foreign(), 3], ["it[1]"]),
    ],
)
def test_where(hint: Any, value: Any, paths: list[str]) -> None:
    assert [found.partition(": ")[0] for found in failing(hint, value)] == paths


class Ring(RootModel["Ring | None"]):
    pass


def test_a_type_that_is_only_itself() -> None:
    assert {found.partition(": ")[0] for found in failing(Ring, [1])} == {"it"}


def test_a_wrong_key_is_called_a_key() -> None:
    assert failing(dict[int, str], {"x": "y"}) == [
        "it.x: expected a valid integer as a key, got 'x' (string)"
    ]


def test_a_key_may_be_named_like_the_mark_for_keys() -> None:
    hidden = ["it['[key]']: expected an integer, got a string (hidden)"]  # it is also named like a secret
    assert failing(dict[str, int], {"[key]": "x"}) == hidden
    (found,) = failing(Point, {"x": 1, "[key]": 1})
    assert found.startswith("it['[key]']: unknown argument")


def search(query: str, max_results: int = 10, where: Point | None = None) -> None: ...


def test_missing_arguments() -> None:
    assert violations(search, {}) == ["query: required argument is missing, expected a string"]
    assert violations(search, {"query": "a", "where": {}}) == [
        "where.x: required argument is missing, expected an integer"
    ]


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("querry", "query"),
        ("maxResults", "max_results"),
        ("MAX-RESULTS", "max_results"),
        ("max_result", "max_results"),
    ],
)
def test_unknown_arguments_suggest_the_nearest(wrong: str, near: str) -> None:
    (message,) = violations(search, {"query": "a", wrong: 1})
    assert message.endswith(
        f"unknown argument (did you mean {near!r}? expected only query, max_results, where)"
    )


def test_unknown_arguments_without_a_near_one() -> None:
    assert violations(search, {"query": "a", "zzz": 1}) == [
        "zzz: unknown argument (expected only query, max_results, where)"
    ]
    assert violations(search, {"query": "a", "where": {"x": 1, "zzz": 1}}) == [
        "where.zzz: unknown argument (expected only x, y)"
    ]


def test_unknown_arguments_of_a_tool_that_takes_none() -> None:
    def nothing() -> None: ...

    assert violations(nothing, {"a": 1}) == ["a: unknown argument (expected no arguments)"]


def test_strict_errors_read_the_same() -> None:
    assert sorted(violations(search, {"query": 1, "max_results": "5"}, coerce=False)) == [
        "max_results: expected an integer, got '5' (string)",
        "query: expected a string, got 1 (integer)",
    ]


def test_several_violations_are_one_sentence() -> None:
    def add(a: int, b: int) -> None: ...

    assert sorted(violations(add, {"a": "x", "c": 1})) == [
        "a: expected an integer, got 'x' (string)",
        "b: required argument is missing, expected an integer",
        "c: unknown argument (expected only a, b)",
    ]


def test_a_list_of_many_is_short() -> None:
    for hint in (list[int], list[datetime.date]):
        found = failing(hint, ["x"] * 150)
        assert len(found) == 6
        assert found[-1] == "and 145 more"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true (boolean)"),
        (5, "5 (integer)"),
        pytest.param(10**4999, "an integer of 5000 digits", id="digits"),
        pytest.param(1 << 400_000, "a very large integer", id="bits"),
        (1.5, "1.5 (number)"),
        ([1], "an array of 1 item"),
        ((1, 2), "an array of 2 items"),
        ({"a": 1}, "an object with 1 key"),
        (b"abc", "a Python object of type bytes"),
        (Point(1), "a Python object of type Point"),
        ("\x1b[31m", "'\\u{1b}[31m' (string)"),
        pytest.param("x" * 10**6, "'" + "x" * 28 + "… (string of 1000000 characters)", id="text"),
    ],
)
def test_what_was_given(value: Any, text: str) -> None:
    (found,) = failing(Foreign, value)
    assert found == f"it: expected an instance of Foreign, got {text}"


LONG = Annotated[str, Field(min_length=20)]


def about(name: str) -> str:
    (found,) = failing(dict[str, LONG], {name: "hunter2"})
    return found


@pytest.mark.parametrize("name", ["password", "api_key", "apiKey", "accessToken", "DB_PASSWORD", "secret"])
def test_secrets_are_not_shown(name: str) -> None:
    assert about(name).endswith("got a string (hidden)")
    (found,) = failing(dict[str, datetime.date], {name: "hunter2"})
    assert found.endswith("got a string (hidden)"), "the builder's errors hide them too"


@pytest.mark.parametrize("name", ["max_tokens", "tokenizer", "passage", "compass"])
def test_names_that_only_sound_secret(name: str) -> None:
    assert "hunter2" in about(name)


def test_values_that_the_schema_calls_secret_are_not_shown() -> None:
    (found,) = failing(Annotated[SecretStr, Field(min_length=20)], "hunter2")
    assert found.endswith("got a string (hidden)")


def refuse(value: str) -> str:
    raise ValueError(f"no\n\x1b[31m{value}")


def test_words_of_a_validator_stay_on_one_line() -> None:
    (found,) = failing(Annotated[str, AfterValidator(refuse)], "x" * 1000)
    assert found.startswith("it: no\\n\\u{1b}[31mxxx")
    assert found.isprintable()
    assert len(found) < 350


def everything(
    number: int | list[int] | Row,
    rows: list[Row | Point],
    points: dict[int, Point],
    pet: Annotated[Cat | Dog, Field(discriminator="kind")],
    color: Color = Color.RED,
    day: datetime.date | None = None,
) -> str:
    return "fits"


KEYS = [
    "number",
    "rows",
    "points",
    "pet",
    "color",
    "day",
    "name",
    "age",
    "x",
    "y",
    "kind",
    "cat",
    "dog",
    "red",
    "[key]",
]
PARTS = st.sampled_from(KEYS)
LEAVES = PARTS | st.integers() | st.floats() | st.none() | st.text(max_size=5) | st.binary(max_size=3)
TREES = st.recursive(
    LEAVES | st.just(Foreign()),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(PARTS | st.text(max_size=5), inner, max_size=4)
    ),
)


@given(TREES)
def test_every_refusal_has_words(arguments: Any) -> None:
    hub = ToolHub()
    hub.register(everything, name="tool")
    result = hub.call("tool", arguments)
    if not result.success:
        assert result.kind is ErrorKind.INVALID_ARGUMENTS, result.error
        assert str(result.error).startswith("Invalid arguments for 'tool': ")
        assert not {unicodedata.category(letter) for letter in str(result.error)} & {
            "Cc",
            "Cf",
            "Cs",
            "Zl",
            "Zp",
        }
        assert len(str(result.error)) < 2500
        assert "function-" not in str(result.error)
