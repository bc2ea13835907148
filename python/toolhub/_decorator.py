"""`@toolhub.tool`: marks a function or class as a tool, with its options, before there is a hub."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar, Unpack, overload

from . import _core
from ._checks import check_seconds, check_whole, if_given
from .options import RegisterOptions, Source

T = TypeVar("T")

MARK = "__toolhub__"
"""The attribute that holds the options; `hub.register` reads it."""


class ToolOptions(RegisterOptions, total=False):
    """The options of a tool at registration."""

    name: str | None
    parameters: Mapping[str, Any] | None
    capabilities: Iterable[str] | None


class DecoratorOptions(ToolOptions, total=False):
    """The options of `@hub.tool`."""

    source: Source
    priority: int | None


def merge_options(marked: ToolOptions, given: ToolOptions) -> ToolOptions:
    """The options given at registration, over those marked at the definition."""
    return {**marked, **{key: value for key, value in given.items() if value is not None}}  # type: ignore[return-value]


def with_checked_numbers(options: dict[str, Any]) -> dict[str, Any]:
    """The options with their numbers in the range of the core; raises for values that are not such numbers."""
    return options | {
        name: if_given(check, name, options.get(name)) for name, check in _CHECKS.items() if name in options
    }


_CHECKS = {
    "timeout": partial(check_seconds, above_zero=True),
    "max_concurrency": partial(check_whole, least=1),
    "priority": partial(check_whole, least=None, most=2**31 - 1),
}


def with_name(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options of `@tool("name", …)`."""
    if options.get("name") is not None:
        raise TypeError(f"the name is given twice: {name!r} and name={options['name']!r}; give it once")
    return {**options, "name": name}


@overload
def tool(function: str | None = None, /, **options: Unpack[ToolOptions]) -> Callable[[T], T]: ...


@overload
def tool(function: T, /) -> T: ...


def tool(function: Any = None, /, **options: Any) -> Any:
    """Mark a function as a tool; it stays as it is and is registered later, with these options.

    >>> @tool(capabilities=["calculate"], read_only=True)
    ... def double(number: int) -> int:
    ...     "Double a number."
    ...     return 2 * number
    >>> from toolhub import ToolHub
    >>> ToolHub().register(double).capabilities
    ['calculate']
    """
    known = ToolOptions.__annotations__
    if unknown := [key for key in options if key not in known]:
        raise TypeError(_core.unknown_options("toolhub.tool()", "option", unknown, list(known)))
    if isinstance(function, str):
        function, options = None, with_name(function, options)
    options = with_checked_numbers(options)
    if function is None:
        return partial(tool, **options)
    setattr(function, MARK, options)
    return function
