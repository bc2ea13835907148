"""`describe`: from any callable, or object with `execute`, to a `Described`."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from . import callables
from .declared import declared
from .described import Described
from .facts import facts_of
from .shapes import describe_tool, tool_of
from .styles import by_keyword


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
