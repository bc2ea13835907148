"""Arguments of tools that bring a JSON Schema: the same rules and words for servers and for Python functions."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

import pytest

from toolhub import ErrorKind, ToolHub

pytestmark = pytest.mark.anyio

Mirror = Callable[[dict[str, Any]], Any]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50},
        "exact": {"type": "boolean"},
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "filters": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"max_price": {"type": "number"}},
                "additionalProperties": False,
            },
        },
        "near": {"anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}], "default": None},
        "password": {"type": "string", "minLength": 12},
    },
    "required": ["query"],
    "$defs": {"place": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]}},
}
CLOSED = {**SCHEMA, "additionalProperties": False}

MENDED = [
    ({"query": 5}, {"query": "5"}),
    ({"query": "a", "limit": "5"}, {"query": "a", "limit": 5}),
    ({"query": "a", "exact": "True"}, {"query": "a", "exact": True}),
    ({"query": "a", "unit": "Celsius"}, {"query": "a", "unit": "celsius"}),
    ({"query": "a", "tags": "one"}, {"query": "a", "tags": ["one"]}),
    ({"query": "a", "tags": '["one", "two"]'}, {"query": "a", "tags": ["one", "two"]}),
    ({"query": "a", "filters": '[{"max_price": "9.5"}]'}, {"query": "a", "filters": [{"max_price": 9.5}]}),
    ({"query": "a", "near": '{"lat": 1}'}, {"query": "a", "near": {"lat": 1}}),
    ({"query": "a", "limit": None, "near": None}, {"query": "a", "near": None}),
]


async def test_harmless_mismatches_are_made_to_fit_unless_coercion_is_off(mirror: Mirror) -> None:
    async with mirror(SCHEMA) as call:
        for args, wanted in MENDED:
            given = json.dumps(args)
            assert json.loads((await call(args)).unwrap()) == wanted
            assert json.dumps(args) == given, "the caller's own arguments stay as they are"
            refused = await call(args, coerce=False)
            assert refused.kind is ErrorKind.INVALID_ARGUMENTS, args
            unchecked = await call(args, validate=False)
            assert json.loads(unchecked.unwrap()) == args


REFUSED = [
    ({}, "query: required argument is missing, expected a string"),
    ({"querry": "a"}, "query: required argument is missing, expected a string (was 'querry' meant for it?)"),
    ({"query": None}, "query: expected a string, got null"),
    ({"query": "a", "limit": "many"}, "limit: expected an integer, got 'many' (string)"),
    ({"query": "a", "limit": "99"}, "limit: expected a value of at most 50, got '99' (string)"),
    (
        {"query": "a", "unit": "kelvin"},
        "unit: expected one of 'celsius', 'fahrenheit', got 'kelvin' (string)",
    ),
    (
        {"query": "a", "filters": [{"max_price": "cheap"}]},
        "filters[0].max_price: expected a number, got 'cheap' (string)",
    ),
    (
        {"query": "a", "filters": [{"max_prize": 1}]},
        "filters[0].max_prize: unknown argument (did you mean 'max_price'? expected only max_price)",
    ),
    ({"query": "a", "near": {}}, "near.lat: required argument is missing, expected a number"),
    ({"query": "a", "near": 5}, "near: expected an object or null, got 5 (integer)"),
    (
        {"query": "a", "password": "hunter2"},
        "password: expected a string of at least 12 characters, got a string (hidden)",
    ),
]


async def test_a_violation_names_path_expectation_and_what_was_given(mirror: Mirror) -> None:
    async with mirror(SCHEMA) as call:
        for args, words in REFUSED:
            result = await call(args)
            assert result.kind is ErrorKind.INVALID_ARGUMENTS
            assert result.error == f"Invalid arguments for 'mirror': {words}."
            assert result.meta["error"]["outcome"] == "not_sent"


async def test_several_violations_are_one_sentence(mirror: Mirror) -> None:
    async with mirror(CLOSED) as call:
        result = await call({"limit": "many", "exact": 2, "colour": 1})
        assert result.error is not None
        violations = (
            result.error.removeprefix("Invalid arguments for 'mirror': ").removesuffix(".").split("; ")
        )
        names = "query, limit, exact, unit, tags, filters, near, password"
        assert sorted(violations) == [
            f"colour: unknown argument (expected only {names})",
            "exact: expected true or false, got 2 (integer)",
            "limit: expected an integer, got 'many' (string)",
            "query: required argument is missing, expected a string",
        ]


async def test_defaults_are_not_filled_in_and_names_not_corrected(mirror: Mirror) -> None:
    async with mirror(SCHEMA) as call:
        assert json.loads((await call({"query": "a"})).unwrap()) == {"query": "a"}
        assert json.loads((await call({"query": "a", "limt": 5})).unwrap()) == {"query": "a", "limt": 5}


async def test_a_bare_value_is_made_to_fit_too(mirror: Mirror) -> None:
    async with mirror(SCHEMA) as call:
        assert json.loads((await call(5)).unwrap()) == {"query": "5"}


async def test_draft_7_is_known_by_its_schema(mirror: Mirror) -> None:
    tuple_of_old = {"type": "array", "items": [{"type": "integer"}], "additionalItems": False}
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"pair": tuple_of_old}}
    async with mirror(schema) as call:
        assert json.loads((await call({"pair": ["1"]})).unwrap()) == {"pair": [1]}
        refused = await call({"pair": [1, 2]})
        assert "pair: expected at most 1 item, got an array of 2 items" in str(refused.error)


async def test_an_unknown_argument_that_is_not_forbidden_is_passed_on_with_a_warning(mirror: Mirror) -> None:
    async with mirror(SCHEMA) as call:
        result = await call({"query": "a", "limt": 5})
        (warning,) = result.meta["warnings"]
        assert warning.startswith(
            "limt: unknown argument, passed on unchanged (did you mean 'limit'? known: "
        )
        assert "warnings" not in (await call({"query": "a"})).meta


def test_python_objects_that_fit_stay_what_they_are() -> None:
    seen: dict[str, Any] = {}
    schema = {"properties": {"day": {"type": "string"}, "limit": {"type": "integer"}}}
    hub = ToolHub()
    hub.register(lambda **given: seen.update(given) or "ok", name="t", parameters=schema)
    day = datetime.date(2026, 1, 2)
    assert hub.call("t", {"day": day, "limit": "5"}).success
    assert seen == {"day": day, "limit": 5}


def test_a_null_for_what_may_be_left_out_is_left_out() -> None:
    hub = ToolHub()

    @hub.tool
    def look(query: str, limit: int = 10, note: str | None = "none") -> list[Any]:
        return [query, limit, note]

    assert hub.call("look", {"query": "a", "limit": None, "note": None}).result == ["a", 10, None]
    assert hub.call("look", {"query": [5], "limit": None}).error == (
        "Invalid arguments for 'look': query: expected a string, got an array of 1 item."
    )
    for args, options in (({"query": None}, {}), ({"query": "a", "limit": None}, {"coerce": False})):
        assert hub.call("look", args, **options).kind is ErrorKind.INVALID_ARGUMENTS
    assert "x: unknown argument" in str(hub.call("look", {"query": "a", "x": None}).error)


def search(query: str, limit: int = 10, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    return json.dumps([query, limit, unit])


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"query": None},
        {"query": ["a"]},
        {"query": "a", "limit": "many"},
        {"query": "a", "limit": [1, 2]},
        {"query": "a", "limt": 5},
        {"query": "a", "zzz": 5},
        {"query": "a", "limit": {"a": 1}},
        {"limit": None},
        {"query": "a", "limit": "x" * 100},
    ],
    ids=str,
)
def test_errors_of_both_checks_read_alike(args: Mapping[str, Any]) -> None:
    hub = ToolHub()
    hub.register(search, name="t")
    schema = hub.get("t").parameters

    def violations() -> list[str]:
        sentence = str(hub.call("t", args).error)
        assert sentence.startswith("Invalid arguments for 't': ")
        assert sentence.endswith(".")
        return sorted(sentence.removeprefix("Invalid arguments for 't': ").removesuffix(".").split("; "))

    by_signature = violations()
    hub.register(lambda **given: "never", name="t", parameters=schema)
    assert violations() == by_signature
