"""What upstream servers get to see of the callers of a gateway, with servers of both SDK generations that record everything."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support.gateway import LegacyClient, ask, call, served
from support.upstreams import (
    AuthorizationServer,
    Upstream,
    authorization_server,
    claims_of,
    exchange,
    upstream,
)
from toolhub import Principal, ToolError, ToolHub

pytestmark = pytest.mark.anyio
ERAS = ["mcp1", "mcp2"]


TOKENS = {
    "ann": {"token": "incoming-of-ann", "upstream_token": "upstream-of-ann"},
    "bob": {"token": "incoming-of-bob", "upstream_token": {"up": "upstream-of-bob"}},
    "eve": {"token": "incoming-of-eve", "upstream_token": {"other": "upstream-of-eve"}},
}


@pytest.mark.parametrize("environment", ERAS)
async def test_the_token_of_a_client_never_goes_upstream(environment: str) -> None:
    """On every path, for clients of both eras, with and without headers by caller."""
    with upstream(environment) as up:
        hub = ToolHub()
        hub.add_server("up", url=up.url, headers={"Authorization": "Bearer {principal.token:-own-token}"})
        hub.add_server("plain", url=up.url, prefix="plain_")
        async with hub, served(hub, token=TOKENS) as at:
            for token in ("incoming-of-ann", "incoming-of-bob"):
                client = LegacyClient(at.url, token)
                await client.start()
                for asked in (
                    client.ask,
                    lambda method, params=None, token=token: ask(at.url, method, params, token),
                ):
                    assert (await asked("tools/list")).status == 200
                    for name in ("say", "plain_say"):
                        params = {"name": name, "arguments": {"text": "hi"}, "_meta": {"trace": "t1"}}
                        assert (await asked("tools/call", params)).content == "hi"
                    await asked("resources/list")
                    await asked("resources/templates/list")
                    await asked("resources/read", {"uri": "note://one"})
                    await asked("prompts/list")
                    await asked("prompts/get", {"name": "greeting", "arguments": {"name": "x"}})
                    await asked("tools/describe", {"name": "say"})
                    reference = {"type": "ref/prompt", "name": "greeting"}
                    argument = {"name": "name", "value": ""}
                    await asked("completion/complete", {"ref": reference, "argument": argument})
        recorded = up.recorded()
    assert "incoming-of" not in recorded
    assert "mcp-session-id" not in recorded or client.session not in recorded
    assert all(token in recorded for token in ("upstream-of-ann", "upstream-of-bob", "own-token"))


@pytest.mark.parametrize("environment", ERAS)
async def test_each_caller_has_its_own_headers_and_connection(environment: str) -> None:
    with upstream(environment) as up:
        hub = ToolHub()
        headers = {
            "Authorization": "Bearer {principal.token}",
            "X-User": "{principal.name} as {principal.id}",
        }
        hub.add_server("up", url=up.url, headers=headers)
        async with hub, served(hub, token=TOKENS) as at:
            for name in ("ann", "bob", "ann"):
                seen = json.loads((await call(at.url, "whoami", f"incoming-of-{name}")).content)
                assert seen == {
                    "authorization": f"Bearer upstream-of-{name}",
                    "user": f"{name} as token:{name}",
                }
            refused = (await call(at.url, "whoami", "incoming-of-eve")).result
            assert refused["isError"]
            text = refused["content"][0]["text"]
            assert text.startswith("Server 'up' needs a token for 'token:eve', who has none")
            outside = await hub.execute("whoami")
            assert outside.kind == "not_allowed"
            assert "takes its credentials from the caller of a served hub" in str(outside.error)
        sessions: dict[str, set[str]] = {}
        for request in up.requests():
            own = request["headers"].get("authorization", "")
            if session := request["headers"].get("mcp-session-id"):
                sessions.setdefault(own, set()).add(session)
        assert not sessions.get("Bearer upstream-of-ann", set()) & sessions.get(
            "Bearer upstream-of-bob", set()
        )
        if environment == "mcp1":
            assert {len(of) for of in sessions.values()} == {1}


async def test_wrong_credentials_of_one_caller_do_not_rest_the_tool_for_others() -> None:
    with upstream("mcp2", "upstream-of-ann", "listing-token") as up:
        hub = ToolHub(limits={"breaker_threshold": 2})
        hub.add_server("up", url=up.url, headers={"Authorization": "Bearer {principal.token:-listing-token}"})
        async with hub, served(hub, token=TOKENS) as at:
            for name in ("eve", "bob") * 4:
                assert (await call(at.url, "whoami", f"incoming-of-{name}")).result["isError"]
            assert "upstream-of-ann" in (await call(at.url, "whoami", "incoming-of-ann")).content


async def test_lists_use_the_token_of_the_hub_and_callers_never_do() -> None:
    with upstream("mcp2", "upstream-of-ann", "listing-token") as up:
        hub = ToolHub()
        hub.add_server("up", url=up.url, headers={"Authorization": "Bearer {principal.token:-listing-token}"})
        async with hub, served(hub, token=TOKENS) as at:
            tools = (await ask(at.url, "tools/list", token="incoming-of-eve")).result["tools"]
            assert "whoami" in {tool["name"] for tool in tools}
            assert "upstream-of-ann" in (await call(at.url, "whoami", "incoming-of-ann")).content
            refused = (await call(at.url, "whoami", "incoming-of-eve")).result
            assert "who has none" in refused["content"][0]["text"]
            assert "listing-token" in (await hub.execute("whoami")).text
            # As a call outside of a gateway, this is one of the hub itself.
            assert [content.text for content in await hub.resources.read("note://one")] == ["noted"]
            refused = await ask(at.url, "resources/read", {"uri": "note://one"}, "incoming-of-eve")
            assert "who has none" in refused.message["error"]["message"]


def requests_of(up: Upstream, *prefixes: str) -> dict[str, set[str]]:
    """The methods that begin like this, each with the `Authorization` of its requests."""
    found: dict[str, set[str]] = {}
    for request in up.requests():
        method = json.loads(request["body"] or "{}").get("method", "")
        if method.startswith(prefixes):
            found.setdefault(method, set()).add(request["headers"].get("authorization", ""))
    return found


@pytest.mark.parametrize("environment", ERAS)
async def test_resources_and_prompts_are_those_of_the_caller(environment: str) -> None:
    """Lists, reads, prompts and completions go over the connection of the caller, also from a native tool."""
    with upstream(environment) as up:
        hub = ToolHub()
        hub.add_server("up", url=up.url, headers={"Authorization": "Bearer {principal.token}"})

        @hub.tool
        async def read_note() -> str:
            """Read a resource for the caller."""
            listed = [resource.uri for resource in await hub.resources.list()]
            contents = await hub.resources.read("note://one")
            return (
                f"{listed} {contents[0].text} {(await hub.prompts.get('greeting', {'name': 'x'})).messages}"
            )

        async with hub, served(hub, token=TOKENS) as at:
            for name in ("ann", "bob"):
                client = LegacyClient(at.url, f"incoming-of-{name}")
                await client.start()
                for asked in (
                    client.ask,
                    lambda method, params=None, name=name: ask(at.url, method, params, f"incoming-of-{name}"),
                ):
                    listed = (await asked("resources/list")).result["resources"]
                    assert [resource["uri"] for resource in listed] == ["note://one"]
                    read = (await asked("resources/read", {"uri": "note://one"})).result
                    assert read["contents"][0]["text"] == "noted"
                    listed = (await asked("prompts/list")).result["prompts"]
                    assert [prompt["name"] for prompt in listed] == ["greeting"]
                    asked_for = {"name": "greeting", "arguments": {"name": "x"}}
                    prompt = (await asked("prompts/get", asked_for)).result
                    assert prompt["messages"][0]["content"]["text"] == "Hello x"
                text = (await call(at.url, "read_note", f"incoming-of-{name}")).content
                assert text.startswith("['note://one'] noted")
                assert "Hello x" in text
            refused = await ask(at.url, "resources/read", {"uri": "note://one"}, "incoming-of-eve")
            assert "who has none" in refused.message["error"]["message"]
            assert (await ask(at.url, "resources/list", token="incoming-of-eve")).result["resources"] == []
            assert (await call(at.url, "read_note", "incoming-of-eve")).result["isError"]
            with pytest.raises(ToolError, match="takes its credentials from the caller"):
                await hub.resources.read("note://one")
        seen = requests_of(up, "resources/", "prompts/")
    both = {"Bearer upstream-of-ann", "Bearer upstream-of-bob"}
    for method in ("resources/list", "resources/read", "prompts/list", "prompts/get"):
        assert seen[method] == both, method


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("environment", ERAS)
async def test_a_function_of_the_caller_gives_the_headers(environment: str, is_async: bool) -> None:
    """It is called for each request, on a thread of the hub, and its headers are used as they are then."""
    seen: list[tuple[Any, str]] = []
    issued = [0]

    def headers(principal: Principal | None) -> dict[str, str] | None:
        seen.append((principal, threading.current_thread().name))
        if principal is None:
            return {"Authorization": "Bearer of-the-hub"}
        if principal.claims.get("team") is None:
            return None
        return {
            "Authorization": f"Bearer for-{principal.name}-{issued[0]}",
            "X-User": f"{principal.id} of {principal.claims['team']}",
        }

    async def later(principal: Principal | None) -> dict[str, str] | None:
        await asyncio.sleep(0)
        return headers(principal)

    def authenticate(token: str | None, _: dict[str, str]) -> Any:
        return {"name": token, "claims": {} if token == "eve" else {"team": "blue"}}

    with upstream(environment) as up:
        hub = ToolHub()
        hub.add_server("up", url=up.url, headers=later if is_async else headers)
        async with hub, served(hub, authenticate=authenticate) as at:
            for name in ("ann", "bob"):
                text = (await call(at.url, "whoami", name)).content
                expected = {"authorization": f"Bearer for-{name}-0", "user": f"user:{name} of blue"}
                assert json.loads(text) == expected
            issued[0] = 1
            assert "for-ann-1" in (await call(at.url, "whoami", "ann")).content
            read = await ask(at.url, "resources/read", {"uri": "note://one"}, "bob")
            assert read.result["contents"][0]["text"] == "noted"
            refused = (await call(at.url, "whoami", "eve")).result
            assert refused["isError"]
            assert "Server 'up' is closed to 'user:eve'" in refused["content"][0]["text"]
            assert "of-the-hub" in (await hub.execute("whoami")).text
        assert requests_of(up, "resources/read")["resources/read"] == {"Bearer for-bob-1"}
        assert "user:eve" not in up.recorded()
    assert all(thread.startswith("toolhub-") for _, thread in seen), seen
    callers = [principal for principal, _ in seen if principal is not None]
    assert not any("token" in repr(principal) for principal in callers)


async def test_headers_of_a_function_that_cannot_be_sent_are_refused() -> None:
    """Each is an error that shows no value; the client's own token never leaves, however the function got it."""
    seen: dict[str, str] = {}

    def authenticate(token: str | None, _: dict[str, str]) -> Any:
        # Each case is a caller of its own: a connection that failed is not tried again at once.
        seen["token"] = token or ""
        return {"name": seen["token"].removeprefix("incoming-token-of-")}

    answers: dict[str, tuple[Any, str]] = {
        "own": (lambda: {"X-Copy": f"Bearer {seen['token']}"}, "returned the caller's own token"),
        "break": (lambda: {"X-A": "hunter2\r\nX-Evil: 1"}, "contains characters not allowed in a header"),
        "session": (lambda: {"Mcp-Session-Id": "hunter2"}, "which it may not set"),
        "number": (lambda: {"X-A": 5}, "must return a mapping of texts"),
        "raises": (lambda: {}[seen["token"]], "The headers function of server 'up' failed: KeyError"),
        "none": (lambda: None, "is closed to 'user:none'"),
    }
    with upstream("mcp2") as up:
        hub = ToolHub()

        def headers(principal: Principal | None) -> Any:
            return None if principal is None else answers[principal.name][0]()

        hub.add_server("up", url=up.url, headers=headers)
        async with hub, served(hub, authenticate=authenticate) as at:
            for case, (_, expected) in answers.items():
                refused = (await call(at.url, "whoami", f"incoming-token-of-{case}")).result
                assert refused["isError"], case
                text = refused["content"][0]["text"]
                assert expected in text, case
                assert "incoming-token-of" not in text
                assert "hunter2" not in text
        recorded = up.recorded().lower()
    assert "incoming-token-of" not in recorded
    assert "x-evil" not in recorded


