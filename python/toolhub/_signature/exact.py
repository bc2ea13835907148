"""A builder that converts no scalars on its own, and whose patterns have a bound on their time.

The JSON Schema in the core decides what an integer, a number, a boolean or text is, and coerces to it. pydantic would convert
more: bytes to text, a `memoryview` to a list, any enum member to its value, even to text for an `int`. Its scalars are
therefore strict. A Python object that they refuse is tried in its JSON form, which the core checks.

pydantic runs a pattern on Python's engine if it was compiled with `re`, if a model has `regex_engine="python-re"`, or if it
has look-around. That engine may need exponential time, and it holds the GIL. The core checks the same pattern from the JSON
Schema with a limit, so it is enough to check here what Rust's engine, which needs linear time, can run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from pydantic_core import PydanticKnownError, SchemaValidator

_OUTER = ("ref", "metadata")
# What is below these kinds gets the input, or a part of it. The keys of a mapping are text in JSON, so they have to be
# converted; below other kinds, code of the user's may have returned anything.
_PARTS = ("schema", "definitions", "fields", "extras_schema", "items_schema", "values_schema", "choices")
_HOLDERS = {
    *("definitions", "typed-dict", "typed-dict-field", "model", "model-fields", "model-field", "dataclass"),
    *("dataclass-args", "dataclass-field", "nullable", "default", "union", "tagged-union", "function-after"),
    *("list", "tuple", "set", "frozenset", "dict"),
}
_SEVERAL = ("list", "tuple", "set", "frozenset")


def exact(node: Any) -> Any:
    """A copy of a core schema with strict scalars.

    >>> exact({"type": "dict", "values_schema": {"type": "str"}})
    {'type': 'dict', 'values_schema': {'type': 'str', 'strict': True}}
    """
    if isinstance(node, (list, tuple)):
        kind = cast("Callable[[list[Any]], Any]", type(cast("object", node)))
        return kind([exact(item) for item in cast("list[Any]", node)])
    if not isinstance(node, dict):
        return node
    schema = cast("dict[str, Any]", node)
    kind = schema.get("type")
    if not isinstance(kind, str):  # the fields or choices, by name
        return {name: exact(part) for name, part in schema.items()}
    if _is_described_otherwise(schema):
        return schema
    if kind in ("str", "bool"):
        return {**schema, "strict": True}
    own = {key: part for key, part in schema.items() if key not in _OUTER}
    outer = {key: schema[key] for key in _OUTER if key in schema}
    if kind == "int":
        return {**_integer(own), **outer}
    if kind == "float":
        return {**_number({**own, "strict": True}, "float"), **outer}
    if kind not in _HOLDERS or schema.get("validate_default"):
        return schema
    held = {key: exact(part) if key in _PARTS else part for key, part in own.items()}
    return {**(_without_bytes(held, kind) if kind in _SEVERAL else held), **outer}


def _is_described_otherwise(schema: dict[str, Any]) -> bool:
    """Whether the user's own words replace pydantic's JSON Schema here, or hide it (`WithJsonSchema`, `SkipJsonSchema`)."""
    notes = cast("dict[str, Any]", schema.get("metadata") or {})
    if "pydantic_js_annotation_functions" in notes:
        return True
    # Models and dataclasses always have a function.
    is_scalar = schema["type"] in ("str", "bool", "int", "float")
    is_field = schema["type"].endswith("-field")
    return (is_scalar and "pydantic_js_functions" in notes) or (is_field and "pydantic_js_extra" in notes)


def _without_bytes(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    """Several values, but not those of a `memoryview`: pydantic refuses `bytes` and `bytearray` here, which are the same."""

    def build(value: Any, validate: Callable[[Any], Any]) -> Any:
        if isinstance(value, memoryview):
            raise PydanticKnownError(cast(Any, f"{kind.replace('frozenset', 'frozen_set')}_type"))
        return validate(value)

    return {"type": "function-wrap", "function": {"type": "no-info", "function": build}, "schema": schema}


def _number(schema: dict[str, Any], kind: str) -> dict[str, Any]:
    """A number of Python's own. pydantic asks other objects for a float, text of `UserString` too."""
    own_class = {"type": "is-instance", "cls": (float, int)}
    gate = {"type": "custom-error", "schema": own_class, "custom_error_type": f"{kind}_type"}
    return {"type": "chain", "steps": [gate, schema]}


def _integer(schema: dict[str, Any]) -> dict[str, Any]:
    """An integer, or a float that is whole: JSON does not tell `5.0` from `5`."""
    if schema.get("strict"):
        return schema
    choices = [{**schema, "strict": True}, _number(schema, "int")]
    return {"type": "union", "mode": "left_to_right", "choices": choices}


def safe(core: Any, json_schema: dict[str, Any]) -> Any:
    """The core schema with patterns that all run in linear time."""
    seen: list[bool] = []
    made = _safe(core, _patterns(json_schema, set()), seen)
    return made if seen else core


def _safe(node: Any, checked: set[str], seen: list[bool]) -> Any:
    if isinstance(node, list):
        return [_safe(item, checked, seen) for item in cast("list[Any]", node)]
    if isinstance(node, tuple):
        return tuple(_safe(item, checked, seen) for item in cast("tuple[Any, ...]", node))
    if not isinstance(node, dict):
        return node
    safe: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", node).items():
        if key == "metadata":
            safe[key] = value
        elif key == "regex_engine" and value == "python-re":
            seen.append(True)
        elif key == "pattern" and node.get("type") == "str":
            text, flags = (value, 0) if isinstance(value, str) else (value.pattern, value.flags)
            if not isinstance(value, str):
                seen.append(True)
            if _is_linear(linear := _inline(flags) + text):
                safe[key] = linear
            elif text in checked:
                seen.append(True)
            else:
                safe[key] = value
        else:
            safe[key] = _safe(value, checked, seen)
    return safe


def _inline(flags: int) -> str:
    letters = {re.I: "i", re.M: "m", re.S: "s", re.X: "x"}
    named = "".join(letter for flag, letter in letters.items() if flags & flag)
    return f"(?{named})" if named else ""


@lru_cache(maxsize=256)
def _is_linear(pattern: str) -> bool:
    try:
        SchemaValidator({"type": "str", "pattern": pattern})
    except Exception:
        return False
    return True


def _patterns(node: Any, found: set[str]) -> set[str]:
    """The patterns that the core checks."""
    if isinstance(node, dict):
        for key, value in cast("dict[str, Any]", node).items():
            if key == "pattern" and isinstance(value, str):
                found.add(value)
            _patterns(value, found)
    elif isinstance(node, list):
        for item in cast("list[Any]", node):
            _patterns(item, found)
    return found
