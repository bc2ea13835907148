"""What the tests with real MCP servers share."""

from __future__ import annotations

import asyncio
import os
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

sys.path.insert(
    0, str(Path(__file__).parents[2] / "mcp")
)  # the catalogue and the fault lab are not installed

import catalogue
from faults.harness.probes import MARK, marked_processes

from support.warm import warm

# Every server that a hub starts here carries it, so that one that is left behind is found wherever it hides.
RUN = uuid.uuid4().hex


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for a module, so that its tests can share a connection: starting a server takes seconds."""
    return "asyncio"


@pytest.fixture(autouse=True, scope="module")
def no_process_left() -> Iterator[None]:
    """Fails when a server, or a child of one, is still there after the last hub of a module was closed."""
    yield
    limit = time.monotonic() + 5
    while (left := marked_processes(RUN)) and time.monotonic() < limit:
        time.sleep(0.02)
    assert not left, f"server processes left behind: {left}"


def installed(server: str, *args: str | Path, **env: Any) -> dict[str, Any]:
    """Keyword arguments for `add_server`: an installed server as a child of the hub.

    Without the servers a developer's run skips; a CI run must not pass by testing nothing.
    """
    try:
        start = catalogue.command(server, *args)
    except catalogue.NotInstalled as missing:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(missing))
    return {**start, "env": {MARK: RUN, **{name: str(value) for name, value in env.items()}}}


@pytest.fixture(name="installed", scope="session")
def _installed() -> Callable[..., dict[str, Any]]:
    return installed


@pytest.fixture
async def hub() -> AsyncIterator[ToolHub]:
    """A hub that is closed after the test, whatever came of it."""
    async with ToolHub() as hub:
        yield hub


def forked(sdk: str, *args: str | Path, program: Path = catalogue.OURS, **env: Any) -> dict[str, Any]:
    """The same for a server of ours on an SDK, which starts at once. A test of signals and processes wants `installed`."""
    start = installed(sdk, **env)
    command, *words = *warm(sdk), str(program), *map(str, args)
    return {**start, "command": command, "args": words}


@pytest.fixture(name="forked", scope="session")
def _forked() -> Callable[..., dict[str, Any]]:
    return forked


async def until(condition: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Waits for what must become true; the time is only for the case that it never does."""
    limit = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < limit, "it has not become true"
        await asyncio.sleep(0.01)
    return value


@pytest.fixture(name="until", scope="session")
def _until() -> Callable[..., Any]:
    return until


async def connected(hub: ToolHub, id: str, **how: Any) -> Any:
    """Adds a server, connects it and gives what the hub knows of it."""
    hub.add_server(id, **how)
    report = await hub.connect([id])
    assert report.connected == [id], report.failed
    return next(server for server in hub.servers() if server.id == id)


@pytest.fixture(name="connected", scope="session")
def _connected() -> Callable[..., Any]:
    return connected
