"""A client of the SDK, run in an environment of its own: `python clients.py URL` or `python clients.py COMMAND ARGS…`.

It prints one line of JSON. No part of toolhub is used here.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any


async def use(session: Any) -> dict[str, Any]:
    """What a client sees of the program in `programs.py`."""
    seen: dict[str, Any] = {"tools": sorted(tool.name for tool in (await session.list_tools()).tools)}
    for name, arguments in [
        ("add", {"a": 1, "b": 2}),
        ("nested", {"a": 4}),
        ("fails", {}),
        ("where", {}),
        ("sleep", {"seconds": 0.01}),
    ]:
        seen[name] = (await session.call_tool(name, arguments)).content[0].text
    with tempfile.TemporaryDirectory() as folder:
        begun = Path(folder) / "begun"
        call = asyncio.ensure_future(session.call_tool("sleep", {"seconds": 60, "begun": str(begun)}))
        # A call that has not begun is withdrawn, and its tool hears nothing of it.
        while not begun.exists():
            await asyncio.sleep(0.01)
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        seen["cancelled"] = call.cancelled()
    seen["after"] = (await session.call_tool("add", {"a": 5, "b": 5})).content[0].text
    return seen


@contextlib.asynccontextmanager
async def connected(target: list[str]) -> Any:
    """A session with the server at a URL, or with a program."""
    from mcp import ClientSession

    if target[0].startswith("http"):
        import mcp.client.streamable_http as http

        connect = getattr(http, "streamablehttp_client", None) or http.streamable_http_client
        streams = connect(target[0])
    else:
        from mcp.client.stdio import StdioServerParameters, stdio_client

        streams = stdio_client(StdioServerParameters(command=target[0], args=target[1:]))
    async with streams as (read, write, *_), ClientSession(read, write) as session:
        await session.initialize()
        yield session


async def main() -> None:
    """Prefers the newer client, which speaks the modern protocol."""
    with contextlib.suppress(ImportError):
        from mcp import Client

        if sys.argv[1].startswith("http"):
            async with Client(sys.argv[1]) as client:
                sys.stdout.write(json.dumps(await use(client)))
            return
    async with connected(sys.argv[1:]) as session:
        sys.stdout.write(json.dumps(await use(session)))


if __name__ == "__main__":
    asyncio.run(main())
