"""What belongs to one caller of a served hub is out of reach for another, who knows its id."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from support.gateway import MODERN, LegacyClient, ask, bearer, call, send, served
from toolhub import ToolError, ToolHub

pytestmark = pytest.mark.anyio
TOKENS = {"ann": "token-of-ann", "bob": "token-of-bob"}


async def test_a_handle_of_another_caller_is_like_an_unknown_one() -> None:
    hub = ToolHub()
    hub.register(lambda: "secret of ann " * 2000, name="long")

    @hub.tool
    async def for_model() -> str:
        """Call a tool, and cut its result as a model would get it."""
        return hub.format(await hub.execute("long"), 500)

    async with hub, served(hub, token=TOKENS) as at:
        text = (await call(at.url, "for_model", "token-of-ann")).content
        handle = re.findall(r"r_[0-9a-f]+", text)[0]

        async def read(handle: str, token: str) -> Any:
            return (await call(at.url, "read_more", token, handle=handle, offset=14, limit=13)).result

        own = await read(handle, "token-of-ann")
        assert own["content"][0]["text"].startswith("secret of ann")
        foreign = await read(handle, "token-of-bob")
        unknown = await read("r_0123456789abcdef", "token-of-bob")
        same = json.loads(json.dumps(unknown).replace("r_0123456789abcdef", handle))
        assert foreign == same
        assert foreign["isError"]
        # Line breaks in a handle lead to no other key.
        tricked = await read(f"{handle}\ntoken:ann", "token-of-bob")
        assert tricked["isError"]
        with pytest.raises(ToolError, match="There is no stored result"):
            hub.read_more(handle)


async def test_a_session_of_another_caller_is_not_found() -> None:
    hub = ToolHub()
    hub.register(lambda: "pong", name="ping")
    async with hub, served(hub, token=TOKENS) as at:
        ann, bob = LegacyClient(at.url, "token-of-ann"), LegacyClient(at.url, "token-of-bob")
        await ann.start()
        bob.session = ann.session
        assert (await ann.call("ping")).content == "pong"
        assert (await bob.call("ping")).status == 404
        headers = {"Mcp-Session-Id": ann.session, **bearer("token-of-bob")}
        assert (await asyncio.to_thread(send, at.url, "DELETE", None, headers)).status == 404
        assert (await ann.call("ping")).content == "pong"


async def test_a_question_is_answered_by_its_own_caller_only() -> None:
    from toolhub.calls import current_call

    hub = ToolHub()

    @hub.tool
    async def book() -> str:
        """Ask before booking."""
        schema = {"type": "object", "properties": {"sure": {"type": "boolean"}}}
        answer = await current_call().ask("Sure?", schema)
        return str(answer.accepted)

    capable = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}

    async def round_(token: str, **more: Any) -> Any:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            **capable,
        }
        params = {"name": "book", "arguments": {}, "_meta": meta, **more}
        headers = {"Mcp-Method": "tools/call", "Mcp-Name": "book", "MCP-Protocol-Version": MODERN}
        headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        reply = await asyncio.to_thread(send, at.url, "POST", body, {**headers, **bearer(token)})
        return reply.message

    async with hub, served(hub, token=TOKENS) as at:
        asked = (await round_("token-of-ann"))["result"]
        assert asked["resultType"] == "input_required"
        answer = {
            "requestState": asked["requestState"],
            "inputResponses": {
                key: {"action": "accept", "content": {"sure": True}} for key in asked["inputRequests"]
            },
        }
        foreign = await round_("token-of-bob", **answer)
        forged = await round_("token-of-bob", **{**answer, "requestState": "forged"})
        assert foreign["error"] == forged["error"]
        assert "error" not in await round_("token-of-ann", **answer)


async def test_shared_calls_are_shared_by_one_caller_only() -> None:
    """A native tool that caches what it asks for."""
    hub, calls = ToolHub(), []

    @hub.tool(read_only=True)
    def look(word: str) -> str:
        calls.append(word)
        return f"look {len(calls)}"

    @hub.tool
    async def cached(word: str) -> str:
        return (await hub.execute("look", {"word": word}, cache_ttl=600)).text

    async with hub, served(hub, token=TOKENS) as at:
        seen = [
            (await call(at.url, "cached", TOKENS[who], word="w")).content
            for who in ("ann", "bob", "ann", "bob")
        ]
    assert seen == ["look 1", "look 2", "look 1", "look 2"]


async def test_a_view_has_a_budget_for_each_caller() -> None:
    hub = ToolHub()
    hub.register(lambda: "pong", name="ping")
    async with hub, served(hub, token=TOKENS, views={"few": {"calls_per_minute": 1}}) as at:
        for token in TOKENS.values():
            assert (await call(f"{at.url}/few", "ping", token)).content == "pong"
            assert (await call(f"{at.url}/few", "ping", token)).result["isError"]


async def test_metrics_name_no_caller() -> None:
    hub = ToolHub()
    hub.register(lambda: "pong", name="ping")
    async with hub, served(hub, token=TOKENS) as at:
        await call(at.url, "ping", "token-of-ann")
        address = at.url.removesuffix("/mcp") + "/metrics"
        text = (await asyncio.to_thread(send, address, "GET", None, bearer("token-of-bob"))).text
    assert "mcp_server_operation_duration_seconds" in text
    assert "ann" not in text


async def test_the_effects_of_a_view_decide_what_runs() -> None:
    hub = ToolHub()
    hub.register(lambda: "gone", name="delete_all", effects=True)
    views = {"careful": {"effects": "harmless"}}
    async with hub, served(hub, token=TOKENS, views=views) as at:
        assert (await call(at.url, "delete_all", "token-of-ann")).content == "gone"
        hidden = await call(f"{at.url}/careful", "delete_all", "token-of-ann")
        assert hidden.message["error"]["code"] == -32602
        listed = await ask(f"{at.url}/careful", "tools/list", token="token-of-ann")
        assert listed.result["tools"] == []
