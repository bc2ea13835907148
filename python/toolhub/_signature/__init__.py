"""From any Python callable to a tool: name, description, JSON Schema, validator, way of calling.

The flow, one file a step::

    what is it            callables.py   kind of callable, sync or async, what hides under partial and wraps
    what does it take     parameters.py  signature and resolved type hints;  docstrings.py: the words
    what may be passed    arguments.py   pydantic: validators;  schema.py: a readable JSON Schema
    how is it called      invoke.py      by position, collected, awaited;  styles.py: arguments or one value
    what is it in all     build.py       `describe`;  facts.py: the cache;  shapes.py: objects with `execute`
    what was wrong        violation.py   a pydantic error in words a model can act on; wording.py: the words

This page imports nothing: pydantic, docstring-parser and inspect are loaded when the first function is
described, so that `import toolhub` stays fast.

>>> from toolhub._signature import describe
>>> def add(a: int, b: int = 1) -> int:
...     "Add two numbers."
...     return a + b
>>> tool = describe(add)
>>> tool.name, tool.single, tool.parameters["properties"]["b"]
('add', 'a', {'type': 'integer', 'default': 1})
>>> tool.call(**tool.validate({"a": "5"}))
6
"""

# The name alone is what type checkers look for; importing it from `typing` would cost milliseconds.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from pydantic_core import ValidationError

    from .described import Described
    from .violation import Violation

__all__ = ["Described", "Violation", "describe", "summarize", "violations"]


def describe(
    obj: "Any",
    *,
    name: "str | None" = None,
    description: "str | None" = None,
    parameters: "Mapping[str, Any] | None" = None,
) -> "Described":
    """Describe a callable, or an object with `name`, `description` and `execute(input)`, as a tool.

    `parameters`, a JSON Schema, replaces the one from the signature; the core then validates with it.

    >>> describe(len, name="length").parameters["required"]
    ['obj']
    """
    from .build import describe as build

    return build(obj, name=name, description=description, parameters=parameters)


def violations(error: "ValidationError", about: "Described | Mapping[str, Any]") -> "list[Violation]":
    """Say in words what a validation error means; `about` is the tool or its JSON Schema.

    >>> from pydantic import ValidationError
    >>> def double(number: int): return number * 2
    >>> tool = describe(double)
    >>> try:
    ...     tool.validate({"number": "x"})
    ... except ValidationError as error:
    ...     violations(error, tool)[0].message
    "number: expected an integer, got 'x' (string)"
    """
    from .violation import violations as explain

    return explain(error, about)


def summarize(name: str, found: "Iterable[Violation]") -> str:
    """Join violations to the one sentence that a caller, or a model, is told."""
    from .violation import summarize as join

    return join(name, found)


def __getattr__(name: str) -> "Any":
    """Load the two classes when they are asked for, not before."""
    if name == "Described":
        from .described import Described

        return Described
    if name == "Violation":
        from .violation import Violation

        return Violation
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
