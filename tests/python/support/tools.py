"""Tools for tests: they count, never end, or note how many run at once. Nothing here waits for the clock."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from toolhub import ToolHub, ToolResult

T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, T]], T]


class Scripted:
    """A sync tool with answers in turn, the last one again and again; an exception is raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = answers
        self.runs = 0

    def __call__(self) -> Any:
        answer = self.answers[min(self.runs, len(self.answers) - 1)]
        self.runs += 1
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Endless:
    """An async tool that never ends by itself; it tells that it began and that its clean-up was done."""

    def __init__(self) -> None:
        self.began = 0
        self.cleaned = 0

    async def __call__(self) -> str:
        self.began += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.cleaned += 1
        return "never"


class Crowd:
    """An async tool that notes how many of its calls were inside at once."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.runs = 0

    async def __call__(self, n: int = 0) -> int:
        self.runs += 1
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await turns()
        finally:
            self.inside -= 1
        return n


async def turns(count: int = 20) -> None:
    """Run whatever is ready, for this number of turns of the loop."""
    for _ in range(count):
        await asyncio.sleep(0)


def offer(hub: ToolHub, name: str, **candidates: Any) -> None:
    """Register several harmless candidates of one name and one priority; each keyword is the server's id."""
    for server, function in candidates.items():
        hub.register(function, name=name, source="mcps", server=server, read_only=True)


def tried(result: ToolResult) -> list[str]:
    """Who was tried, in order: server ids, or sources where there is no server."""
    return [row["server"] or row["source"] for row in result.meta["attempts"]]
