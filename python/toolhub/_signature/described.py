"""A described tool. Plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal


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
    single: str | None
    """The argument that a bare value is for."""
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
