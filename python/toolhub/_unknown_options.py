"""Keyword arguments that a method does not have: one sentence that says what to write instead.

Python's own message names an internal class and suggests nothing. `explain_unknown_options` wraps the public methods of a
class. The async methods that call tools check their keywords themselves, because a wrapper would cost every call a coroutine.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, wraps
from types import FunctionType
from typing import Any, TypeVar, cast

from . import _core

C = TypeVar("C", bound=type)

CALLS = ("call", "execute")
"""Methods whose arguments are a name and the arguments of that tool."""

_CHECKED_INSIDE = ("execute", "execute_by_capability", "dispatch")


def explain_unknown_options(cls: C) -> C:
    """Check the keyword arguments of the constructor and of all public methods of a class.

    If it has `_closed_too`, methods that are not named there raise once `_state` of an object is closed.

    >>> @explain_unknown_options
    ... class Shop:
    ...     def order(self, *, size: int = 1) -> int:
    ...         return size
    >>> Shop().order(sise=2)
    Traceback (most recent call last):
    TypeError: shop.order() has no option 'sise'; did you mean 'size'?
    """
    closed_too: frozenset[str] | None = getattr(cls, "_closed_too", None)
    for base in cls.__mro__[:-1]:
        for name, method in list(vars(base).items()):
            if not isinstance(method, FunctionType) or (name.startswith("_") and name != "__init__"):
                continue
            # Python's own messages name the class that users know.
            method.__qualname__ = f"{cls.__name__}.{name}"
            if name not in _CHECKED_INSIDE:
                needs_open = closed_too is not None and name not in closed_too
                setattr(base, name, _checked(method, needs_open))
    return cls


def unknown_options(
    hub: Any, method: str, unknown: list[str], known: Iterable[str], positional: tuple[Any, ...] = ()
) -> TypeError:
    """The error for keywords that a method does not have."""
    kind = type(hub).__name__
    shown = kind if method == "__init__" else f"{getattr(hub, '_shown_as', kind.lower())}.{method}"
    moved: Mapping[str, str] = getattr(hub, "_moved", {}) if method == "__init__" else {}
    if instead := [moved[option] for option in unknown if option in moved]:
        names = ", ".join(repr(option) for option in unknown if option in moved)
        return TypeError(f"{shown}() has no option {names}; write {' and '.join(instead)}")
    call = None
    if method in CALLS and positional and set(unknown) <= set(_parameters(hub, positional[0])):
        call = f"{shown}({positional[0]!r}, {{{', '.join(f'{name!r}: …' for name in unknown)}}})"
    return TypeError(_core.unknown_options(f"{shown}()", "option", unknown, list(known), call))


@lru_cache
def known_options(method: Callable[..., Any]) -> dict[str, bool] | None:
    """The names of all parameters that may be given by keyword; true for those that a message suggests as options.

    `**options: Unpack[CallOptions]` stands for the keys of that mapping; None for a method with any other `**options`.

    >>> def search(self, query, k=10, *, source=None): ...
    >>> known_options(search)
    {'query': False, 'k': True, 'source': True}
    """
    known: dict[str, bool] = {}
    for p in list(inspect.signature(method).parameters.values())[1:]:
        if p.kind is p.VAR_KEYWORD:
            (keys,) = getattr(p.annotation, "__args__", (None,))
            if keys is None:
                return None
            known |= dict.fromkeys(keys.__annotations__, True)
        elif p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            known[p.name] = p.kind is p.KEYWORD_ONLY or p.default is not p.empty
    return known


def refuse_unknown(
    hub: Any, method: Callable[..., Any], options: Mapping[str, Any], *positional: Any
) -> None:
    """Raise for keywords that a method does not have."""
    known = known_options(method) if options else None
    if known is not None and (unknown := [key for key in options if key not in known]):
        suggested = [key for key, is_option in known.items() if is_option]
        raise unknown_options(hub, method.__name__, unknown, suggested, positional)


def _parameters(hub: Any, name: Any) -> list[str]:
    tool = hub.get(name) if isinstance(name, str) else None
    return list(cast("dict[str, Any]", tool.parameters.get("properties") or {})) if tool is not None else []


def _checked(method: Callable[..., Any], needs_open: bool) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(method):
        return method

    if inspect.iscoroutinefunction(method):

        @wraps(method)
        async def checked_async(*args: Any, **kwargs: Any) -> Any:
            if needs_open:
                args[0]._state.require_open()
            refuse_unknown(args[0], method, kwargs, *args[1:])
            return await method(*args, **kwargs)

        return checked_async

    @wraps(method)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if needs_open:
            args[0]._state.require_open()
        refuse_unknown(args[0], method, kwargs, *args[1:])
        return method(*args, **kwargs)

    return checked