async def test_claims_never_carry_the_clients_own_token_upstream() -> None:
    def authenticate(token: str | None, _: dict[str, str]) -> Any:
        return {"name": "ann", "claims": {"raw": token}, "upstream_token": "upstream-of-ann"}

    with upstream("mcp2") as up:
        hub = ToolHub()
        hub.add_server("up", url=up.url, headers={"X-User": "{principal.claims.raw}"})
        async with hub, served(hub, authenticate=authenticate) as at:
            refused = (await call(at.url, "whoami", "incoming-token-of-ann")).result
            assert "would forward the token of caller 'user:ann'" in refused["content"][0]["text"]
        assert "incoming-token-of-ann" not in up.recorded()


def test_a_function_of_headers_needs_a_url_and_no_auth() -> None:
    with pytest.raises(ValueError, match="headers are for a server with a url"):
        ToolHub().add_server("up", command="server", headers=lambda _: {})
    with pytest.raises(ValueError, match="leave out auth"):
        ToolHub().add_server("up", url="https://up.example/mcp", headers=lambda _: {}, auth="key")


async def test_a_server_that_gets_a_function_later_uses_it() -> None:
    with upstream("mcp2") as up:
        async with ToolHub() as hub:
            hub.add_server("up", url=up.url)
            assert json.loads((await hub.execute("whoami")).text)["user"] is None
            hub.add_server("up", url=up.url, headers=lambda _: {"X-User": "later"})
            assert json.loads((await hub.execute("whoami")).text)["user"] == "later"
            hub.add_server("up", url=up.url)
            assert json.loads((await hub.execute("whoami")).text)["user"] is None


