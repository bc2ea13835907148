"""A user who has several tokens: what one token may do or fetch, another one does not get."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support.gateway import ask, call, served
from support.issuers import Issuer, jwt_options
from support.upstreams import AuthorizationServer, authorization_server, exchange, upstream
from toolhub import ToolHub

pytestmark = pytest.mark.anyio
FORM_SERVER = str(Path(__file__).with_name("form_server.py"))


@pytest.fixture(scope="module")
def issuer() -> Generator[Issuer]:
    issuer = Issuer()
    yield issuer
    issuer.end()


@pytest.fixture(scope="module")
def authorization() -> Generator[AuthorizationServer]:
    with authorization_server() as server:
        yield server


@pytest.mark.parametrize("environment", ["mcp1", "mcp2"])
async def test_each_token_of_a_user_is_exchanged_for_one_of_its_own(
    environment: str, authorization: AuthorizationServer
) -> None:
    wide, subject = authorization.login("ann", "tools")
    narrow, same = authorization.login("ann", "read")
    renewed, _ = authorization.login("ann", "read")
    assert subject == same
    jwt = {"jwks": f"{authorization.url}/jwks.json", "issuer": authorization.url, "audience": "gateway"}
    with upstream(environment) as up:
        hub = ToolHub()
        hub.add_server("up", url=up.url, auth=exchange(authorization))
        async with hub, served(hub, jwt=jwt) as at:
            before = len(authorization.get("/forms"))

            async def used(token: str) -> str:
                return json.loads((await call(at.url, "whoami", token)).content)["authorization"]

            turns = [wide, narrow, renewed] * 2
            got = [await used(token) for token in turns]
            together = await asyncio.gather(*map(used, turns))
    assert len(set(got[:3])) == 3
    assert got[3:] == got[:3]
    assert together == got
    subjects = [form.get("subject_token") for form in authorization.get("/forms")[before:]]
    assert [token for token in subjects if token] == [wide, narrow, renewed]


async def test_connections_follow_what_a_token_grants(issuer: Issuer) -> None:
    """A renewed token with the same claims goes on with the connection, one with other claims has another."""
    seen: list[tuple[str, str]] = []

    def headers(principal: Any) -> dict[str, str] | None:
        if principal is None:
            return None
        seen.append((principal.claims["scope"], principal.claims["jti"]))
        return {"Authorization": f"Bearer for-{principal.claims['scope']}"}

    def token(scope: str, jti: str) -> str:
        return issuer(claims={"scope": scope, "jti": jti})

    with upstream("mcp1") as up:
        hub = ToolHub()
        hub.add_server("up", url=up.url, headers=headers)
        async with hub, served(hub, jwt=jwt_options(issuer)) as at:

            async def used(scope: str, jti: str) -> str:
                return json.loads((await call(at.url, "whoami", token(scope, jti))).content)["authorization"]

            for scope, jti in (("admin", "1"), ("read", "2"), ("admin", "3"), ("read", "4")):
                assert await used(scope, jti) == f"Bearer for-{scope}"
                assert seen[-1] == (scope, jti)
        sessions: dict[str, set[str]] = {}
        for request in up.requests():
            if session := request["headers"].get("mcp-session-id"):
                sessions.setdefault(request["headers"].get("authorization", ""), set()).add(session)
        own = [sessions[f"Bearer for-{scope}"] for scope in ("admin", "read")]
    assert [len(one) for one in own] == [1, 1]
    assert own[0] != own[1]


def named_by_token(token: str | None, _: dict[str, str]) -> dict[str, Any] | None:
    """One user with several tokens, who gets what the word after the dash says."""
    if token is None:
        return None
    kind, _, word = token.partition("-")
    given: dict[str, Any] = {"claims": {"claims": {"scope": word}}, "upstream": {"upstream_token": word}}
    return {"name": "ann", **given.get(kind, {})}


@pytest.mark.parametrize("kind", ["jwt", "claims", "upstream", "opaque"])
async def test_results_are_shared_among_tokens_that_grant_the_same(kind: str, issuer: Issuer) -> None:
    """In the cache, and with a call that is running, also inside a native tool."""
    hub, runs = ToolHub(), []
    both = asyncio.Barrier(2)

    @hub.tool(read_only=True)
    async def secret(word: str) -> str:
        runs.append(word)
        if word == "together":
            await asyncio.wait_for(both.wait(), 20)
        return str(len(runs))

    @hub.tool
    async def inner(word: str) -> str:
        return (await hub.execute("secret", {"word": word}, cache_ttl=600, single_flight=True)).text

    jti = iter(range(1000))

    def token(word: str) -> str:
        if kind == "jwt":
            return issuer(claims={"scope": word, "jti": str(next(jti))})
        return f"{kind}-{word}"

    options: dict[str, Any] = {"authenticate": named_by_token}
    if kind == "jwt":
        options = {"jwt": jwt_options(issuer)}
    async with hub, served(hub, **options) as at:

        async def asked(word: str, of: str) -> str:
            return (await call(at.url, "inner", token(word), word=of)).content

        kept = [await asked(word, "kept") for word in ("admin", "read", "admin", "read")]
        assert kept == ["1", "2", "1", "2"]
        answers = await asyncio.gather(*[asked(word, "together") for word in ("admin", "read")])
        assert "Timeout" not in " ".join(answers)
    assert runs == ["kept", "kept", "together", "together"]


async def test_a_process_for_each_caller_serves_all_its_tokens() -> None:
    """A server on stdio that asks has a process for each caller; it gets no credentials, so their rights do not matter."""
    hub = ToolHub()
    hub.add_server("asks", command=sys.executable, args=[FORM_SERVER, "legacy"])
    async with hub, served(hub, authenticate=named_by_token) as at:
        params: dict[str, Any] = {
            "name": "ask",
            "arguments": {"properties": {"city": {"type": "string"}}},
            "_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}},
        }
        asked = await ask(at.url, "tools/call", params, "opaque-admin")
        assert asked.result["resultType"] == "input_required"
        processes = {
            (await call(at.url, "process", f"opaque-{word}")).content for word in ("admin", "read", "write")
        }
    assert len(processes) == 1
