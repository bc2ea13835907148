"""Programs for other environments without the time for their imports: a process of each environment is loaded once."""

from __future__ import annotations

import atexit
import functools
import subprocess
import sys
import tempfile
from pathlib import Path

from support.gateway import python_of

WARM = Path(__file__).parents[2] / "mcp" / "warm.py"
PACKAGES = (
    "fastmcp.server.server",
    "fastmcp.server.http",
    "mcp.server.fastmcp",
    "mcp.server.mcpserver",
    "mcp.client.streamable_http",
    "mcp.client.sse",
    "uvicorn.protocols.http.h11_impl",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn.lifespan.on",
    "anyio._backends._asyncio",
)


def warm(environment: str) -> list[str]:
    """What stands for `python` before a program and its words: `[*warm("mcp1"), "server.py", "stdio"]`.

    Each start is a process of its own, a fork of one that is loaded. A test of signals wants `python_of`.
    """
    return [sys.executable, "-I", "-S", str(WARM), _loaded(environment)]


@functools.cache
def _loaded(environment: str) -> str:
    """The address of the process that is loaded; it ends with this one."""
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    address = f"{folder.name}/{environment}"
    process = subprocess.Popen(
        [python_of(environment), str(WARM), "serve", address, *PACKAGES],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def end() -> None:
        process.communicate()
        folder.cleanup()

    atexit.register(end)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", f"{environment} does not start"
    return address
