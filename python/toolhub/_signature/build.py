"""`describe`: from any callable, or object with `execute`, to a `Described`.

Objects with `name`, `description` and `execute(input)` have the shape that existing orchestrators have. `execute` mostly takes
one value, which may be text, a mapping, or anything: such a tool has style `value`. Nothing is known of its keys unless the
object declares a schema, so a mapping is passed whole; only a mapping with the parameter's own name as its single key, as a
model sends it, is unwrapped.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from . import callables, docstrings
from .context import Context, context_of, late
from .facts import Facts, facts_of
from .parameters import Parameter
from .schema import declared, is_model
from .styles import Described, by_keyword, by_value


def describe(
    obj: Any,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Described:
    """Describe a callable, or an object with `name`, `description` and `execute(input)`, as a tool.

    What is given here comes before what `obj` says of itself; `parameters` is a JSON Schema.

    >>> describe(lambda x: x, name="echo").parameters["required"]
    ['x']
    """
    _check_text(name, "name")
    _check_text(description, "description")
    if name is not None and not name.strip():
        raise ValueError("The name of a tool must not be empty.")
    schema = None if parameters is None else declared(parameters, "parameters=")
    tool = tool_of(obj, named=name is not None)
    if tool is not None:
        return describe_tool(tool, name, description, schema)
    if not callable(obj):
        raise TypeError(_not_a_tool(obj))
    _check_bound(obj)
    if name is None:
        name = callables.name_of(obj)
        if not name.strip():
            raise ValueError("A lambda has no name: pass name=.")
    facts = facts_of(obj)
    return by_keyword(obj, name, facts.description if description is None else description, schema, facts)


def _check_text(value: Any, what: str) -> None:
    if value is not None and not isinstance(value, str):
        raise TypeError(f"The {what} of a tool must be text, not {type(value).__name__}.")


def _check_bound(obj: Any) -> None:
    """Refuse a method without its object, as in `@hub.tool` inside a class: its first parameter would be an argument."""
    if type(obj) is not types.FunctionType:
        return
    owner, _, name = obj.__qualname__.rpartition(".")
    first = obj.__code__.co_varnames[:1] if obj.__code__.co_argcount else ()
    if owner and not owner.endswith("<locals>") and first in (("self",), ("cls",)):
        cls = owner.rpartition(".")[2]
        raise TypeError(
            f"{name!r} is a method of the class {cls} and needs an object: create one and register its method, "
            f"hub.register({cls}().{name})."
        )


def _not_a_tool(obj: Any) -> str:
    kind = type(obj).__name__
    if isinstance(obj, classmethod):
        return (
            "A classmethod in its class body cannot be called yet: register it as Class.method, from outside."
        )
    if getattr(obj, "name", None) is not None or getattr(obj, "description", None) is not None:
        return f"The {kind} object has no execute(input): add that method, or register a function."
    if isinstance(obj, (list, tuple, set, dict)):
        return f"A {kind} is not a tool: register each of its items."
    return (
        f"A tool is a function, another callable, or an object with name, description and execute(input); "
        f"{callables.short(obj)} ({kind}) is none of these."
    )


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
