"""Objects with `name`, `description` and `execute(input)`: the shape that existing orchestrators have.

`execute` mostly takes one value, which may be text, a mapping, or anything: such a tool has style `value`.
Nothing is known of its keys unless the object declares a schema, so a mapping is passed whole; only a mapping
with the parameter's own name as its single key, as a model sends it, is unwrapped.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from . import callables, docstrings
from .context import Context, context_of, late
from .declared import declared, is_model
from .described import Described
from .facts import Facts, facts_of
from .parameters import Parameter
from .styles import by_keyword, by_value

_OTHERS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.ModuleType, partial)
_SCHEMAS = ("parameters", "input_schema", "inputSchema", "args_schema")


def tool_of(obj: Any, *, named: bool) -> Any | None:
    """The object with `execute` that `obj` is, or, as a class, makes; None when it has another shape."""
    if isinstance(obj, _OTHERS):
        return None
    if isinstance(obj, type):
        return _instance(obj) if callable(getattr(cast(Any, obj), "execute", None)) else None
    if getattr(obj, "execute", None) is None:
        return None
    # A callable object that happens to have an `execute` is a tool of this shape only when it has a name.
    return obj if named or getattr(obj, "name", None) is not None or not callable(obj) else None


def _instance(cls: type) -> Any:
    try:
        return cls()
    except Exception as error:
        raise TypeError(
            f"The class {cls.__name__} has execute() but cannot be made without arguments ({error}): "
            f"register an instance of it."
        ) from error


def describe_tool(
    tool: Any, name: str | None, description: str | None, schema: dict[str, Any] | None
) -> Described:
    """Describe an object with `execute`. A schema that is given comes before one that the object declares."""
    kind = type(tool).__name__
    if not callable(tool.execute):
        raise TypeError(f"{kind}.execute must be a method, not {type(tool.execute).__name__}.")
    name = _text(tool, "name") if name is None else name
    if not name or not name.strip():
        raise ValueError(
            f"The {kind} object has execute() but no name: set its attribute `name` or pass name=."
        )
    facts = facts_of(tool.execute)
    if description is None:
        own = docstrings.read(callables.docs_of(tool)[0]).description
        description = _text(tool, "description") or own or facts.description
    if schema is None:
        schema = _declared_by(tool)
    context = context_of(tool.execute)
    execute = late(tool, context, is_async=facts.behaviour.is_async)
    if context is not None:
        described = _with_context(execute, name, description, schema, facts, context)
        return replace(described, nothing_fails=True)
    single = Parameter("input", Any, required=True) if facts.signature is None else facts.single_parameter
    if single is None:
        described = by_keyword(execute, name, description, schema, facts)
    else:
        described = by_value(execute, name, description, schema, facts, single)
    return replace(described, nothing_fails=True)


def _with_context(
    execute: Any, name: str, description: str, schema: dict[str, Any] | None, facts: Facts, context: Context
) -> Described:
    """A model sees the input only."""
    single = Parameter(context.input, Any, required=True)
    if schema is not None:
        return by_value(execute, name, description, schema, facts, single)
    schema = {"type": "object", "properties": {context.input: {}}, "required": [context.input]}
    described = by_value(execute, name, description, schema, facts, single)
    return replace(described, is_checked=False, value_property=context.input)


def _text(tool: Any, attribute: str) -> str | None:
    value = getattr(tool, attribute, None)
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{type(tool).__name__}.{attribute} must be text, not {type(value).__name__}.")
    return value


def _declared_by(tool: Any) -> dict[str, Any] | None:
    """The schema that the object declares; an attribute of another type is something else."""
    for attribute in _SCHEMAS:
        value = getattr(tool, attribute, None)
        if isinstance(value, Mapping) or is_model(value):
            return declared(value, f"{type(tool).__name__}.{attribute}")
    return None
