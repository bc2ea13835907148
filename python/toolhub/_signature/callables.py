"""Finds out which code runs when a callable is called, and whether that code awaits or yields.

There are two kinds of wrappers. *Transparent* ones (partial, bound methods, `__call__`, staticmethod) pass the call on
unchanged, so the wrapped function decides. *Opaque* ones (`functools.wraps`) run their own code: the wrapped function is only
a hint at what they return.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, cast

Kind = Literal["plain", "coroutine", "generator", "async_generator"]

# Bounds a `__wrapped__` that points to itself.
_MAX_DEPTH = 100
_AWAITABLE_RETURNS = ("Awaitable", "Coroutine", "Future", "Task")


class Behaviour(NamedTuple):
    """What a call returns. `certain` is false if an opaque wrapper may have changed it."""

    kind: Kind
    certain: bool = True

    @property
    def is_async(self) -> bool:
        """Whether the call must run on the event loop."""
        return self.kind in ("coroutine", "async_generator")


def layers(obj: Any) -> Iterator[Any]:
    """The functions whose code runs in turn when `obj` is called, outermost first.

    >>> class Adder:
    ...     def __call__(self, a, b): return a + b
    >>> [function.__qualname__ for function in layers(functools.partial(Adder(), 1))]
    ['Adder.__call__']
    """
    for _ in range(_MAX_DEPTH):
        if isinstance(obj, functools.partial):
            obj = cast("functools.partial[Any]", obj).func
        elif isinstance(obj, (types.MethodType, staticmethod)):
            obj = cast(Any, obj).__func__
        else:
            yield _code_of(obj)
            obj = _wrapped(obj)
            if obj is None:
                return


def _code_of(obj: Any) -> Any:
    """The function that runs when `obj` is called; for an object, the `__call__` of its class."""
    if isinstance(obj, type) or inspect.isroutine(obj) or _is_marked(obj):
        return obj
    inner: Any = inspect.getattr_static(cast(Any, type(obj)), "__call__", None)
    if isinstance(inner, functools.partialmethod):
        inner = cast("functools.partialmethod[Any]", inner).func
    if isinstance(inner, (staticmethod, classmethod)):
        inner = cast(Any, inner).__func__
    return inner if isinstance(inner, types.FunctionType) else obj


def _wrapped(obj: Any) -> Any:
    """The function that `functools.wraps` wrapped; None if there is none."""
    inner = None if isinstance(obj, type) else getattr(obj, "__wrapped__", None)
    return inner if callable(inner) else None


def innermost(obj: Any) -> Any:
    """The innermost function. Type hints are resolved in its module."""
    found = obj
    for found in layers(obj):
        # As in `inspect.signature`, an explicit signature takes precedence.
        if getattr(found, "__signature__", None) is not None:
            break
    return found


def bound_keywords(obj: Any) -> set[str]:
    """The keyword arguments that a `functools.partial` on any layer has filled in."""
    names: set[str] = set()
    for _ in range(_MAX_DEPTH):
        if isinstance(obj, functools.partial):
            part = cast("functools.partial[Any]", obj)
            names.update(part.keywords)
            obj = part.func
        elif isinstance(obj, types.MethodType):
            obj = cast(Any, obj).__func__
        elif (obj := _wrapped(obj)) is None:
            break
    return names


def behaviour(obj: Any) -> Behaviour:
    """Whether calling `obj` awaits, yields, both or neither.

    >>> async def fetch(): ...
    >>> behaviour(functools.partial(fetch))
    Behaviour(kind='coroutine', certain=True)
    """
    certain = True
    for function in layers(obj):
        kind = _kind(function)
        if kind != "plain":
            return Behaviour(kind, certain)
        if _returns_awaitable(function):
            return Behaviour("coroutine", certain=False)
        certain = False
    return Behaviour("plain")


def _kind(function: Any) -> Kind:
    if isinstance(function, type):
        return "plain"
    # `inspect` knows only FunctionType. Compiled functions (Cython) have code flags too.
    flags: Any = getattr(getattr(function, "__code__", None), "co_flags", 0)
    flags = flags if isinstance(flags, int) else 0
    awaits = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE
    if flags & awaits or _is_marked(function):
        return "coroutine"
    if flags & inspect.CO_ASYNC_GENERATOR:
        return "async_generator"
    return "generator" if flags & inspect.CO_GENERATOR else "plain"


def _is_marked(function: Any) -> bool:
    """Whether it is marked as a coroutine function, as Cython functions and mocks are with asyncio's marker."""
    mark = getattr(sys.modules.get("asyncio.coroutines"), "_is_coroutine", None)
    marked = mark is not None and getattr(function, "_is_coroutine", None) is mark
    return marked or inspect.iscoroutinefunction(function)


def _returns_awaitable(function: Any) -> bool:
    """Whether a plain `def` is annotated to return an awaitable."""
    if not isinstance(function, types.FunctionType):
        return False
    try:
        hint: Any = function.__annotations__.get("return")
    except Exception:  # Python 3.14 evaluates annotations lazily
        return False
    if isinstance(hint, str):
        hint = hint.partition("[")[0].rpartition(".")[2].strip()
    else:
        hint = getattr(getattr(hint, "__origin__", hint), "__name__", "")
    return hint in _AWAITABLE_RETURNS


EMPTY = "empty cell"
"""Stands for a variable that is not assigned yet."""


def cells_of(function: Any) -> Iterator[Any]:
    """The values that a function closes over, in the order of their names."""
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:
            yield EMPTY


def name_of(obj: Any) -> str:
    """The name of a callable; empty for a lambda."""
    if isinstance(obj, functools.partial):
        return name_of(cast("functools.partial[Any]", obj).func)
    for attribute in ("__name__", "name"):
        own: Any = getattr(obj, attribute, None)
        if isinstance(own, str):
            return "" if own == "<lambda>" else own
    return type(obj).__name__


def docs_of(obj: Any) -> tuple[str | None, ...]:
    """The docstrings that describe a call of `obj`, the most specific first."""
    if isinstance(obj, functools.partial):
        return docs_of(cast("functools.partial[Any]", obj).func)
    if isinstance(obj, type):
        return (_class_doc(obj), _own_doc(obj, "__init__"), _own_doc(obj, "__new__"))
    if inspect.isroutine(obj) or hasattr(obj, "__wrapped__"):
        return (inspect.getdoc(obj),)
    cls = cast("type[Any]", type(obj))
    return (_class_doc(cls), _own_doc(cls, "__call__"))


def _class_doc(cls: type) -> str | None:
    """The class's own docstring, neither inherited nor the signature that `dataclass` generates."""
    doc = vars(cls).get("__doc__")
    if not isinstance(doc, str) or (
        "__dataclass_fields__" in vars(cls) and doc.startswith(f"{cls.__name__}(")
    ):
        return None
    return doc


def _own_doc(cls: type, method: str) -> str | None:
    found: Callable[..., Any] | None = getattr(cls, method, None)
    return inspect.getdoc(found) if isinstance(found, types.FunctionType) else None


def short(obj: Any) -> str:
    """A value for an error message: simple values as they are, others by their type."""
    simple = isinstance(obj, (str, int, float, bool, type(None)))
    shown = repr(obj) if simple else f"<{type(obj).__name__} object>"
    return shown if len(shown) <= 60 else shown[:59] + "…"
