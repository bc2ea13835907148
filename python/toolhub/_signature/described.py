"""What is known of a tool once it is described. Plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Described:
    """A callable as a tool: what a model is told, what is checked, what is called.

    Descriptions of one function share `parameters`: treat it as read-only.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON Schema (2020-12) of the arguments, an object."""
    call: Callable[..., Any]
    """What to call: `call(**arguments)` or `call(value)`, see `style`."""
    is_async: bool
    """Whether `call` gives an awaitable, to be awaited on the event loop."""
    style: Literal["kwargs", "value"]
    validate: Callable[[Any], Any] | None
    """Checks and coerces: a mapping to a new dict of arguments; style `value`: a value (unwrapped) to one.
    Raises `pydantic_core.ValidationError`. None: nothing is known but `parameters`, check with that."""
    validate_strict: Callable[[Any], Any] | None
    """The same without coercion. JSON forms of Python types (a date as text) are no coercion."""
    single: str | None
    """The argument that a bare value is for."""
    plain: tuple[tuple[str, type, bool], ...] | None = None
    """Name, type and whether it is required, of each parameter that says just `str`, `int`, `float` or `bool`: arguments
    that are of these very types fit as they are. None: some other parameter is required, so all must be validated."""
    value_key: str | None = None
    """Style `value`: a mapping with just this key stands for the value under it."""
