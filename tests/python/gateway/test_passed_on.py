"""What a served hub passes on between client and server beside calls: instructions, `_meta` of answers, URIs in errors."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.gateway import LegacyClient, ask, call, served
from toolhub import ToolHub

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).with_name("app_server.py")
SAID = "Server 'left' says:\nCall show_left first.\n\nServer 'right' says:\nCall show_right first."


def hub_with(folder: Path, *names: str, **options: Any) -> ToolHub:
    hub = ToolHub(**options)
    for name in names:
        hub.add_server(name, command=sys.executable, args=[str(SERVER), name, str(folder)])
    return hub


def received(folder: Path, method: str) -> str:
    """The last message of this method that the server has got."""
    log = folder / "left"
    lines = log.read_text().splitlines() if log.exists() else []
    return next((line for line in reversed(lines) if json.loads(line).get("method") == method), "")


async def instructions(url: str) -> tuple[str | None, str | None]:
    """As both eras have them."""
    legacy, modern = await LegacyClient(url).start(), await ask(url, "server/discover")
    return legacy.result.get("instructions"), modern.result.get("instructions")


async def test_instructions_of_servers_are_passed_on_with_their_origin(tmp_path: Path) -> None:
    async with hub_with(tmp_path, "left", "right") as hub:
        # No server has been started yet.
        async with served(hub) as at:
            assert await instructions(at.url) == (SAID, SAID)
        views = {"few": {"tools": ["show_*"]}}
        async with served(hub, instructions="Be brief.", views=views) as at:
            assert (await instructions(at.url))[0] == f"Be brief.\n\n{SAID}"
            # They may speak of tools that the view hides.
            assert (await instructions(f"{at.url}/few"))[0] == "Be brief."


@pytest.mark.parametrize("mode", ["on", "off"])
async def test_instructions_come_with_the_description_of_a_tool(tmp_path: Path, mode: str) -> None:
    views = {"few": {"tools": ["show_*"], "search_mode": mode}}
    async with hub_with(tmp_path, "left", "right") as hub, served(hub, search_mode=mode, views=views) as at:
        for url in (at.url, f"{at.url}/few"):
            if mode == "on":
                reply = await call(url, "describe_tool", name="show_left")
                described = reply.result["structuredContent"]
            else:
                described = (await ask(url, "tools/describe", {"name": "show_left"})).result
            own = {"server": "left", "text": "Call show_left first."}
            assert described.get("instructions") == (own if url == at.url else None)
        if mode == "on":
            assert await instructions(at.url) == (None, None)


async def test_what_servers_say_of_themselves_is_kept_with_their_lists(tmp_path: Path) -> None:
    """A process with a warm store says all of it, and starts no server."""
    declared = ["com.example/left", "com.example/right"]
    for _ in range(2):
        async with hub_with(tmp_path, "left", "right", store=tmp_path / "hub.db") as hub, served(hub) as at:
            assert await instructions(at.url) == (SAID, SAID)
            greeting = await LegacyClient(at.url).start()
            assert list(greeting.result["capabilities"]["extensions"]) == declared
            described = (await ask(at.url, "tools/describe", {"name": "show_left"})).result
            assert described["instructions"] == {"server": "left", "text": "Call show_left first."}
            assert (tmp_path / "left").read_text().count('"initialize"') == 1


async def test_meta_of_an_answer_reaches_the_server(tmp_path: Path) -> None:
    capable: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}
    async with hub_with(tmp_path, "left") as hub, served(hub) as at:
        for answer in (
            {"action": "accept", "content": {}, "_meta": {"com.example/seen": [1]}},
            {"action": "decline", "_meta": {"com.example/why": "no"}},
        ):
            params: dict[str, Any] = {"name": "ask_left", "arguments": {}, "_meta": capable}
            asked = (await ask(at.url, "tools/call", params)).result
            answers = dict.fromkeys(asked["inputRequests"], answer)
            given = {"requestState": asked["requestState"], "inputResponses": answers}
            reply = await ask(at.url, "tools/call", {**params, **given})
            assert json.loads(reply.content) == answer


async def test_the_reason_of_a_cancellation_reaches_the_server(tmp_path: Path) -> None:
    async with hub_with(tmp_path, "left") as hub, served(hub) as at:
        client = LegacyClient(at.url)
        await client.start()
        calling = asyncio.ensure_future(client.call("wait_left"))
        async with asyncio.timeout(30):
            while "wait_left" not in received(tmp_path, "tools/call"):
                await asyncio.sleep(0.01)
            await client.notify(
                "notifications/cancelled", {"requestId": 1, "reason": "the user pressed stop"}
            )
            while not (cancelled := received(tmp_path, "notifications/cancelled")):
                await asyncio.sleep(0.01)
        assert json.loads(cancelled)["params"]["reason"] == "the user pressed stop"
        await calling


async def test_the_uri_in_an_error_is_that_of_the_client(tmp_path: Path) -> None:
    async with hub_with(tmp_path, "left", "right") as hub, served(hub) as at:
        uri = "toolhub://left/note://gone"
        failed = (await ask(at.url, "resources/read", {"uri": uri})).message["error"]
        assert failed == {"code": -32099, "message": "no such panel", "data": {"uri": uri, "by": "left"}}
