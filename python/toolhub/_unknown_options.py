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


F = TypeVar("F", bound=Callable[..., Any])


def names_unknown_options(function: F) -> F:
    """Check the keyword arguments of a function of the package.

    >>> @names_unknown_options
    ... def cut(text: str, *, limit: int = 10) -> str:
    ...     return text[:limit]
    >>> cut("text", lmit=5)
    Traceback (most recent call last):
    TypeError: toolhub.cut() has no option 'lmit'; did you mean 'limit'?
    """
    known = list(inspect.signature(function).parameters)

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if unknown := [name for name in kwargs if name not in known]:
            owner = f"toolhub.{function.__name__}()"
            raise TypeError(_core.unknown_options(owner, "option", unknown, known))
        return function(*args, **kwargs)

    return cast(F, checked)


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
            if name in _CHECKED_INSIDE:
                # `*extra` only serves the messages.
                signature = inspect.signature(method)
                shown = [p for p in signature.parameters.values() if p.name != "extra"]
                cast(Any, method).__signature__ = signature.replace(parameters=shown)
            else:
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
    method = inspect.unwrap(method)
    code = cast("FunctionType", method).__code__
    positional = code.co_varnames[code.co_posonlyargcount : code.co_argcount]
    keyword = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    required = code.co_argcount - len(cast("FunctionType", method).__defaults__ or ())
    known = {name: at >= required for at, name in enumerate(positional, code.co_posonlyargcount) if at > 0}
    known.update(dict.fromkeys(keyword, True))
    if code.co_flags & inspect.CO_VARKEYWORDS:
        hints: Mapping[str, Any] = method.__annotations__
        options = code.co_varnames[
            code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)
        ]
        (keys,) = getattr(hints.get(options), "__args__", (None,))
        if keys is None:
            return None
        known.update(dict.fromkeys(keys.__annotations__, True))
    return known


def refuse_unknown(
    hub: Any, method: Callable[..., Any], options: Mapping[str, Any], *positional: Any
) -> None:
    """Raise for keywords that a method does not have, and for more than one value of arguments in a call of a tool."""
    known = known_options(method) or {}
    if unknown := [key for key in options if key not in known]:
        suggested = [key for key, is_option in known.items() if is_option]
        raise unknown_options(hub, method.__name__, unknown, suggested, positional)
    if method.__name__ in CALLS and len(positional) > 2:
        raise _too_many_arguments(hub, method.__name__, *positional)


def _too_many_arguments(hub: Any, method: str, name: Any, *values: Any) -> TypeError:
    """The error for `hub.call("add", 1, 2)`."""
    parameters = _parameters(hub, name)
    shown = [text if len(text) <= 20 else "…" for text in map(repr, values)]
    pairs = ", ".join(f"{key!r}: {text}" for key, text in zip(parameters, shown, strict=False))
    example = f"{{{pairs}}}" if len(parameters) >= len(values) else "{'argument': value, …}"
    return TypeError(
        f"hub.{method}() takes the arguments of the tool as one mapping, got {len(values)} values; "
        f"write hub.{method}({name!r}, {example})"
    )


def _parameters(hub: Any, name: Any) -> list[str]:
    tool = hub.get(name) if isinstance(name, str) else None
    return list(cast("dict[str, Any]", tool.parameters.get("properties") or {})) if tool is not None else []


def _checked(method: Callable[..., Any], needs_open: bool) -> Callable[..., Any]:
    if known_options(method) is None or inspect.isasyncgenfunction(method):
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
        if kwargs or len(args) > 3:
            refuse_unknown(args[0], method, kwargs, *args[1:])
        return method(*args, **kwargs)

    return checked
