"""What is imported at its first use: asyncio, and what a notebook shows.

asyncio takes longer to import than all of toolhub, and a process that serves MCP servers, or approves a call, never needs it.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["asyncio", "shown_as"]


class _LazyModule:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


if TYPE_CHECKING:
    import asyncio
else:
    asyncio = _LazyModule("asyncio")


def shown_as(view: str) -> Callable[..., dict[str, Any]]:
    """The method by which a notebook shows an object: a function of `toolhub.display`."""

    def show(self: Any, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return getattr(import_module("toolhub.display._views"), view)(self)

    return show
