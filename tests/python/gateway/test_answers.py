"""Answers of clients to questions of Python tools: to which request they belong, and whether they fit the form."""

from __future__ import annotations

import asyncio
import http.client
import json
from pathlib import Path
from typing import Any

import pytest

from support import wire
from support.gateway import MODERN, LegacyClient, Reply, send, served
from toolhub import ToolHub, current_call

pytestmark = pytest.mark.anyio
FORM = {
    "type": "object",
    "properties": {"nights": {"type": "integer"}, "room": {"type": "string", "default": "single"}},
    "required": ["nights"],
}


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub()

    @hub.tool
    async def book(city: str) -> dict[str, Any]:
        """Book a room."""
        answer = await current_call().ask(f"How long in {city}?", FORM)
        return {"city": city, "accepted": answer.accepted, **answer.content}

    @hub.tool
    def other() -> str:
        """Do something else."""
        return "done"

    return hub


async def call(url: str, caller: dict[str, str] | None = None, **params: Any) -> Reply:
    """A call of `book` by a modern client that can be asked."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
    headers = {
        "Mcp-Method": "tools/call",
        "Mcp-Name": "book",
        "MCP-Protocol-Version": MODERN,
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **(caller or {}),
    }
    given = {"name": "book", "_meta": meta, **params}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": given})
    return await asyncio.to_thread(send, url, "POST", body, headers)


def answered(asked: Any, answer: Any) -> dict[str, Any]:
    return {"inputResponses": {"question": answer}, "requestState": asked["requestState"]}


async def test_a_state_counts_for_its_own_view_and_arguments_only(hub: ToolHub) -> None:
    accept = {"action": "accept", "content": {"nights": 2}}
    async with served(hub, views={"part": {"tools": ["other"]}, "same": {}}) as at:
        for path, arguments in (
            ("/part", {"city": "Oslo"}),
            ("/same", {"city": "Oslo"}),
            ("", {"city": "Rome"}),
            ("", {"city": "Oslo", "nights": 1}),
            ("", {}),
        ):
            asked = (await call(at.url, arguments={"city": "Oslo"})).result
            refused = await call(at.url + path, arguments=arguments, **answered(asked, accept))
            error = refused.message["error"]
            assert (error["code"], "requestState" in error["message"]) == (-32602, True), (path, arguments)
            # The request still waits for its own answer.
            right = await call(at.url, arguments={"city": "Oslo"}, **answered(asked, accept))
            assert right.result["structuredContent"] == {
                "city": "Oslo",
                "accepted": True,
                "nights": 2,
                "room": "single",
            }


async def test_a_caller_has_a_limited_number_of_waiting_calls_and_takes_none_from_others(
    hub: ToolHub,
) -> None:
    accept = {"action": "accept", "content": {"nights": 2}}
    ann, bob = {"Authorization": "Bearer token-of-ann"}, {"Authorization": "Bearer token-of-bob"}
    tokens = {"ann": "token-of-ann", "bob": "token-of-bob"}
    async with served(hub, token=tokens, max_in_flight=3) as at:

        async def book(caller: dict[str, str], **answer: Any) -> Any:
            return (await call(at.url, caller, arguments={"city": "Oslo"}, **answer)).result

        waiting = [await book(ann) for _ in range(3)]
        assert [one["resultType"] for one in waiting] == ["input_required"] * 3
        # The tool has begun, so it hears that nobody answers, and its call ends as it decides.
        refused = await book(ann)
        assert refused["isError"]
        assert "this caller has too many calls waiting for input" in refused["content"][0]["text"]
        assert (await book(bob))["resultType"] == "input_required"
        for one in waiting:
            answer = await book(ann, **answered(one, accept))
            assert answer["structuredContent"]["nights"] == 2
            assert (await book(ann))["resultType"] == "input_required"


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_a_waiting_call_that_has_ended_keeps_its_result_and_makes_room(kind: str) -> None:
    hub, told = ToolHub(), asyncio.Queue[str]()
    loop = asyncio.get_running_loop()

    async def patient() -> str:
        try:
            return str((await current_call().ask("How long?", FORM)).content)
        finally:
            told.put_nowait("ended")

    def sync() -> str:
        try:
            return str(current_call().ask_sync("How long?", FORM).content)
        finally:
            loop.call_soon_threadsafe(told.put_nowait, "ended")

    hub.register(patient if kind == "async" else sync, name="book", description="Book.", timeout=2)
    accept = {"action": "accept", "content": {"nights": 2}}
    async with served(hub, max_in_flight=2) as at:
        first, second = [(await call(at.url, arguments={})).result for _ in range(2)]
        assert (first["resultType"], second["resultType"]) == ("input_required", "input_required")
        for _ in range(2):
            await asyncio.wait_for(told.get(), 30)
        # An answer that comes late gets what the call came to, however often the tool was called since.
        late = (await call(at.url, arguments={}, **answered(second, accept))).result
        assert late["isError"]
        assert "timed out" in late["content"][0]["text"]
        for _ in range(2):
            async with asyncio.timeout(30):
                # The tool has ended, its call may be about to.
                while "requestState" not in (await call(at.url, arguments={})).result:
                    pass
        gone = await call(at.url, arguments={}, **answered(first, accept))
        assert "has ended" in gone.message["error"]["message"]


TOOLS = """
from toolhub import current_call, tool

