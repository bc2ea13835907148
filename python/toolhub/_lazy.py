"""asyncio, imported at its first use.

It takes longer to import than all of toolhub, and a process that serves MCP servers, or approves a call, never needs it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["asyncio"]


class _LazyModule:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


if TYPE_CHECKING:
    import asyncio
else:
    asyncio = _LazyModule("asyncio")
