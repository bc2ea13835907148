"""Pages of allowed origins use a served hub as a browser lets them: preflight, the request, and what a page may read."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest

from support.gateway import MODERN, Reply, send, served
from toolhub import ToolHub

pytestmark = pytest.mark.anyio
PAGE = "https://app.example.com"
SIMPLE_TYPES = {"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"}
SIMPLE_HEADERS = {"accept", "accept-language", "content-language"}
READABLE = {"cache-control", "content-language", "content-length", "content-type", "expires", "last-modified"}


class BlockedError(Exception):
    """What a browser tells a page: nothing."""


@dataclass
class Browser:
    """A page of an origin that calls `fetch`: the rules of CORS for requests without cookies."""

    origin: str
    preflights: int = 0

    async def fetch(self, url: str, method: str, headers: dict[str, str], body: str | None = None) -> Reply:
        """The answer with the headers that the page sees."""
        unsafe = {name.lower() for name in headers} - SIMPLE_HEADERS
        if headers.get("Content-Type") in SIMPLE_TYPES:
            unsafe.discard("content-type")
        if unsafe or method not in ("GET", "HEAD", "POST"):
            await self.preflight(url, method, unsafe)
        reply = await asyncio.to_thread(send, url, method, body, {**headers, "Origin": self.origin})
        self.check_origin(reply)
        exposed = {
            name.strip().lower() for name in reply.headers.get("access-control-expose-headers", "").split(",")
        }
        seen = {name: value for name, value in reply.headers.items() if name in READABLE | exposed}
        return Reply(reply.status, seen, reply.text)

    async def preflight(self, url: str, method: str, unsafe: set[str]) -> None:
        """Ask first, without any credentials."""
        self.preflights += 1
        asked = {"Origin": self.origin, "Access-Control-Request-Method": method}
        if unsafe:
            asked["Access-Control-Request-Headers"] = ",".join(sorted(unsafe))
        reply = await asyncio.to_thread(send, url, "OPTIONS", None, asked)
        self.check_origin(reply)
        if not 200 <= reply.status < 300:
            raise BlockedError(f"preflight {reply.status}")
        allowed = reply.headers.get("access-control-allow-methods", "")
        if method not in {"GET", "HEAD", "POST", *(one.strip() for one in allowed.split(","))}:
            raise BlockedError(method)
        names = {
            name.strip().lower() for name in reply.headers.get("access-control-allow-headers", "").split(",")
        }
        if unsafe - names:
            raise BlockedError(f"headers {unsafe - names}")

    def check_origin(self, reply: Reply) -> None:
        if reply.headers.get("access-control-allow-origin") != self.origin:
            raise BlockedError("origin")
        assert "origin" in reply.headers["vary"].lower()
        assert "access-control-allow-credentials" not in reply.headers


def opening(token: str) -> tuple[dict[str, str], str]:
    """The first request of a legacy client."""
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    return {**headers, "Authorization": f"Bearer {token}"}, body


def hub_with_ping() -> ToolHub:
    hub = ToolHub()
    hub.register(lambda: "pong", name="ping", read_only=True)
    return hub


OPTIONS: dict[str, Any] = {"token": "the-token", "allowed_origins": [PAGE]}


async def test_a_page_of_an_allowed_origin_has_a_session() -> None:
    page = Browser(PAGE)
    async with hub_with_ping() as hub, served(hub, **OPTIONS) as at:
        headers, body = opening("the-token")
        opened = await page.fetch(at.url, "POST", headers, body)
        assert opened.status == 200
        session = {**headers, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
        session["MCP-Protocol-Version"] = "2025-11-25"
        called = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ping"}})
        assert (await page.fetch(at.url, "POST", session, called)).content == "pong"
        assert (await page.fetch(at.url, "DELETE", session)).status == 204
        # A page can read why it is refused.
        refused = await page.fetch(at.url, "POST", *opening("wrong"))
        assert refused.status == 401
        assert refused.headers["www-authenticate"].startswith("Bearer")
        assert (await page.fetch(f"{at.url}/none", "POST", *opening("the-token"))).status == 404
    assert page.preflights == 5


async def test_a_modern_client_sends_headers_of_its_own() -> None:
    page = Browser(PAGE)
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ping", "_meta": meta}}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": "Bearer the-token",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "ping",
        "Mcp-Param-Region": "x",
    }
    async with hub_with_ping() as hub, served(hub, **OPTIONS) as at:
        assert (await page.fetch(at.url, "POST", headers, json.dumps(body))).content == "pong"
        with pytest.raises(BlockedError, match="headers"):
            await page.fetch(at.url, "POST", {**headers, "X-Other": "1"}, json.dumps(body))


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:3000"])
async def test_pages_of_other_origins_are_blocked(origin: str) -> None:
    """Also those of this machine: any program may serve a page there."""
    async with hub_with_ping() as hub, served(hub, **OPTIONS) as at:
        with pytest.raises(BlockedError):
            await Browser(origin).fetch(at.url, "POST", *opening("the-token"))
        reply = await asyncio.to_thread(
            send, at.url, "POST", opening("the-token")[1], {**opening("the-token")[0], "Origin": origin}
        )
        assert not any(name.startswith("access-control") for name in reply.headers)


async def test_the_inspector_is_for_no_other_page() -> None:
    async with hub_with_ping() as hub, served(hub, allowed_origins=[PAGE]) as at:
        for path in ("/inspect", "/inspect/calls", "/inspect/approvals"):
            with pytest.raises(BlockedError):
                await Browser(PAGE).fetch(at.url.removesuffix("/mcp") + path, "GET", {"X-Key": "x"})


async def test_a_mounted_hub_answers_browsers_too() -> None:
    """The same through ASGI."""
    async with hub_with_ping() as hub:
        app = hub.asgi(**OPTIONS)

        async def answered(method: str, headers: dict[str, str]) -> dict[str, str]:
            sent: list[Any] = []

            async def receive() -> Any:
                if not sent:
                    return {"type": "http.request", "body": b"", "more_body": False}
                return await asyncio.Event().wait()

            async def put(message: Any) -> None:
                sent.append(message)

            pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
            scope = {"type": "http", "method": method, "path": "/mcp", "headers": pairs, "query_string": b""}
            await app(scope, receive, put)
            return {name.decode(): value.decode() for name, value in sent[0]["headers"]}

        own = {"Host": "localhost", "Origin": PAGE}
        asked = await answered("OPTIONS", {**own, "Access-Control-Request-Method": "POST"})
        assert (asked["access-control-allow-origin"], asked["access-control-allow-methods"]) == (
            PAGE,
            "GET, POST, DELETE",
        )
        assert (await answered("POST", own))["access-control-allow-origin"] == PAGE
