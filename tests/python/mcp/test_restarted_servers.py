"""A server over HTTP that is restarted on its port: the session is gone, and the caller does not notice."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import catalogue
import pytest

from support.warm import warm
from toolhub import ToolHub

pytestmark = pytest.mark.anyio

# A tool of each, and its era. The reference server refuses an unknown session with 400 and a JSON-RPC error, the SDK for
# Python with 404; in the modern era there is no session.
SERVERS = {
    "everything": ("echo", {"message": "hi"}, "legacy"),
    "mcp1": ("count", {}, "legacy"),
    "fastmcp": ("count", {}, "modern"),
}

Start = Callable[[str, int], AbstractContextManager[None]]


@pytest.fixture(scope="module")
def start(installed: Callable[..., Any]) -> Start:
    """Starts a server on a port, for the time of a block; then it is killed."""

    def start(server: str, port: int) -> AbstractContextManager[None]:
        installed(server)
        if server == "everything":
            return catalogue.listening(server, "streamableHttp", port=port)
        return catalogue.listening(server, "http", str(port), port=port, python=warm(server))

    return start


@pytest.mark.parametrize("server", SERVERS)
async def test_a_restarted_server_gets_a_new_session(
    server: str, hub: ToolHub, start: Start, connected: Callable[..., Any]
) -> None:
    port = catalogue.free_port()
    tool, args, era = SERVERS[server]
    with start(server, port):
        info = await connected(hub, "s", url=f"http://127.0.0.1:{port}/mcp")
        assert info.era == era
        first = await hub.execute(tool, args, server="s")
        assert first.success, first.error
    retried: list[Any] = []
    hub.on_event(lambda event: retried.append(event) if event["type"] == "retried" else None)
    with start(server, port):
        # `count` counts its calls from one: it has run once, not twice.
        again = await hub.execute(tool, args, server="s")
        assert (again.success, again.result) == (True, first.result), again.error
        assert len(retried) <= 1
        assert (await hub.execute(tool, args, server="s")).success
        assert len(retried) <= 1


# A call that may act, and so is never repeated when it may have run.
ACTS = {
    "everything": ("echo", {"message": "hi"}),
    "mcp1": ("append", {"text": "a"}),
    "fastmcp": ("append", {"text": "a"}),
}


@pytest.mark.parametrize("server", SERVERS)
async def test_a_tool_that_acts_survives_several_restarts(server: str, hub: ToolHub, start: Start) -> None:
    """Each server is killed right after its answer: the list is still being read, and the connection was short."""
    port = catalogue.free_port()
    tool, args = ACTS[server]
    hub.add_server("s", url=f"http://127.0.0.1:{port}/mcp")
    results: list[Any] = []
    for _ in range(3):
        with start(server, port):
            result = await hub.execute(tool, args, server="s")
            assert result.success, result.error
            results.append(result.result)
    # `append` counts: it has run once on each server, not twice.
    assert results == results[:1] * 3


@pytest.mark.parametrize("server", ["everything", "mcp1"])
async def test_all_calls_of_a_lost_session_run_once_in_the_new_one(
    server: str, hub: ToolHub, start: Start
) -> None:
    """Fifty calls at once, far more than the budget for retries; and no retries are configured."""
    port = catalogue.free_port()
    tool, args = ACTS[server]
    hub.add_server("s", url=f"http://127.0.0.1:{port}/mcp", retries=0)
    for _ in range(2):
        with start(server, port):
            calls = [hub.execute(tool, args, server="s") for _ in range(50)]
            results = await asyncio.gather(*calls)
            assert [str(result.error) for result in results if not result.success] == []
            if server == "mcp1":  # `append` counts: none has run twice.
                assert sorted(result.result for result in results) == list(range(1, 51))


async def test_a_server_that_was_killed_is_named(hub: ToolHub, start: Start) -> None:
    port = catalogue.free_port()
    hub.add_server("s", url=f"http://127.0.0.1:{port}/mcp", retries=0)
    with start("mcp1", port):
        assert (await hub.execute("append", {"text": "a"}, server="s")).success
    result = await hub.execute("append", {"text": "a"}, server="s")
    assert str(result.error).startswith("Server 's' cannot be reached: connection refused (http://127.0.0.1:")
    assert result.meta["error"]["outcome"] == "not_sent"


async def test_between_two_tries_the_error_reports_the_last_one_and_the_next(hub: ToolHub) -> None:
    """Nothing listens. An attempt fails with what happened; in the back-off the error says that nothing was tried."""
    hub.add_server("s", url=f"http://127.0.0.1:{catalogue.free_port()}/mcp", retries=0)
    results = [await hub.execute("append", {"text": "a"}, server="s") for _ in range(3)]
    errors = [str(result.error) for result in results]
    assert all(result.meta["error"]["outcome"] == "not_sent" for result in results)
    assert all(text.startswith("Auto-connect failed for server 's': connection refused") for text in errors)
    assert "next try" not in errors[0] + errors[1]
    pattern = r"\(attempt 2 in a row, [\d.]+ s ago; not tried again yet, the next try is in [\d.]+ s\)$"
    assert re.search(pattern, errors[2]), errors[2]
    assert results[2].meta["error"]["retry_after"] > 0


@pytest.mark.parametrize("server", ["mcp1", "fastmcp"])
async def test_calls_wait_for_a_server_that_is_restarted(
    server: str, hub: ToolHub, start: Start, until: Callable[..., Any]
) -> None:
    """Nothing listens when fifty calls are made. Nothing of them was sent, so all of them run once the server is back."""
    port = catalogue.free_port()
    tool, args = ACTS[server]
    hub.add_server("s", url=f"http://127.0.0.1:{port}/mcp")
    with start(server, port):
        assert (await hub.execute(tool, args, server="s")).success
    refused: list[Any] = []
    hub.on_event(lambda event: refused.append(event) if event["type"] == "retried" else None)
    calls = [asyncio.create_task(hub.execute(tool, args, server="s", timeout=60)) for _ in range(50)]
    await until(lambda: refused)
    with start(server, port):
        results = await asyncio.gather(*calls)
        assert [str(result.error) for result in results if not result.success] == []
        # `append` counts: none has run twice.
        assert sorted(result.result for result in results) == list(range(1, 51))
