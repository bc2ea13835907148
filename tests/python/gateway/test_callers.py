"""Who may call a served hub: tokens of real issuers, functions of the user, limits, sessions that replicas share."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socket
import subprocess
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support.gateway import LegacyClient, ask, call, served
from support.issuers import AUDIENCE, ISSUER, Issuer, jwt_options
from support.warm import warm
from support.wire import audit_lines
from toolhub import ToolError, ToolHub
from toolhub.testing import record

pytestmark = pytest.mark.anyio


def callers_in(audit: Path) -> set[str]:
    """The principals of the calls in an audit log."""
    return {line["principal"] for line in audit_lines(audit) if line["type"] == "call"}


@pytest.fixture(scope="module")
def issuer() -> Generator[Issuer]:
    issuer = Issuer()
    yield issuer
    issuer.end()


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub()
    hub.register(lambda: "pong", name="read_ping", read_only=True)
    hub.register(lambda: "gone", name="delete_all")
    return hub


@pytest.mark.parametrize("keys", ["url", "file", "mapping"])
async def test_tokens_of_two_libraries_are_accepted(
    keys: str, issuer: Issuer, hub: ToolHub, tmp_path: Path
) -> None:
    published = issuer("publish", keys=["first", "curve"])
    (tmp_path / "jwks.json").write_text(json.dumps(published))
    jwks = {"url": issuer.url, "file": tmp_path / "jwks.json", "mapping": published}[keys]
    audit = tmp_path / "audit.ndjson"
    async with served(hub, jwt=jwt_options(issuer, jwks=jwks), audit=audit) as at:
        for token in (
            issuer(),
            issuer("joserfc"),
            issuer(key="curve"),
            issuer(claims={"aud": ["x", AUDIENCE]}),
        ):
            assert (await call(at.url, "read_ping", token)).content == "pong"
            client = LegacyClient(at.url, token)
            await client.start()
            assert (await client.call("read_ping")).content == "pong"
        refused = await call(at.url, "read_ping")
        place = "https://gateway.example/.well-known/oauth-protected-resource/mcp"
        challenge = f'Bearer resource_metadata="{place}"'
        assert (refused.status, refused.headers["www-authenticate"]) == (401, challenge)
    assert callers_in(audit) == {"jwt:ann"}


CLIENT = """
import asyncio, sys
from fastmcp import Client
async def main():
    async with Client(sys.argv[1], auth=sys.argv[2]) as client:
        print([tool.name for tool in await client.list_tools()])
        print((await client.call_tool("read_ping", {})).content[0].text)
