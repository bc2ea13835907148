"""A server over HTTP that is restarted on its port: the session is gone, and the caller does not notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import catalogue
import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio

# How each is started, and its era. The reference server refuses an unknown session with 400 and a JSON-RPC error, the SDK
# for Python with 404; in the modern era there is no session.
SERVERS = {
    "everything": (["streamableHttp"], "echo", {"message": "hi"}, "legacy"),
    "mcp1": (["http", "{port}"], "count", {}, "legacy"),
    "fastmcp": (["http", "{port}"], "count", {}, "modern"),
}


@pytest.mark.parametrize("server", SERVERS)
async def test_a_restarted_server_gets_a_new_session(
    server: str, hub: ToolHub, installed: Callable[..., Any], connected: Callable[..., Any]
) -> None:
    installed(server)
    port = catalogue.free_port()
    words, tool, args, era = SERVERS[server]
    words = [word.format(port=port) for word in words]
    with catalogue.listening(server, *words, port=port):
        info = await connected(hub, "s", url=f"http://127.0.0.1:{port}/mcp")
        assert info.era == era
        first = await hub.execute(tool, args, server="s")
        assert first.success, first.error
    retried: list[Any] = []
    hub.on_event(lambda event: retried.append(event) if event["type"] == "retried" else None)
    with catalogue.listening(server, *words, port=port):
        # `count` counts its calls from one: it has run once, not twice.
        again = await hub.execute(tool, args, server="s")
        assert (again.success, again.result) == (True, first.result), again.error
        assert len(retried) <= 1
        assert (await hub.execute(tool, args, server="s")).success
        assert len(retried) <= 1
