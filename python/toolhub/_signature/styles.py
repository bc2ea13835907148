"""The two ways in which arguments reach a tool: `call(**arguments)` and `call(value)`."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Union

from .declared import single_of
from .described import Described
from .facts import Facts
from .parameters import Parameter

# Hints that say nothing of the value: tools that say `str` are also given mappings by their orchestrators.
_FREE = (Any, object, str, dict, Mapping, MutableMapping, type(None))


def by_keyword(
    call: Callable[..., Any], name: str, description: str, schema: dict[str, Any] | None, facts: Facts
) -> Described:
    """Describe what is called with `call(**arguments)`; a declared schema replaces the signature's."""
    validate = validate_strict = single = plain = None
    if schema is not None:
        single = single_of(schema)
    elif (arguments := facts.arguments) is not None:
        schema, validate, validate_strict, single, plain = arguments
    else:  # no signature: the callable itself will say what it does not like
        schema = {"type": "object", "properties": {}, "additionalProperties": True}
    return Described(
        name=name,
        description=description,
        parameters=schema,
        call=facts.call(call),
        is_async=facts.behaviour.is_async,
        style="kwargs",
        validate=validate,
        validate_strict=validate_strict,
        single=single,
        plain=plain,
    )


def by_value(
    call: Callable[..., Any],
    name: str,
    description: str,
    schema: dict[str, Any] | None,
    facts: Facts,
    parameter: Parameter,
) -> Described:
    """Describe what is called with `call(value)`, such as `execute(input)`."""
    validate: Callable[[Any], Any] | None = None
    validate_strict: Callable[[Any], Any] | None = None
    key: str | None = parameter.name
    if schema is not None:
        # With several declared properties, one of them being named like the parameter means nothing.
        key = key if not schema.get("properties") or list(schema["properties"]) == [key] else None
    else:
        schema, key = _schema(facts, parameter)
        validate = validate_strict = _accept
        if not _is_free(parameter.hint) and (arguments := facts.arguments) is not None:
            validate = _of_value(arguments.validate, arguments.schema)
            validate_strict = _of_value(arguments.validate_strict, arguments.schema)
    return Described(
        name=name,
        description=description,
        parameters=schema,
        call=facts.call(call, by_value=True),
        is_async=facts.behaviour.is_async,
        style="value",
        validate=validate,
        validate_strict=validate_strict,
        single=parameter.name,
        value_key=key,
    )


def _schema(facts: Facts, parameter: Parameter) -> tuple[dict[str, Any], str | None]:
    """The schema from the signature, and the key to unwrap; a value that is an object is shown as such."""
    arguments = facts.arguments
    if arguments is None:
        return {
            "type": "object",
            "properties": {parameter.name: {}},
            "required": [parameter.name],
        }, parameter.name
    from .schema import whole

    made = {key: value for key, value in arguments.schema.items() if key != "additionalProperties"}
    (property_,) = made["properties"].values()
    inner = whole(property_, made.get("$defs"))
    if inner.get("type") != "object":
        return made, parameter.name
    if "properties" not in inner:
        inner["properties"] = {}
        inner.setdefault("additionalProperties", True)
    return inner, None if parameter.name in inner["properties"] else parameter.name


def _accept(value: Any) -> Any:
    """Take any value: nothing was said of it."""
    return value


def _of_value(check: Callable[[Any], dict[str, Any]], schema: Mapping[str, Any]) -> Callable[[Any], Any]:
    (name,) = schema["properties"]  # the parameter, under its alias if it has one

    def validate(value: Any) -> Any:
        (checked,) = check({name: value}).values()
        return checked

    return validate


def _is_free(hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        return all(map(_is_free, typing.get_args(hint)))
    if origin in (dict, Mapping, MutableMapping):
        return typing.get_args(hint) == (str, Any)
    if origin is typing.Annotated:
        return _is_free(typing.get_args(hint)[0]) and all(map(_is_words, hint.__metadata__))
    return any(hint is free for free in _FREE)


def _is_words(note: Any) -> bool:
    """Whether a note in `Annotated` only describes: text, `Doc`, or a `Field` without constraints."""
    described = isinstance(note, str) or isinstance(getattr(note, "documentation", None), str)
    return described or getattr(note, "metadata", None) == []
