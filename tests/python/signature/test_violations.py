"""What is wrong with arguments is said in words that a model can act on."""

import dataclasses
import datetime
import decimal
import enum
import pathlib
import uuid
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field, RootModel, SecretStr, ValidationError

from toolhub._signature import Violation, describe, summarize, violations
from toolhub._signature.wording import given as shown


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


def failing(hint: Any, value: Any) -> list[Violation]:
    def tool(it): ...

    tool.__annotations__["it"] = hint
    described = describe(tool)
    with pytest.raises(ValidationError) as failed:
        described.validate({"it": value})
    found = violations(failed.value, described)
    assert found == violations(failed.value, described.parameters)
    return found


def test_a_violation() -> None:
    (found,) = failing(int, "x")
    assert found == Violation("it", "an integer", "'x' (string)", "it: expected an integer, got 'x' (string)")


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (int, 1.5, "an integer"),
        (float, "x", "a number"),
        (bool, "perhaps", "true or false"),
        (str, 3, "a string"),
        (None, 3, "null"),
        (list[int], 3, "an array"),
        (set[int], 3, "an array"),
        (tuple[int], 3, "an array"),
        (dict[str, int], 3, "an object"),
        (Row, 3, "an object"),
        (Point, 3, "an object"),
        (bytes, 3, "bytes or a string"),
        (Color, "green", "one of 'red' or 'blue'"),
        (Literal["a", "b", "c"], "z", "one of 'a', 'b' or 'c'"),
        (datetime.datetime, "x", "a date and time such as '2025-01-31T12:00:00Z'"),
        (datetime.date, "x", "a date such as '2025-01-31'"),
        (datetime.time, "x", "a time such as '12:00:00'"),
        (datetime.timedelta, "x", "a duration such as 'PT1H30M'"),
        (uuid.UUID, "x", "a UUID"),
        (decimal.Decimal, "x", "a number"),
        (pathlib.Path, 3, "a path"),
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
        (Annotated[int, AfterValidator(even)], 3, "the number must be even"),
        (int | None, "x", "an integer"),
        (int | list[int] | Row, "x", "an integer or an array or an object"),
        (Foreign, 3, "a Python object of type Foreign"),
        (type[Foreign], 3, "a subclass of Foreign"),
    ],
)
def test_what_was_expected(hint: Any, value: Any, expected: str) -> None:
    (found,) = failing(hint, value)
    assert (found.path, found.expected) == ("it", expected)
    assert expected in found.message
    assert found.given in found.message


@pytest.mark.parametrize(
    ("hint", "value", "paths"),
    [
        (list[Row], [{"name": "ab"}, {"name": "ab", "age": -1}, {"name": "a"}], ["it[1].age", "it[2].name"]),
        (dict[str, Point], {"a b": {"x": "q"}, "c": {"x": "q"}}, ["it['a b'].x", "it.c.x"]),
        (tuple[int, str], [1, 2], ["it[1]"]),
        (int | list[int] | Row, {"age": 3}, ["it.name"]),
        (int | list[int] | Row, [1, "x", 2], ["it[1]"]),
        (list[int | str] | None, [1, []], ["it[1]"]),
        (Row | Point, {"x": "q"}, ["it.x"]),
        (Cat | Dog, {"kind": "dog", "tricks": [1]}, ["it.tricks[0]"]),
        (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "cat", "lives": "x"}, ["it.lives"]),
        (dict[int, str], {"x": "y"}, ["it.x"]),
        (list[list[int]], [[1], ["x"]], ["it[1][0]"]),
    ],
)
def test_where(hint: Any, value: Any, paths: list[str]) -> None:
    assert [found.path for found in failing(hint, value)] == paths


class Ring(RootModel["Ring | None"]):
    pass


def test_a_type_that_is_only_itself() -> None:
    assert {found.path for found in failing(Ring, [1])} == {"it"}


def test_a_wrong_key_is_called_a_key() -> None:
    (found,) = failing(dict[int, str], {"x": "y"})
    assert found.expected == "an integer as a key"


def test_a_key_may_be_named_like_the_mark_for_keys() -> None:
    assert [found.path for found in failing(dict[str, int], {"[key]": "x"})] == ["it['[key]']"]
    assert [found.path for found in failing(Point, {"x": 1, "[key]": 1})] == ["it['[key]']"]


def search(query: str, max_results: int = 10, where: Point | None = None) -> None: ...


def messages(arguments: Any) -> list[str]:
    tool = describe(search)
    with pytest.raises(ValidationError) as failed:
        tool.validate(arguments)
    return [found.message for found in violations(failed.value, tool)]


