"""Schemas that were written by hand: given as `parameters=`, or as an attribute of a tool object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def declared(schema: Any, where: str) -> dict[str, Any]:
    """Check that this is the JSON Schema of an object, and say so in it.

    >>> declared({"properties": {"city": {"type": "string"}}}, "parameters=")
    {'type': 'object', 'properties': {'city': {'type': 'string'}}}
    """
    if is_model(schema):
        from .readable import of_model

        return of_model(schema)
    if not isinstance(schema, Mapping):
        raise TypeError(f"{where} must be a JSON Schema as a dict, not {type(schema).__name__}.")
    given = dict(cast("Mapping[str, Any]", schema))
    if wrong := [key for key in given if not isinstance(cast(Any, key), str)]:
        raise TypeError(f"{where} must be a JSON Schema with text as keys, but has the key {wrong[0]!r}.")
    kind = given.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise ValueError(f'{where} must be a JSON Schema of "type": "object", not of type {kind!r}.')
    if not isinstance(given.get("properties", {}), Mapping):
        raise TypeError(
            f"{where} must have a dict as its properties, not {type(given['properties']).__name__}."
        )
    return {"type": "object", **given}


def is_model(schema: Any) -> bool:
    """Whether this is a pydantic model, or an instance of one."""
    return callable(getattr(schema, "model_json_schema", None))


def single_of(schema: Mapping[str, Any]) -> str | None:
    """The argument that a bare value is for: the only one, or the only required one.

    >>> single_of({"properties": {"a": {}, "b": {}}, "required": ["b"]})
    'b'
    """
    required = schema.get("required", ())
    if isinstance(required, list) and len(cast("list[Any]", required)) == 1:
        return str(cast("list[Any]", required)[0])
    properties: Mapping[str, Any] = schema.get("properties", {})
    return next(iter(properties)) if len(properties) == 1 else None
