"""Names that tell their server mean that server, whatever another one lists."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from support.gateway import ask, served
from support.warm import warm
from toolhub import ToolError, ToolHub

from .test_serving import HERE

pytestmark = pytest.mark.anyio
TOKENS = {"ann": "a" * 20}

CLIENT = """
import asyncio, json, sys
from pydantic import AnyUrl
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

async def main():
    async with streamablehttp_client(sys.argv[1]) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            resources = [str(one.uri) for one in (await session.list_resources()).resources]
            prompts = [one.name for one in (await session.list_prompts()).prompts]
            read = await session.read_resource(AnyUrl("toolhub://good/note://one"))
            got = await session.get_prompt("good__greet")
            print(json.dumps([resources, prompts, read.contents[0].text, got.messages[0].content.text]))

asyncio.run(main())
"""


@contextmanager
def hub_of(environment: str, *names: str) -> Generator[ToolHub]:
    with ToolHub() as hub:
        for name in names:
            command, *args = warm(environment)
            hub.add_server(name, command=command, args=[*args, str(HERE / f"{name}_server.py")])
        yield hub


async def texts(url: str, *keys: str) -> list[str]:
    """What the resources and prompts of these names say."""
    said: list[str] = []
    for key in keys:
        method, member = ("resources/read", "uri") if "://" in key else ("prompts/get", "name")
        reply = (await ask(url, method, {member: key})).message
        if "error" in reply:
            said.append(str(reply["error"]["code"]))
        elif member == "uri":
            said.append(reply["result"]["contents"][0]["text"])
        else:
            said.append(reply["result"]["messages"][0]["content"]["text"])
    return said


@pytest.mark.parametrize("environment", ["mcp1", "mcp2"])
@pytest.mark.parametrize("order", [("evil", "good"), ("good", "evil")])
async def test_a_server_cannot_take_over_the_names_of_another(
    environment: str, order: tuple[str, str]
) -> None:
    with hub_of(environment, *order) as hub:
        await hub.connect()
        async with served(hub) as own:
            listed = {}
            for kind in ("resources", "prompts"):
                reply = await ask(own.url, f"{kind}/list")
                listed[kind] = {one.get("uri", one["name"]) for one in reply.result[kind]}
            templates = (await ask(own.url, "resources/templates/list")).result["resourceTemplates"]
            read = await texts(own.url, "toolhub://good/note://one", "good__greet")
            whole = await texts(own.url, "toolhub://good/own", "good__bye", "evil://own", "own")
        notices = {server.id: server.notices for server in hub.servers()}
    assert listed["resources"] == {"note://one", "toolhub://good/own", "evil://own"}
    assert listed["prompts"] == {"greet", "good__bye", "own"}
    assert templates == []
    assert read == ["good has this", "good greets"]
    assert whole == ["good has this too", "good says bye", "evil has this", "evil has this"]
    assert sorted(notices["evil"]) == [
        "'good__greet' is left out: it is a name of server 'good'",
        "'toolhub://good/note://one' is left out: it is a name of server 'good'",
        "'toolhub://good/{path}' is left out: it is a name of server 'good'",
    ]
    assert notices["good"] == []


async def test_the_client_of_the_sdk_reads_from_the_right_server() -> None:
    with hub_of("mcp1", "evil", "good") as hub:
        await hub.connect()
        async with served(hub) as own:
            command = [*warm("mcp1"), "-c", CLIENT, own.url]
            done = await asyncio.to_thread(
                subprocess.run, command, capture_output=True, text=True, timeout=60
            )
    assert done.returncode == 0, done.stderr
    resources, prompts, read, got = json.loads(done.stdout)
    assert "toolhub://good/note://one" not in resources
    assert "good__greet" not in prompts
    assert (read, got) == ("good has this", "good greets")


async def test_a_hidden_server_keeps_its_names() -> None:
    """Nobody answers for it: the name is unknown, as if no server had it."""
    views: dict[str, Any] = {"some": {"tools": [], "resources": ["evil"], "prompts": ["evil"]}}
    with hub_of("mcp1", "evil", "good") as hub:
        await hub.connect()
        async with served(hub, views=views) as own:
            said = await texts(f"{own.url}/some", "toolhub://good/note://one", "good__greet", "evil://own")
    assert said == ["-32602", "-32602", "evil has this"]


async def test_a_name_means_its_server_before_anything_is_listed() -> None:
    with hub_of("mcp1", "evil", "good") as hub:
        async with served(hub) as own:
            said = await texts(own.url, "toolhub://good/note://one", "good__greet", "toolhub://good/own")
    assert said == ["good has this", "good greets", "good has this too"]


async def test_a_program_reads_them_from_the_right_server_too() -> None:
    with hub_of("mcp1", "evil", "good") as hub:
        await hub.connect()
        [read] = await hub.resources.read("toolhub://good/note://one")
        got = await hub.prompts.get("good__greet")
        with pytest.raises(ToolError, match="No server lists"):
            await hub.resources.read("toolhub://evil2/note://one")
    assert (read.server, read.text) == ("good", "good has this")
    assert got.server == "good"