def test_missing_arguments() -> None:
    assert messages({}) == ["query: required argument is missing, expected a string"]
    assert messages({"query": "a", "where": {}}) == [
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
    (message,) = messages({"query": "a", wrong: 1})
    assert message.endswith(
        f"unknown argument (did you mean {near!r}? expected only query, max_results, where)"
    )


def test_unknown_arguments_without_a_near_one() -> None:
    assert messages({"query": "a", "zzz": 1}) == [
        "zzz: unknown argument (expected only query, max_results, where)"
    ]
    assert messages({"query": "a", "where": {"x": 1, "zzz": 1}}) == [
        "where.zzz: unknown argument (expected only x, y)"
    ]


def test_unknown_arguments_of_a_tool_that_takes_none() -> None:
    def nothing() -> None: ...

    tool = describe(nothing)
    with pytest.raises(ValidationError) as failed:
        tool.validate({"a": 1})
    assert violations(failed.value, tool)[0].message == "a: unknown argument (expected no arguments)"


def test_no_mapping_at_all() -> None:
    assert messages(5) == ["expected an object with the arguments query, max_results, where, got 5 (integer)"]


def test_strict_errors_read_the_same() -> None:
    tool = describe(search)
    with pytest.raises(ValidationError) as failed:
        tool.validate_strict({"query": 1, "max_results": "5"})
    assert [found.message for found in violations(failed.value, tool)] == [
        "query: expected a string, got 1 (integer)",
        "max_results: expected an integer, got '5' (string)",
    ]


def test_the_summary() -> None:
    def add(a: int, b: int) -> None: ...

    tool = describe(add)
    with pytest.raises(ValidationError) as failed:
        tool.validate({"a": "x", "c": 1})
    assert summarize("add", violations(failed.value, tool)) == (
        "Invalid arguments for 'add': a: expected an integer, got 'x' (string); "
        "b: required argument is missing, expected an integer; c: unknown argument (expected only a, b)."
    )


def test_a_summary_of_many_is_short() -> None:
    found = failing(list[int], ["x"] * 1000)
    assert len(found) == 50
    sentence = summarize("tool", found)
    assert sentence.endswith("; and 45 more.")
    assert len(sentence) < 500


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true (boolean)"),
        (5, "5 (integer)"),
        pytest.param(10**5000, "a very large integer", id="digits"),
        (1.5, "1.5 (number)"),
        ([1], "an array of 1 item"),
        ((1, 2), "an array of 2 items"),
        ({"a": 1}, "an object with 1 key"),
        (b"abc", "3 bytes"),
        (Point(1), "a Python object of type Point"),
        ("\x1b[31m", "'\\x1b[31m' (string)"),
        pytest.param("x" * 10**6, "'" + "x" * 28 + "… (string of 1000000 characters)", id="text"),
    ],
)
def test_what_was_given(value: Any, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize("name", ["password", "api_key", "apiKey", "accessToken", "DB_PASSWORD", "secret"])
def test_secrets_are_not_shown(name: str) -> None:
    assert "hunter2" not in shown("hunter2", ["config", name])


def test_values_that_the_schema_calls_secret_are_not_shown() -> None:
    (found,) = failing(Annotated[SecretStr, Field(min_length=20)], "hunter2")
    assert found.given == "a string (hidden)"
    assert "hunter2" not in found.message


def refuse(value: str) -> str:
    raise ValueError(f"no\n\x1b[31m{value}")


def test_words_of_a_validator_stay_on_one_line() -> None:
    (found,) = failing(Annotated[str, AfterValidator(refuse)], "x" * 1000)
    assert found.message.startswith("it: no\\n\\x1b[31mxxx")
    assert found.message.isprintable()
    assert len(found.message) < 350


@pytest.mark.parametrize("name", ["max_tokens", "tokenizer", "passage", "compass"])
def test_names_that_only_sound_secret(name: str) -> None:
    assert "hunter2" in shown("hunter2", [name])


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(ANYTHING)
def test_what_was_given_is_always_short(value: Any) -> None:
    assert len(shown(value)) <= 60
    assert shown(value).isprintable()


def everything(
    number: int | list[int] | Row,
    rows: list[Row | Point],
    points: dict[int, Point],
    pet: Annotated[Cat | Dog, Field(discriminator="kind")],
    color: Color = Color.RED,
) -> None: ...


KEYS = [
    "number",
    "rows",
    "points",
    "pet",
    "color",
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
TREES = st.recursive(
    PARTS | st.integers() | st.none() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(PARTS | st.text(max_size=5), inner, max_size=4)
    ),
)


@given(TREES)
def test_every_error_has_words(arguments: Any) -> None:
    tool = describe(everything)
    assert tool.validate is not None
    try:
        tool.validate(arguments)
    except ValidationError as error:
        found = violations(error, tool)
        assert found
        for violation in found:
            assert violation.expected
            assert len(violation.given) <= 60
            assert violation.message.startswith(violation.path)
            assert violation.message.isprintable()
            assert "function-" not in violation.path