@tool
async def book(city: str) -> dict:
    "Book a room."
    answer = await current_call().ask("How long?", {"type": "object", "properties": {"nights": {"type": "integer"}}})
    return {"city": city, **answer.content}

@tool
def other() -> str:
    "Do something else."
    return "done"
"""


async def test_a_call_that_waits_goes_on_when_a_reload_takes_its_tool_away(tmp_path: Path) -> None:
    config, tools = tmp_path / "mcp.json", tmp_path / "tools"
    tools.mkdir()
    (tools / "rooms.py").write_text(TOOLS)

    def shows(tool: str) -> None:
        draft = config.with_suffix(".draft")
        draft.write_text(json.dumps({"mcpServers": {}, "serve": {"views": {"part": {"tools": [tool]}}}}))
        draft.replace(config)

    shows("book")
    accept = {"action": "accept", "content": {"nights": 2}}
    with wire.command("--config", str(config), "--tools", str(tools)) as program:
        url = f"{program.url}/part"
        asked = (await call(url, arguments={"city": "Oslo"})).result
        shows("other")
        async with asyncio.timeout(30):
            while await asyncio.to_thread(wire.tools, url) != ["other"]:
                pass
        refused = await call(url, arguments={"city": "Oslo"})
        assert refused.message["error"]["message"] == "Unknown tool: book"
        result = (await call(url, arguments={"city": "Oslo"}, **answered(asked, accept))).result
        assert result["structuredContent"] == {"city": "Oslo", "nights": 2}


WRONG: list[dict[str, Any]] = [
    {"action": "accept", "content": {"nights": "several"}},
    {"action": "accept", "content": {}},
    {"action": "accept"},
    {"action": "accept", "content": "nights"},
    {"action": "perhaps"},
    {},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
async def test_answers_that_do_not_fit_the_form_reach_no_tool(hub: ToolHub, wrong: dict[str, Any]) -> None:
    async with served(hub) as at:
        asked = (await call(at.url, arguments={"city": "Oslo"})).result
        result = (await call(at.url, arguments={"city": "Oslo"}, **answered(asked, wrong))).result
        assert result["isError"]
        assert "does not fit the form" in result["content"][0]["text"]

        result = await asyncio.to_thread(asked_in_a_session, await session(at.url), wrong)
        assert result["isError"]
        assert "does not fit the form" in result["content"][0]["text"]


async def test_declined_and_accepted_answers_reach_the_tool_in_a_session(hub: ToolHub) -> None:
    async with served(hub) as at:
        client = await session(at.url)
        accept = {"action": "accept", "content": {"nights": 3}}
        result = await asyncio.to_thread(asked_in_a_session, client, accept)
        assert result["structuredContent"] == {
            "city": "Oslo",
            "accepted": True,
            "nights": 3,
            "room": "single",
        }
        decline = {"action": "decline", "content": {"nights": "left over"}}
        result = await asyncio.to_thread(asked_in_a_session, client, decline)
        assert result["structuredContent"] == {"city": "Oslo", "accepted": False}


async def session(url: str) -> LegacyClient:
    """A client of the older protocol that can be asked."""
    client = LegacyClient(url)
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "test", "version": "1"},
    }
    client.session = (await client.ask("initialize", params)).headers["mcp-session-id"]
    return client


def asked_in_a_session(client: LegacyClient, answer: dict[str, Any]) -> Any:
    """Calls `book`, answers its question by a message of its own, and returns the result."""
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Mcp-Session-Id": client.session,
        "MCP-Protocol-Version": "2025-11-25",
    }
    host, _, path = client.url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=30)
    params = {"name": "book", "arguments": {"city": "Oslo"}}
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    connection.request("POST", f"/{path}", json.dumps(request), headers)
    reply = connection.getresponse()
    for line in iter(reply.readline, b""):
        if not line.startswith(b"data:"):
            continue
        message = json.loads(line[5:])
        if message.get("method") == "elicitation/create":
            response = {"jsonrpc": "2.0", "id": message["id"], "result": answer}
            send(client.url, "POST", json.dumps(response), headers)
        elif message.get("id") == 7:
            connection.close()
            return message["result"]
    raise AssertionError("the call was not answered")
