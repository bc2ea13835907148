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


async def metrics(url: str, token: str | None) -> Any:
    address = url.removesuffix("/mcp") + "/metrics"
    return await asyncio.to_thread(send, address, "GET", None, bearer(token))


async def test_metrics_show_a_caller_its_own_requests_and_the_operator_all() -> None:
    hub = ToolHub()
    hub.register(lambda: "pong", name="ping")
    hub.register(lambda: "paid", name="pay_salaries")
    async with hub, served(hub, token=TOKENS, metrics_token="token-of-the-operator") as at:
        await call(at.url, "ping", "token-of-ann")
        await call(at.url, "pay_salaries", "token-of-bob")
        own = (await metrics(at.url, "token-of-ann")).text
        assert "mcp_server_operation_duration_seconds" in own
        assert '"ping"' in own
        assert "pay_salaries" not in own
        assert "toolhub_gateway_connections" not in own
        everything = (await metrics(at.url, "token-of-the-operator")).text
        assert all(text in everything for text in ('"ping"', '"pay_salaries"', "toolhub_gateway_connections"))
        assert not any(name in everything for name in ("token:ann", "token:bob"))
        assert (await metrics(at.url, None)).status == 401
        # It is the token of no caller.
        assert (await call(at.url, "ping", "token-of-the-operator")).status == 401
    async with served(ToolHub(), metrics_token="token-of-the-operator") as at:
        assert (await metrics(at.url, None)).status == 401
        assert "toolhub_gateway_tools" in (await metrics(at.url, "token-of-the-operator")).text
    async with served(ToolHub(), token="only-token") as at:
        assert "toolhub_gateway_tools" in (await metrics(at.url, "only-token")).text
    with pytest.raises(ToolError, match="also a caller's token"):
        ToolHub().asgi(token={"ann": "same-token"}, metrics_token="same-token")


async def test_rankings_and_statistics_depend_on_the_callers_own_use() -> None:
    """What one caller has used, and what failed for it, moves nothing in the recommendations for another."""
    hub = ToolHub()
    for name in ("train_alpha", "train_beta", "train_gamma"):
        hub.register(lambda fail=False: 1 // (not fail), name=name, description="Finds a train connection.")

    @hub.tool
    def suggest(query: str) -> str:
        """The names of tools, best first."""
        return json.dumps([hit.name for hit in hub.recommend(query, 9) if hit.name.startswith("train_")])

    @hub.tool
    def numbers(everyone: bool = False) -> str:
        """How often each tool was called."""
        rows = hub.stats(rows=True, caller="*" if everyone else None)
        own = {
            row["tool"]: (row["calls"], row["failures"]) for row in rows if row["tool"].startswith("train_")
        }
        candidate = hub.get("train_beta").candidates[0]  # type: ignore[union-attr]
        return json.dumps([own, candidate.stats["calls"]])

    async with hub, served(hub, token=TOKENS) as at:

        async def suggested(who: str) -> list[str]:
            reply = await call(at.url, "suggest", TOKENS[who], query="a train connection")
            return json.loads(reply.content)

        first = await suggested("ann")
        assert await suggested("bob") == first
        used, failing = first[2], first[0]
        await call(at.url, used, TOKENS["ann"])
        for _ in range(3):
            assert (await call(at.url, failing, TOKENS["ann"], fail=True)).result["isError"]
        assert await suggested("ann") == [used, first[1], failing]
        assert await suggested("bob") == first

        async def counted(who: str, **options: Any) -> Any:
            return json.loads((await call(at.url, "numbers", TOKENS[who], **options)).content)

        (own, _), (others, _) = await counted("ann"), await counted("bob")
        assert (own[used], own[failing]) == ([1, 0], [3, 3])
        assert set(map(tuple, others.values())) == {(0, 0)}
        (everyone, _) = await counted("bob", everyone=True)
        assert (everyone[used], everyone[failing]) == ([1, 0], [3, 3])
        assert hub.stats(used, caller="token:ann")[used][0]["calls"] == 1
        assert hub.stats(used, caller="token:bob")[used][0]["calls"] == 0
        assert hub.stats(used)[used][0]["calls"] == 1


async def test_a_search_of_one_caller_teaches_nothing_to_another() -> None:
    """The use that follows a search belongs to the one who searched, also in search mode."""
    hub = ToolHub()
    hub.register(lambda: "ok", name="odd_name", description="Unrelated words.")
    hub.register(lambda: "ok", name="invoice_archive", description="Looks up an invoice.")

    @hub.tool
    def suggest() -> str:
        """The best tools."""
        return json.dumps([hit.name for hit in hub.recommend("invoice of last year", 2)])

    async with hub, served(hub, token=TOKENS, search_mode="on") as at:

        async def use(who: str, tool: str, **arguments: Any) -> str:
            return (await call(at.url, tool, TOKENS[who], **arguments)).content

        before = await use("bob", "call_tool", name="suggest", arguments={})
        for _ in range(3):
            await use("ann", "search_tools", query="invoice of last year unrelated words")
            await use("ann", "call_tool", name="odd_name", arguments={})
        assert "odd_name" in await use("ann", "call_tool", name="suggest", arguments={})
        assert await use("bob", "call_tool", name="suggest", arguments={}) == before


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
