"""The JSON Schema of all arguments: of the function, with its descriptions and defaults, or by hand. Without pydantic."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from .parameters import NOTHING, CallSignature, Parameter

Build = Callable[[Any], dict[str, Any]]
EXTRAS = "**"
"""The key under which the hint of `**kwargs` travels through pydantic; no parameter can have this name."""

_LONGEST_DEFAULT = 500
_SCALARS = (str, int, float, bool, type(None))
_LONGEST_CHAIN = 20  # of references: they may form a ring


class Arguments(NamedTuple):
    """What may be passed, and how Python values are built from it."""

    schema: dict[str, Any]
    build: Build
    plain: tuple[str, ...] | None
    hidden: tuple[str, ...]


def python_type(hint: Any) -> str:
    """How a type without a JSON form is named in a description."""
    return f"Python type: {hint.__qualname__ if isinstance(hint, type) else str(hint).replace('typing.', '')}"


def assemble(
    raw: Mapping[str, Any], signature: CallSignature, param_docs: Mapping[str, str]
) -> dict[str, Any]:
    """The schema of all arguments: pydantic's, with descriptions and defaults of the function."""
    found: dict[str, Any] = dict(raw.get("properties", {}))
    extras = found.pop(EXTRAS, False)
    by_key = {parameter.name: parameter for parameter in signature.parameters}
    if len(found) == len(signature.parameters):  # else some are hidden, by `SkipJsonSchema`
        # A `Field(alias=...)` changes a key, never the order.
        by_key = dict(zip(found, signature.parameters, strict=True))
    properties = {
        key: _property(part, by_key[key], param_docs.get(by_key[key].name)) if key in by_key else part
        for key, part in found.items()
    }
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required := raw.get("required"):
        schema["required"] = required
    schema["additionalProperties"] = True if extras == {} else extras
    if definitions := raw.get("$defs"):
        schema["$defs"] = _untitled(definitions)
    return schema


def whole(schema: Mapping[str, Any], definitions: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A self-contained schema: a reference at its root is resolved."""
    definitions = cast("Mapping[str, Any]", definitions or schema.get("$defs") or {})
    root: dict[str, Any] = {key: value for key, value in schema.items() if key not in ("$defs", "title")}
    for _ in range(_LONGEST_CHAIN):
        if (reference := root.pop("$ref", None)) is None:
            break
        root = {**definitions[reference.rpartition("/")[2]], **root}
        root.pop("title", None)
    if definitions and "#/$defs/" in json.dumps(root, default=str):
        root["$defs"] = _untitled(definitions)
    return root


def _property(schema: Mapping[str, Any], parameter: Parameter, doc: str | None) -> dict[str, Any]:
    made = dict(schema)
    note = made.get("description", "")
    if made.keys() <= {"description", "default"} and parameter.hint is not Any:
        # JSON Schema cannot express this type, so its name is all a reader gets.
        note = note if note.startswith("Python type:") else python_type(parameter.hint)
        text = parameter.doc or doc
    else:
        text, note = note or parameter.doc or doc, ""
    if parameter.lost is not None:
        text, note = text or doc, f"Python type: {parameter.lost}"
    parts = (text and text.strip(), f"({note})" if text and note else note)
    if text := " ".join(part for part in parts if part):
        made["description"] = text
        _drop_repeated(made, text)
    if parameter.default is not NOTHING and "default" not in made:
        made.update(_default(parameter.default))
    return made


def _drop_repeated(made: dict[str, Any], text: str) -> None:
    """`Annotated[int, Field(description=...)] = None` repeats the description in the choice."""
    if "anyOf" in made:
        made["anyOf"] = [
            {key: value for key, value in choice.items() if not (key == "description" and value == text)}
            for choice in made["anyOf"]
        ]


def _default(value: Any) -> dict[str, Any]:
    """`{"default": ...}` if it is short JSON."""
    try:
        shown = _jsonable(value)
        text = json.dumps(shown, allow_nan=False)
        if len(text) <= _LONGEST_DEFAULT:
            return {"default": shown}
    except Exception:  # a default may be any object, and its serialiser may fail in any way
        pass
    return {}


def _jsonable(value: Any) -> Any:
    """A copy as JSON data. Lists and dicts of scalars are copied here, so that pydantic stays unloaded."""
    if type(value) in _SCALARS:
        return value
    if type(value) is list:
        return [_jsonable(item) for item in cast("list[Any]", value)]
    if type(value) is dict and all(type(key) is str for key in cast("dict[Any, Any]", value)):
        return {key: _jsonable(item) for key, item in cast("dict[str, Any]", value).items()}
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value)


def _untitled(definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Definitions without titles that only repeat their key; a title of the user's own stays."""
    return {key: _without_title(key, cast("dict[str, Any]", schema)) for key, schema in definitions.items()}


def _without_title(key: str, schema: dict[str, Any]) -> dict[str, Any]:
    title = schema.get("title")
    if isinstance(title, str) and key.endswith(re.sub(r"\W", "_", title)):
        return {name: value for name, value in schema.items() if name != "title"}
    return schema


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
