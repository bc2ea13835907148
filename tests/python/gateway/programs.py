"""A program that serves a hub, for the tests: `python programs.py stdio` or `python programs.py http`."""

from __future__ import annotations

import asyncio
import contextvars
import sys
from pathlib import Path
from typing import Any

from toolhub import ToolHub

origin: contextvars.ContextVar[str] = contextvars.ContextVar("origin")


def note(path: str) -> None:
    """Tell whoever looks at this file that something has happened."""
    Path(path).touch()


def make_hub() -> ToolHub:
    """A hub with native tools of every kind."""
    hub = ToolHub()

    @hub.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        print("this must not reach the client")
        return a + b

    @hub.tool
    async def sleep(seconds: float, begun: str = "") -> str:
        """Sleep for a while, and tell in a file that it has begun."""
        if begun:
            note(begun)
        sys.stderr.write("sleep begins\n")
        sys.stderr.flush()
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            sys.stderr.write("sleep was cancelled\n")
            sys.stderr.flush()
            raise
        return "slept"

    @hub.tool
    def fails() -> str:
        """Fail."""
        raise ValueError("no disk")

    @hub.tool
    async def nested(a: int) -> dict[str, Any]:
        """Call another tool of the hub."""
        return {"inner": (await hub.execute("add", {"a": a, "b": 1})).result}

    @hub.tool
    def where() -> str:
        """Tell which context this runs in."""
        return origin.get("nowhere")

    return hub


if __name__ == "__main__":
    origin.set("the program")
    if sys.argv[1] == "stdio":
        make_hub().serve()
    else:
        make_hub().serve("http", port=0, ready=lambda serving: print(serving.url, flush=True))
