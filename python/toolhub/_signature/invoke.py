"""Makes every described callable callable as `call(**arguments)`.

Most functions are called directly. Positional-only and `*args` parameters need their arguments moved, and generators and
wrappers that may return a coroutine need their result collected or awaited.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from inspect import Parameter, isawaitable
from typing import Any, NamedTuple, cast

from .callables import Behaviour


class Layout(NamedTuple):
    """Which parameters go by position: (name, default) pairs in order, the first `fixed` of them always."""

    positional: tuple[tuple[str, Any], ...] = ()
    fixed: int = 0
    variadic: str | None = None

    @property
    def direct(self) -> bool:
        """Whether `call(**arguments)` simply works."""
        return not self.fixed and self.variadic is None


def adapt(call: Callable[..., Any], behaviour: Behaviour, layout: Layout) -> Callable[..., Any]:
    """Make what the hub calls: the callable itself where that works, else the thinnest wrapper."""
    if not layout.direct:
        call = _by_position(call, layout)
    if behaviour.kind == "generator":
        return _collected(call)
    if behaviour.kind == "async_generator" or (behaviour.is_async and not behaviour.certain):
        return _settled(call)
    return call


def _by_position(call: Callable[..., Any], layout: Layout) -> Callable[..., Any]:
    positional, fixed, variadic = layout

    def by_position(**arguments: Any) -> Any:
        rest = arguments.pop(variadic, ()) if variadic is not None else ()
        # Once *args has something, everything before it must go by position too.
        by_position = positional if rest else positional[:fixed]
        last = max((i for i, (name, _) in enumerate(by_position) if name in arguments), default=-1)
        if rest:
            last = len(by_position) - 1
        values: list[Any] = []
        for name, default in by_position[: last + 1]:
            value = arguments.pop(name, default)
            if value is Parameter.empty:
                raise TypeError(f"missing required argument {name!r}")
            values.append(value)
        return call(*values, *rest, **arguments)

    return by_position


def _collected(call: Callable[..., Any]) -> Callable[..., Any]:
    def collected(*args: Any, **arguments: Any) -> Any:
        result = call(*args, **arguments)
        if isinstance(result, Generator):
            return list(cast("Generator[Any]", result))
        return result

    return collected


def _settled(call: Callable[..., Any]) -> Callable[..., Any]:
    async def settled(*args: Any, **arguments: Any) -> Any:
        result = call(*args, **arguments)
        if isinstance(result, AsyncGenerator):
            return [item async for item in cast("AsyncGenerator[Any]", result)]
        return await result if isawaitable(result) else result

    return settled
