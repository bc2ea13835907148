"""Answers of clients to questions of Python tools: to which request they belong, and whether they fit the form."""

from __future__ import annotations

import asyncio
import http.client
import json
from typing import Any

import pytest

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


async def call(url: str, **params: Any) -> Reply:
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