async def test_a_function_assigns_tokens_and_claims() -> None:
    def authenticate(token: str | None, _: dict[str, str]) -> Any:
        if token == "evil":
            return {"name": "evil", "claims": {"team": "a\r\nX-Evil: 1"}, "upstream_token": "x"}
        return {"name": token, "claims": {"team": 7}, "upstream_token": {"up": f"for-{token}-{len(issued)}"}}

    issued: list[int] = []
    with upstream("mcp2") as up:
        hub = ToolHub()
        headers = {"Authorization": "Bearer {principal.token}", "X-User": "team {principal.claims.team}"}
        hub.add_server("up", url=up.url, headers=headers)
        async with hub, served(hub, authenticate=authenticate) as at:
            first = json.loads((await call(at.url, "whoami", "ann")).content)
            assert first == {"authorization": "Bearer for-ann-0", "user": "team 7"}
            issued.append(1)
            assert "for-ann-1" in (await call(at.url, "whoami", "ann")).content
            refused = (await call(at.url, "whoami", "evil")).result
            assert refused["isError"]
            assert "would contain invalid characters" in refused["content"][0]["text"]
        assert "x-evil" not in up.recorded().lower()


async def test_cached_and_shared_results_belong_to_one_caller() -> None:
    """Also those of calls that a native tool makes for its caller."""
    with upstream("mcp2") as up:
        hub = ToolHub()
        hub.add_server("up", url=up.url, headers={"Authorization": "Bearer {principal.token}"})

        @hub.tool
        async def inner(word: str) -> str:
            found = await hub.execute("count", {"word": word}, cache_ttl=600, single_flight=True)
            return found.text

        async with hub, served(hub, token=TOKENS) as at:
            seen = [
                (await call(at.url, "inner", f"incoming-of-{name}", word="w")).content
                for name in ("ann", "bob", "ann", "bob")
            ]
        assert seen == [f"Bearer upstream-of-{name} w 1" for name in ("ann", "bob", "ann", "bob")]


