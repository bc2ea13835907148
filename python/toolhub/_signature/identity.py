"""What tells one registered object apart from another: the facts by which the core knows a tool again.

The numbers are addresses. They stay valid because the registered object keeps alive what they belong to. The digest of the code
is the same in another process.
"""

from __future__ import annotations

import inspect
import types
from typing import Any, NamedTuple, cast

from .code import code_digest


class Identity(NamedTuple):
    """The qualified name of what defines an object, the definition, what tells its products apart, and what runs."""

    name: str | None
    definition: int
    parts: list[int]
    code: str


def identity_of(obj: Any) -> Identity:
    """The identity of a function, a method, a class, or an object of some class.

    >>> class Search:
    ...     def __init__(self, engine): self.engine = engine
    >>> identity_of(Search("a")) == identity_of(Search("a")), identity_of(Search("a")) == identity_of(Search("b"))
    (True, False)
    >>> identity_of(lambda: None).name is None
    True
    """
    inner, runs = _unwrapped(obj), code_digest(obj)
    if isinstance(inner, types.MethodType):
        function: Any = inner.__func__
        code: Any = getattr(function, "__code__", function)
        return Identity(_qualified(function), id(code), _owner(inner.__self__), runs)
    if isinstance(inner, types.FunctionType):
        return Identity(_qualified(inner), id(inner.__code__), _values(inner), runs)
    if isinstance(inner, type):
        return Identity(_qualified(cast(Any, inner)), id(inner), [], runs)
    kind = cast(Any, type(inner))
    return Identity(_qualified(kind), id(kind), _state(inner, kind), runs)


def _unwrapped(obj: Any) -> Any:
    """The function behind decorators that kept a reference to it; all products of a decorator share one code."""
    try:
        return inspect.unwrap(obj) if callable(obj) else obj
    except ValueError:  # a circle of wrappers
        return obj


def _qualified(named: Any) -> str | None:
    name = getattr(named, "__qualname__", None)
    if not isinstance(name, str) or name.endswith("<lambda>"):
        return None
    return f"{getattr(named, '__module__', None)}.{name}"


def _owner(owner: Any) -> list[int]:
    """What tells the methods of one object from those of another: as for the objects, the values it was made with."""
    if isinstance(owner, (type, types.ModuleType)):
        return [id(owner)]
    return _state(owner, cast(Any, type(owner)))


def _values(function: types.FunctionType) -> list[int]:
    """The values that a function was made with: those it closes over, and its defaults."""
    values: list[Any] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            values.append(None)
    return [_number(value) for value in values]


def _state(obj: Any, kind: Any) -> list[int]:
    """The attributes of an object. One that may hold more than attributes differs from every other object."""
    bases: tuple[type[Any], ...] = kind.__mro__
    has_slots = any(vars(base).get("__slots__") for base in bases)
    # A dictionary and weak references are all that a plain class adds to an object.
    if has_slots or kind.__basicsize__ > object.__basicsize__ + 16 or not hasattr(obj, "__dict__"):
        return [id(obj)]
    attributes = cast("dict[str, Any]", vars(obj))
    return [_number(value) for item in attributes.items() for value in item]


def _number(value: Any) -> int:
    """Equal plain values have equal numbers; any other object has its own."""
    if type(value) in (str, int, float, bool, bytes, types.NoneType):
        return hash((cast(Any, type(value)), value)) & 0xFFFF_FFFF_FFFF
    return id(value)