asyncio.run(main())
"""


@pytest.mark.parametrize("environment", ["fastmcp2", "fastmcp"])
async def test_a_client_of_fastmcp_signs_in_with_its_token(
    environment: str, issuer: Issuer, hub: ToolHub
) -> None:
    published = issuer("publish", keys=["first"])
    async with served(hub, jwt=jwt_options(issuer, jwks=published)) as at:
        command = [*warm(environment), "-c", CLIENT, at.url]
        run = await asyncio.to_thread(
            subprocess.run, [*command, issuer()], capture_output=True, text=True, timeout=50
        )
        assert run.stdout.splitlines() == ["['delete_all', 'read_ping']", "pong"], run.stderr
        refused = await asyncio.to_thread(
            subprocess.run, [*command, "wrong"], capture_output=True, text=True, timeout=50
        )
        assert refused.returncode != 0
        assert re.search("401|The bearer token is refused", refused.stderr)


async def test_tokens_that_do_not_hold_are_refused(issuer: Issuer, hub: ToolHub) -> None:
    issuer("publish", keys=["first", "curve", "second"])
    now = int(time.time())
    tokens = {
        "none": issuer("none"),
        "None": issuer("none", header={"alg": "None"}),
        "confused": issuer("confuse"),
        "expired": issuer(claims={"exp": now - 60}),
        "early": issuer(claims={"nbf": now + 600}),
        "audience": issuer(claims={"aud": "https://other.example"}),
        "issuer": issuer(claims={"iss": "https://other.example"}),
        "no expiry": issuer(claims={"exp": None}),
        "no name": issuer(claims={"sub": None}),
        "no key id, and two keys fit": issuer(header={"kid": None}),
        "wrong key id": issuer(header={"kid": "second"}),
        "unknown key id": issuer(header={"kid": "third"}),
        "address of keys": issuer(header={"kid": None, "jku": issuer.url}),
        "must be understood": issuer(header={"crit": ["b64"], "b64": True}),
        "other algorithm": issuer(key="curve"),
        "huge": issuer(claims={"more": "x" * 20_000}),
        "not one": "a.b.c",
        "changed": issuer()[:-4] + "AAAA",
    }
    async with served(hub, jwt=jwt_options(issuer, algorithms=["RS256"])) as at:
        assert (await call(at.url, "read_ping", issuer())).content == "pong"
        for what, token in tokens.items():
            reply = await call(at.url, "read_ping", token)
            assert (reply.status, "read_ping" in reply.text) == (401, False), what
            assert reply.headers["www-authenticate"].startswith('Bearer error="invalid_token"'), what
            assert token not in reply.text, what


async def test_keys_may_be_rotated_at_their_address(issuer: Issuer, hub: ToolHub) -> None:
    issuer("publish", keys=["first"])
    async with served(hub, jwt=jwt_options(issuer)) as at:
        assert (await call(at.url, "read_ping", issuer())).content == "pong"
        assert (await call(at.url, "read_ping", issuer(key="curve"))).status == 401
    async with served(hub, jwt=jwt_options(issuer)) as at:
        assert (await call(at.url, "read_ping", issuer())).content == "pong"
        issuer("publish", keys=["second", "first"])
        assert (await call(at.url, "read_ping", issuer(key="second"))).content == "pong"
        assert (await call(at.url, "read_ping", issuer())).content == "pong"


async def test_claims_name_the_caller_its_view_and_its_scopes(
    issuer: Issuer, hub: ToolHub, tmp_path: Path
) -> None:
    issuer("publish", keys=["first"])
    options = jwt_options(issuer, principal_claim="email", view_claim="role", scopes=["tools:call"])
    views = {"reader": {"tools": ["read_*"]}}
    audit = tmp_path / "audit.ndjson"
    given = {"email": "ann@example.com", "role": "reader", "scope": "tools:call more"}
    async with served(hub, jwt=options, views=views, audit=audit) as at:
        tools = (await ask(at.url, "tools/list", token=issuer(claims=given))).result["tools"]
        assert [tool["name"] for tool in tools] == ["read_ping"]
        assert (await call(at.url, "delete_all", issuer(claims=given))).status == 400
        assert (await call(f"{at.url}/writer", "read_ping", issuer(claims=given))).status == 404
        for claim, status in (("email", 401), ("role", 401), ("scope", 403)):
            reply = await call(at.url, "read_ping", issuer(claims={**given, claim: None}))
            assert reply.status == status, claim
        assert 'error="insufficient_scope", scope="tools:call"' in reply.headers["www-authenticate"]
    assert callers_in(audit) == {"jwt:ann@example.com"}


async def test_keys_that_cannot_be_read_are_reported_at_the_start(hub: ToolHub, tmp_path: Path) -> None:
    (tmp_path / "no.json").write_text("{}")
    for jwks, why in (
        (tmp_path / "none.json", "No such file"),
        (tmp_path / "no.json", "it has no 'keys' list"),
        ("http://issuer.example/jwks", "it needs https"),
        ({"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}, "no public key that verifies signatures"),
    ):
        with pytest.raises(ToolError, match="key set") as refusal:
            async with served(hub, jwt={"jwks": jwks, "issuer": ISSUER, "audience": AUDIENCE}):
                pass
        assert why in str(refusal.value)


async def by_name(token: str | None, headers: dict[str, str]) -> Any:
    """A function of an operator, with every kind of answer."""
    answers: dict[str | None, Any] = {
        "name": "ann",
        "mapping": {"name": "ann", "view": "reader", "claims": {"team": 1}, "upstream_token": "for-upstream"},
        "by server": {"name": "ann", "upstream_token": {"files": "for-files"}},
        "none": None,
        "empty": "",
        "number": 5,
        "true": True,
        "list": ["ann"],
        "no name": {"view": "reader"},
        "wrong name": {"name": 5},
        "unknown key": {"name": "ann", "role": "admin"},
        "wrong token": {"name": "ann", "upstream_token": 5},
        "own token": {"name": "ann", "upstream_token": "own-token"},
        "unknown view": {"name": "ann", "view": "writer"},
    }
    if token == "raises":
        raise LookupError("no-such-token-raises")
    if token == "exits":
        raise SystemExit(3)
    if token == "interrupts":
        raise KeyboardInterrupt
    if token == "hangs":
        await asyncio.Event().wait()
    if token is None:
        return headers.get("x-api-key") and "by-key"
    return answers[token.replace("-", " ") if token != "own-token" else "own token"]


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_a_function_names_the_caller_or_the_request_is_refused(
    kind: str, hub: ToolHub, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def sync(token: str | None, headers: dict[str, str]) -> Any:
        assert threading.current_thread() is not threading.main_thread()
        return None if token == "hangs" else asyncio.run(by_name(token, headers))

    audit = tmp_path / "audit.ndjson"
    options: dict[str, Any] = {"authenticate": by_name if kind == "async" else sync, "audit": audit}
    with caplog.at_level(logging.WARNING, "toolhub"):
        async with served(hub, views={"reader": {"tools": ["read_*"]}}, **options) as at:
            for token in ("name", "mapping", "by-server"):
                assert (await call(at.url, "read_ping", token)).content == "pong"
            assert (await ask(at.url, "tools/list", token="mapping")).text.count('"name":"read_') == 1
            reply = await ask(at.url, "tools/list", **{"X-Api-Key": "k"})
            assert reply.status == 200
            refused = ["none", "empty", "number", "true", "list", "no-name", "wrong-name", "unknown-key"]
            for token in (*refused, "wrong-token", "own-token", "raises", "exits", "interrupts", None):
                assert (await call(at.url, "read_ping", token)).status == 401, token
            assert (await call(at.url, "read_ping", "unknown-view")).status == 404
    assert "no-such-token-raises" not in caplog.text  # a message may show the token
    for raised in ("LookupError", "SystemExit", "KeyboardInterrupt"):
        assert f"'authenticate' raised {raised}" in caplog.text
    assert "authenticate must return a name, a mapping or None, got int" in caplog.text
    assert callers_in(audit) == {"user:ann"}


async def test_a_function_that_takes_too_long_is_given_up(hub: ToolHub) -> None:
    cancelled = asyncio.Event()

    async def hangs(_token: str | None, _headers: dict[str, str]) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "ann"

    async with served(hub, authenticate=hangs, authenticate_timeout=0.1) as at:
        reply = await call(at.url, "read_ping", "any")
        assert (reply.status, "pong" in reply.text) == (503, False)
        async with asyncio.timeout(30):
            await cancelled.wait()


async def test_a_function_runs_on_the_loop_of_the_program(hub: ToolHub) -> None:
    loops: list[Any] = []

    async def authenticate(token: str | None, _: dict[str, str]) -> str | None:
        loops.append(asyncio.get_running_loop())
        return token

    async with served(hub, authenticate=authenticate) as at:
        assert (await call(at.url, "read_ping", "ann")).content == "pong"
    assert loops == [asyncio.get_running_loop()]


async def test_a_caller_with_too_many_requests_is_sent_away_and_others_are_not() -> None:
    hub, begun, end = ToolHub(), asyncio.Event(), asyncio.Event()

    @hub.tool
    async def wait() -> str:
        begun.set()
        await end.wait()
        return "done"

    async with served(hub, token={"ann": "token-of-ann", "bob": "token-of-bob"}, max_in_flight=1) as at:
        first = asyncio.create_task(call(at.url, "wait", "token-of-ann"))
        async with asyncio.timeout(30):
            await begun.wait()
        refused = await call(at.url, "wait", "token-of-ann")
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert (await ask(at.url, "tools/list", token="token-of-bob")).status == 200
        end.set()
        assert (await first).content == "done"
        assert (await call(at.url, "wait", "token-of-ann")).content == "done"


def exchange(port: int, text: bytes) -> bytes:
    """What a server sends until it closes the connection, after it got this."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(text)
        received = b""
        while part := connection.recv(65536):
            received += part
        return received