@pytest.fixture(scope="module")
def issuer() -> Generator[AuthorizationServer]:
    with authorization_server() as server:
        yield server


@pytest.mark.parametrize("environment", ERAS)
async def test_tokens_of_callers_are_exchanged_for_ones_of_the_server(
    environment: str, issuer: AuthorizationServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (ann, name_of_ann), (bob, name_of_bob) = issuer.login("ann"), issuer.login("bob")
    audit = tmp_path / "audit.ndjson"
    jwt = {"jwks": f"{issuer.url}/jwks.json", "issuer": issuer.url, "audience": "gateway"}
    with upstream(environment) as up, caplog.at_level("DEBUG"):
        hub = ToolHub()
        hub.add_server("up", url=up.url, auth=exchange(issuer, scope="tools"))
        async with hub, served(hub, jwt=jwt, audit=audit) as at:

            async def used(token: str) -> str:
                return json.loads((await call(at.url, "whoami", token)).content)["authorization"].split()[1]

            before = issuer.get("/issued")
            first = await used(ann)
            claims = claims_of(first)
            assert (claims["sub"], claims["aud"]) == (name_of_ann, ["https://up.example"])
            assert await used(ann) == first  # kept until it ends
            assert claims_of(await used(bob))["sub"] == name_of_bob
            assert issuer.get("/issued") == before + 2
            up.revoke()
            again = await used(ann)
            assert again != first  # exchanged once more after 401
            assert claims_of(again)["sub"] == name_of_ann
            assert "takes its credentials from the caller" in str((await hub.execute("whoami")).error)
        recorded = up.recorded()
    for token in (ann, bob):
        assert all(token not in text for text in (recorded, caplog.text, audit.read_text()))
    grant = "urn:ietf:params:oauth:grant-type:token-exchange"
    exchanges = [form for form in issuer.get("/forms") if form["grant_type"] == grant]
    assert exchanges[-1]["scope"] == "tools"


async def test_a_token_that_cannot_be_exchanged_is_an_error_without_the_token(
    issuer: AuthorizationServer,
) -> None:
    with upstream("mcp2") as up:
        for number, options in enumerate(({"client_secret": "wrong-secret"}, {})):
            hub = ToolHub()
            hub.add_server("up", url=up.url, auth=exchange(issuer, **options))
            async with hub, served(hub, token={"ann": f"not-of-the-issuer-{number}"}) as at:
                refused = (await call(at.url, "whoami", f"not-of-the-issuer-{number}")).result
                text = refused["content"][0]["text"]
                assert refused["isError"]
                why = "refused this client" if options else "gave no token"
                assert f"The authorization server '{issuer.url}' {why} (HTTP 4" in text
                assert not any(
                    secret in text for secret in ("not-of-the-issuer", "wrong-secret", "secret-of")
                )
        assert "not-of-the-issuer" not in up.recorded()


def test_unknown_placeholders_are_refused() -> None:
    for wrong in ("{principal.tokn}", "{principal.claims.}", "{principal.token"):
        with pytest.raises(ValueError, match="unknown placeholder"):
            ToolHub().add_server("up", url="https://up.example/mcp", headers={"Authorization": wrong})
