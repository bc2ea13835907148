"""A tool is what the view of its caller shows of it, wherever it appears; an error tells a caller nothing of what is hidden."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from support.gateway import Reply, ask, call, served
from support.warm import warm
from toolhub import ToolHub

from .test_serving import HERE

pytestmark = pytest.mark.anyio
ANN, BOB, ADMIN = "a" * 20, "b" * 20, "c" * 20
PUBLIC: dict[str, Any] = {"tools": ["public/*"], "token": ANN}


def add(hub: ToolHub, name: str, *header: str) -> None:
    command, *args = *warm("mcp1"), str(HERE / "look_server.py"), name, *header
    hub.add_server(name, command=command, args=args)


@pytest.mark.parametrize("mode", ["off", "on"])
async def test_every_method_speaks_of_the_provider_that_the_view_shows(mode: str) -> None:
    with ToolHub() as hub:
        add(hub, "hidden", "Secret-Region")
        add(hub, "public")
        await hub.connect()
        views = {"some": PUBLIC | {"search_mode": mode, "core": ["look"]}}
        async with served(hub, token={"bob": BOB}, views=views) as own:
            url = f"{own.url}/some"
            listed = await ask(url, "tools/list", token=ANN)
            described = await ask(url, "tools/describe", {"name": "look"}, ANN)
            said = [await call(url, "look", ANN, region="Oslo")]
            if mode == "on":
                arguments = {"name": "look", "arguments": {"region": "Oslo"}}
                said.append(await call(url, "call_tool", ANN, **arguments))
                found = await call(url, "search_tools", ANN, query="look around")
                shown = await call(url, "describe_tool", ANN, name="look")
                assert (
                    found.result["structuredContent"]["tools"][0]["description"] == "Looks around, by public."
                )
                assert shown.result["structuredContent"]["tool"] == described.result["tool"]
            elsewhere = await call(own.url, "look", BOB, region="Oslo")
    assert listed.result["tools"][-1] == described.result["tool"]
    assert described.result["tool"]["description"] == "Looks around, by public."
    assert "x-mcp-header" not in described.text
    assert [reply.content for reply in said] == ["public looked at Oslo"] * len(said)
    # Who sees both is shown the first one, and has to repeat what its schema says.
    assert elsewhere.message["error"]["message"].endswith("the header Mcp-Param-Secret-Region is missing")


def texts(*replies: Reply) -> list[str]:
    """What a client reads of these failures."""
    return [
        reply.message["error"]["message"] if "error" in reply.message else reply.content for reply in replies
    ]


async def failures(url: str, token: str | None) -> list[str]:
    """A call, a resource and a prompt, each of which ends the server."""
    called = await call(url, "look", token, region="nowhere")
    read = await ask(url, "resources/read", {"uri": "toolhub://billing-internal/note://end"}, token)
    got = await ask(url, "prompts/get", {"name": "end"}, token)
    return texts(called, read, got)


async def test_a_caller_learns_nothing_of_servers_and_others(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "toolhub.mcp")
    with ToolHub() as hub:
        add(hub, "billing-internal")
        await hub.connect()
        views = {"work": {"tools": ["look"], "resources": ["*"], "prompts": ["*"], "token": ANN}}
        async with served(hub, token={"bob": BOB}, views=views) as own:
            said = await failures(f"{own.url}/work", ANN) + await failures(own.url, BOB)
    for text in said:
        assert not [word for word in ("billing", "bob", "/srv", "code 3") if word in text], text
    assert said[0] == "The connection to the tool's server was lost. It may still have run."
    # The operator reads all of it.
    assert "could not settle the invoice of bob" in caplog.text


async def test_the_only_caller_reads_all() -> None:
    with ToolHub() as hub:
        add(hub, "billing-internal")
        await hub.connect()
        async with served(hub) as own:
            called = await call(own.url, "look", region="nowhere")
    assert "Server 'billing-internal' exited with code 3" in called.content
    assert "could not settle the invoice of bob" in called.content


async def test_a_view_with_a_token_is_for_its_callers_alone() -> None:
    ran: list[str] = []
    with ToolHub() as hub:

        @hub.tool
        def read_note() -> str:
            return "a note"

        @hub.tool
        def delete_note() -> str:
            ran.append("delete_note")
            return "deleted"

        views: dict[str, Any] = {
            "default": {"tools": ["read_*"]},
            "admin": {"tools": ["*"], "token": ADMIN},
            "open": {"tools": ["read_note"]},
        }
        async with served(hub, token={"bob": BOB}, views=views) as own:

            async def names(url: str, token: str) -> list[str] | int:
                reply = await ask(url, "tools/list", token=token)
                return (
                    [tool["name"] for tool in reply.result["tools"]] if reply.status == 200 else reply.status
                )

            seen = [await names(f"{own.url}{path}", BOB) for path in ("", "/default", "/open", "/admin")]
            of_admin = [await names(f"{own.url}{path}", ADMIN) for path in ("", "/admin", "/open")]
            refused = await call(f"{own.url}/admin", "delete_note", BOB)
    assert seen == [["read_note"], ["read_note"], ["read_note"], 404]
    assert of_admin == [["delete_note", "read_note"], ["delete_note", "read_note"], 404]
    assert (refused.status, ran) == (404, [])
