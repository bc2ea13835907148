"""A described tool, and the two ways in which arguments reach it: `call(**arguments)` and `call(value)`."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Literal, Union

from .facts import Facts
from .parameters import Parameter


@dataclass(frozen=True, slots=True)
class Described:
    """A callable as a tool: what a model reads, what is checked, what is called.

    Descriptions of one function share `parameters`: treat it as read-only.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema (2020-12) of the arguments, an object. The core checks and coerces by it."""
    call: Callable[..., Any]
    """What to call: `call(**arguments)` or `call(value)`, see `style`."""
    is_async: bool
    """Whether `call` returns an awaitable, to be awaited on the event loop."""
    style: Literal["kwargs", "value"]
    build: Callable[[Any], Any] | None
    """Builds Python values from arguments that fit `parameters`: a mapping to a new dict of arguments; style `value`: a value
    (unwrapped) to one. Raises `pydantic_core.ValidationError`. None: the callable takes the arguments as they are."""
    nothing_fails: bool = False
    """Whether None is a failure. For objects with `execute(input)`, whose callers rely on it."""
    is_checked: bool = True
    """Whether arguments must fit `parameters`. False: the tool takes any value."""
    plain: tuple[str, ...] | None = None
    """The parameters whose Python value is their JSON value (`int`, `list[str] | None`): nothing has to be built for them.
    None: a required parameter is not plain."""
    hidden: tuple[str, ...] = ()
    """Parameters that `parameters` does not show."""
    value_optional: bool = False
    """Style `value`: whether `call()` works too."""
    value_key: str | None = None
    """Style `value`: a mapping with just this key stands for the value under it."""
    value_property: str | None = None
    """Style `value`: the property of `parameters` that describes the value. None: `parameters` describes the value itself."""

    @property
    def makes_coroutine(self) -> bool:
        """Whether `call` is an `async def`, and not a function around one."""
        code = getattr(self.call, "__code__", None)
        return code is not None and bool(code.co_flags & inspect.CO_COROUTINE)


# Hints that restrict nothing: orchestrators also pass mappings to tools that declare `str`.
_FREE = (Any, object, str, dict, Mapping, MutableMapping, type(None))


def by_keyword(
    call: Callable[..., Any], name: str, description: str, schema: dict[str, Any] | None, facts: Facts
) -> Described:
    """Describe what is called with `call(**arguments)`; a declared schema replaces the signature's."""
    build = plain = None
    hidden: tuple[str, ...] = ()
    if schema is None and (arguments := facts.arguments) is not None:
        schema, build, plain, hidden = arguments
    elif schema is None:  # no signature: the callable itself refuses what it does not take
        schema = {"type": "object", "properties": {}, "additionalProperties": True}
    return Described(
        name=name,
        description=description,
        parameters=schema,
        call=facts.call(call),
        is_async=facts.behaviour.is_async,
        style="kwargs",
        build=build,
        plain=plain,
        hidden=hidden,
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
    build: Callable[[Any], Any] | None = None
    key: str | None = parameter.name
    property_: str | None = None
    is_checked = True
    if schema is not None:
        # With several declared properties, a property that is named like the parameter is a coincidence.
        key = key if not schema.get("properties") or list(schema["properties"]) == [key] else None
    else:
        schema, key, property_ = _schema(facts, parameter)
        is_checked = not _is_free(parameter.hint) and facts.arguments is not None
        if is_checked and (arguments := facts.arguments) is not None:
            build = _of_value(arguments.build, arguments.schema)
    return Described(
        name=name,
        description=description,
        parameters=schema,
        call=facts.call(call, by_value=True),
        is_async=facts.behaviour.is_async,
        style="value",
        build=build,
        is_checked=is_checked,
        value_optional=not parameter.required,
        value_key=key,
        value_property=property_,
    )


def _schema(facts: Facts, parameter: Parameter) -> tuple[dict[str, Any], str | None, str | None]:
    """The schema from the signature, the key to unwrap, and the property that describes the value.

    A value that is an object is described by the schema itself.
    """
    arguments = facts.arguments
    if arguments is None:
        made: dict[str, Any] = {
            "type": "object",
            "properties": {parameter.name: {}},
            "required": [parameter.name],
        }
        return made, parameter.name, parameter.name
    from .schema import whole

    made = {key: value for key, value in arguments.schema.items() if key != "additionalProperties"}
    ((name, property_),) = made["properties"].items()  # the parameter, under its alias if it has one
    inner = whole(property_, made.get("$defs"))
    if inner.get("type") != "object":
        return made, parameter.name, name
    if "properties" not in inner:
        inner["properties"] = {}
        inner.setdefault("additionalProperties", True)
    return inner, None if parameter.name in inner["properties"] else parameter.name, None


def _of_value(build: Callable[[Any], dict[str, Any]], schema: Mapping[str, Any]) -> Callable[[Any], Any]:
    (name,) = schema["properties"]

    def build_value(value: Any) -> Any:
        (built,) = build({name: value}).values()
        return built

    return build_value


def _is_free(hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        return all(map(_is_free, typing.get_args(hint)))
    if origin in (dict, Mapping, MutableMapping):
        return typing.get_args(hint) == (str, Any)
    if origin is typing.Annotated:
        return _is_free(typing.get_args(hint)[0]) and all(map(_is_description, hint.__metadata__))
    return any(hint is free for free in _FREE)


def _is_description(note: Any) -> bool:
    """Whether a note in `Annotated` only describes: text, `Doc`, or a `Field` without constraints."""
    described = isinstance(note, str) or isinstance(getattr(note, "documentation", None), str)
    return described or getattr(note, "metadata", None) == []