async def test_slow_and_greedy_clients_meet_the_limits(hub: ToolHub) -> None:
    async with served(hub, header_timeout=0.2, body_timeout=0.2, max_headers=8192) as at:
        slow_head = await asyncio.to_thread(exchange, at.port, b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n")
        assert slow_head == b"" or slow_head.startswith(b"HTTP/1.1 408")
        head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
        assert (await asyncio.to_thread(exchange, at.port, head)).startswith(b"HTTP/1.1 408")
        assert (await ask(at.url, "tools/list", **{"X-Long": "x" * 9000})).status == 431


async def test_connections_are_limited(hub: ToolHub) -> None:
    async with served(hub, max_connections=1) as at:
        with socket.create_connection(("127.0.0.1", at.port), timeout=30) as taken:
            # A caller; a stranger would make room.
            taken.sendall(b"DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await asyncio.to_thread(taken.recv, 100)).startswith(b"HTTP/1.1 400")
            assert (await asyncio.to_thread(exchange, at.port, b"")).startswith(b"HTTP/1.1 503")


async def test_replicas_share_sessions_by_their_keys_and_rotate_them(hub: ToolHub) -> None:
    old, new, other = "old-key-" * 5, "new-key-" * 5, "other-key-" * 5
    async with (
        served(hub, session_keys=old) as first,
        served(hub, session_keys=[old, new]) as second,
        served(hub, session_keys=[other]) as foreign,
    ):
        client = LegacyClient(first.url)
        await client.start()
        session = client.session

        async def status(url: str, session: str) -> int:
            client = LegacyClient(url)
            client.session = session
            return (await client.ask("tools/list")).status

        assert await status(second.url, session) == 200
        assert await status(foreign.url, session) == 404
        first.rotate_session_key(new)
        later = LegacyClient(first.url)
        await later.start()
        assert [await status(one.url, later.session) for one in (first, second, foreign)] == [200, 200, 404]
        assert await status(first.url, session) == 200
        first.rotate_session_key(other, grace=0)
        assert [await status(first.url, one) for one in (session, later.session)] == [404, 404]
        with pytest.raises(ToolError, match="at least 32 random characters"):
            first.rotate_session_key("short")
    async with served(hub) as at:
        with pytest.raises(ValueError, match="session_keys were not given"):
            at.rotate_session_key(new)


async def test_sessions_end_after_their_lifetime(hub: ToolHub) -> None:
    async with served(hub, session_lifetime=1) as at:
        client = LegacyClient(at.url)
        await client.start()
        async with asyncio.timeout(30):
            while (await client.ask("tools/list")).status != 404:
                pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jwt": {"issuer": "i", "audience": "a"}}, "jwt needs 'jwks'"),
        ({"jwt": {"jwks": {}, "issuer": "i"}}, "jwt needs 'audience'"),
        ({"jwt": {"jwk": {}}}, "jwt has no key 'jwk'; did you mean 'jwks'?"),
        (
            {"jwt": {"jwks": "f", "issuer": "i", "audience": "a", "algorithms": ["HS256"]}},
            "each of jwt['algorithms'] must be one of RS256",
        ),
        ({"jwt": {"jwks": "f", "issuer": "", "audience": "a"}}, "Tokens of an issuer need 'issuer'"),
        ({"authenticate": "f"}, "authenticate must be a function, got str"),
        ({"token": {"ann": {"tokn": "x"}}}, "token['ann'] has no key 'tokn'; did you mean 'token'?"),
        ({"token": {"ann": {"view": "x"}}}, "token['ann']['token'] must be text, got NoneType"),
        (
            {"token": {"ann": {"token": "x", "upstream_token": {"s": 1}}}},
            "token['ann']['upstream_token']['s'] must be text, got int",
        ),
        (
            {"token": {"ann": {"token": "same", "upstream_token": "same"}}},
            "The upstream token of 'ann' is its own token",
        ),
        ({"session_keys": "short"}, "session_keys entries need at least 32 random characters"),
        ({"max_in_flight": 0}, "max_in_flight must be at least 1"),
        ({"header_timeout": 0}, "header_timeout must be more than 0 seconds"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError, ToolError)) as refusal:
        ToolHub().asgi(**options)
    assert str(refusal.value).startswith(message)


async def test_a_cassette_names_the_caller_of_a_served_call(hub: ToolHub, tmp_path: Path) -> None:
    token = "tok-ann-1234567890abcdef"
    with record(tmp_path / "calls.ndjson"):
        async with served(hub, token={"ann": token}) as at:
            assert (await call(at.url, "read_ping", token)).content == "pong"
        await hub.execute("read_ping", {})
    assert [
        line["principal"] for line in audit_lines(tmp_path / "calls.ndjson") if line["type"] == "call"
    ] == [
        "token:ann",
        "",
    ]
