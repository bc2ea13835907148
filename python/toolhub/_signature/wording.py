"""The words for what was expected and what was given: short, and the same for every tool.

They are read by models, so they use JSON's names for types; and they end up in logs, so a value is shown only
in part, with control characters escaped, and never when its name says that it is a secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from .._plain import is_secret

_LONGEST_GIVEN = 60
_LONGEST_EXPECTED = 200

_BY_TYPE = {
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_BY_FORMAT = {
    "date-time": "a date and time such as '2025-01-31T12:00:00Z'",
    "date": "a date such as '2025-01-31'",
    "time": "a time such as '12:00:00'",
    "duration": "a duration such as 'PT1H30M'",
    "uuid": "a UUID",
    "path": "a path",
    "uri": "a URL",
}
# What pydantic says with numbers in it, by the type of its error.
_BY_CONTEXT = {
    "greater_than": "a value greater than {gt}",
    "greater_than_equal": "a value of at least {ge}",
    "less_than": "a value less than {lt}",
    "less_than_equal": "a value of at most {le}",
    "multiple_of": "a multiple of {multiple_of}",
    "string_too_short": "a string of at least {min_length} characters",
    "string_too_long": "a string of at most {max_length} characters",
    "string_pattern_mismatch": "a string that matches {pattern!r}",
    "too_short": "at least {min_length} items",
    "too_long": "at most {max_length} items",
    "literal_error": "one of {expected}",
    "enum": "one of {expected}",
    "value_error": "{error}",
    "assertion_error": "{error}",
    "is_instance_of": "a Python object of type {class}",
    "is_subclass_of": "a subclass of {class}",
    "dataclass_exact_type": "a Python object of type {class_name}",
    "model_class_type": "a Python object of type {class_name}",
}
# What pydantic says without: beginnings of its error types; the first that fits counts.
_BY_ERROR = (
    ("datetime_", _BY_FORMAT["date-time"]),
    ("date_", _BY_FORMAT["date"]),
    ("time_delta_", _BY_FORMAT["duration"]),
    ("time_", _BY_FORMAT["time"]),
    ("uuid_", _BY_FORMAT["uuid"]),
    ("url_", _BY_FORMAT["uri"]),
    ("path_", _BY_FORMAT["path"]),
    ("int_", "an integer"),
    ("float_", "a number"),
    ("decimal_type", "a number"),
    ("decimal_parsing", "a number"),
    ("bool_", "true or false"),
    ("string_type", "a string"),
    ("string_sub_type", "a string"),
    ("string_unicode", "a string"),
    ("bytes_type", "bytes or a string"),
    ("list_type", "an array"),
    ("tuple_type", "an array"),
    ("set_type", "an array"),
    ("frozen_set_type", "an array"),
    ("iterable_type", "an array"),
    ("dict_type", "an object"),
    ("mapping_type", "an object"),
    ("model_type", "an object"),
    ("model_attributes_type", "an object"),
    ("dataclass_type", "an object"),
    ("none_required", "null"),
)
# These tell more than that the type is wrong, so pydantic's own words are better.
_TELLING = ("_past", "_future", "_aware", "_naive", "_offset", "_scheme", "_too_long", "_exact")


def expected_by_error(kind: str, message: str, context: Mapping[str, Any]) -> str:
    """What pydantic expected, from one of its errors.

    >>> expected_by_error("greater_than", "Input should be greater than 0", {"gt": 0})
    'a value greater than 0'
    """
    if kind in _BY_CONTEXT:
        try:
            return cut(_BY_CONTEXT[kind].format(**context), _LONGEST_EXPECTED)
        except (KeyError, ValueError):  # another version of pydantic, another context
            pass
    for beginning, words in _BY_ERROR:
        if kind.startswith(beginning) and not kind.endswith(_TELLING):
            return words
    text = message.removeprefix("Input should be ").removeprefix("Value error, ")
    return cut(text[:1].lower() + text[1:], _LONGEST_EXPECTED)


def expected_by_schema(schemas: Iterable[Mapping[str, Any]]) -> str:
    """What a schema asks for, in a few words; empty when it asks for nothing.

    >>> expected_by_schema([{"type": "integer"}, {"enum": ["auto"]}])
    "an integer or one of 'auto'"
    """
    found = dict.fromkeys(words for schema in schemas if (words := _one(schema)))
    return cut(" or ".join(found), _LONGEST_EXPECTED)


def _one(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(repr(choice) for choice in schema["enum"])
    if "const" in schema:
        return repr(schema["const"])
    return _BY_FORMAT.get(schema.get("format", "")) or _BY_TYPE.get(str(schema.get("type")), "")


def given(value: Any, names: Sequence[object] = (), *, hidden: bool = False) -> str:
    """A value in at most 60 characters, with its JSON type; never the content of something large or secret.

    >>> given("x"), given([1, 2]), given("hunter2", ["password"])
    ("'x' (string)", 'an array of 2 items', 'a string (hidden)')
    """
    if isinstance(value, str):
        if hidden or any(is_secret(name) for name in names):
            return "a string (hidden)"
        start = repr(value[:40])
        if len(value) > 40 or len(start) > 45:
            return f"{cut(start, 30)} (string of {len(value)} characters)"
        return f"{start} (string)"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"{str(value).lower()} (boolean)"
    if isinstance(value, int):
        return f"{value!r} (integer)" if abs(value) < 10**30 else "a very large integer"
    if isinstance(value, float):
        return f"{value!r} (number)"
    return cut(_large(value), _LONGEST_GIVEN)


def _large(value: Any) -> str:
    if isinstance(value, (list, tuple, set, frozenset)):
        count = len(cast("list[Any]", value))
        return f"an array of {count} item{'' if count == 1 else 's'}"
    if isinstance(value, Mapping):
        count = len(cast("Mapping[Any, Any]", value))
        return f"an object with {count} key{'' if count == 1 else 's'}"
    if isinstance(value, (bytes, bytearray)):
        return f"{len(value)} bytes"
    return f"a Python object of type {type(value).__name__}"


def path_of(parts: Sequence[object]) -> str:
    """Where in the arguments: `rows[2].age`. Keys that are not plain words are quoted.

    >>> path_of(["rows", 2, "first name"])
    "rows[2]['first name']"
    """
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif (text := str(part)).isidentifier() and len(text) <= 60:
            path += f".{text}" if path else text
        else:
            path += f"[{cut(repr(text[:60]), 60)}]" if path else cut(repr(text[:60]), 60)
    return path


def cut(text: str, limit: int) -> str:
    """The text on one line, with its end cut off when it is too long."""
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return text if text.isprintable() else "".join(map(_printable, text))


def _printable(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode()
