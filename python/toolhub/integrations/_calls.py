"""What all integrations share: their package, the tools of a hub as definitions, and progress that a framework awaits."""

import asyncio
import contextvars
import importlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, NamedTuple

from .._core import PatternList, ToolInfo
from .._user_functions import in_thread
from ..hub import ToolHub


def imported(module: str, package: str, extra: str) -> Any:
    """The module; raises `ImportError` with the way to install its package.

    >>> imported("no_such_framework.tools", "no-such-framework", "langchain")
    Traceback (most recent call last):
    ImportError: this integration needs no-such-framework: pip install 'agent-toolhub[langchain]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A broken installation of the package itself speaks for itself.
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise ImportError(
            f"this integration needs {package}: pip install 'agent-toolhub[{extra}]'"
        ) from error


class Declared(NamedTuple):
    """A tool as the function calling of model APIs has it: a name that every API takes, and a JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


def declared(hub: ToolHub, tools: Iterable[str] | None) -> list[Declared]:
    """The tools of a hub whose names fit the patterns, all of them without patterns."""
    patterns = _patterns(tools)
    names = None if tools is None else [tool.name for tool in hub.tools() if _fits(tool, patterns)]
    functions = (entry["function"] for entry in hub.as_openai(tools=names))
    return [
        Declared(function["name"], function.get("description", ""), function["parameters"])
        for function in functions
    ]


def _patterns(tools: Iterable[str] | None) -> PatternList:
    if tools is None:
        return PatternList(["*"])
    return PatternList([tools] if isinstance(tools, str) else list(tools))


def _fits(tool: ToolInfo, patterns: PatternList) -> bool:
    return any(patterns.allows(candidate.name, candidate.server) for candidate in tool.candidates)


class OfferedTools:
    """The tools of a hub that a framework sees, as they are at the time of the question."""

    def __init__(self, hub: ToolHub, tools: Iterable[str] | None) -> None:
        self.hub = hub
        self._patterns = _patterns(tools)

    async def all(self) -> list[ToolInfo]:
        """All of them. Lists of servers that are missing are fetched, in a thread: that may take time."""
        return [tool for tool in await in_thread(self.hub.tools) if _fits(tool, self._patterns)]

    def fingerprint(self) -> frozenset[tuple[str, str, str]]:
        """Differs when what is offered differs. Nothing is fetched for it."""
        known = (tool for tool in self.hub._core.tools() if _fits(tool, self._patterns))
        return frozenset((tool.name, tool.description, repr(tool.parameters)) for tool in known)

    async def get(self, name: str) -> ToolInfo | None:
        """One of them; None if the hub has none of this name, or it is not offered."""
        found = self.hub.get(name)
        if found is None:
            await in_thread(self.hub.tools)
            found = self.hub.get(name)
        return found if found is not None and _fits(found, self._patterns) else None


def in_this_context(
    send: Callable[[dict[str, Any]], Coroutine[Any, Any, Any]],
) -> Callable[[dict[str, Any]], Awaitable[None]]:
    """A `progress` function that sends reports in the present context, where frameworks find the request they are about."""
    context = contextvars.copy_context()

    async def report(update: dict[str, Any]) -> None:
        await asyncio.get_running_loop().create_task(send(update), context=context)

    return report
