"""Resources, prompts, completion and logs of servers, through a served hub: with clients and servers that are not ours."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.gateway import LegacyClient, send
from support.warm import warm
from toolhub import ToolHub
from toolhub.serving import Serving

from .test_serving import HERE, post

pytestmark = pytest.mark.anyio
SUITE = HERE.parents[1] / "mcp" / "conformance"
NAMES = [
    "test_simple_prompt",
    "test_prompt_with_arguments",
    "test_prompt_with_embedded_resource",
    "test_prompt_with_image",
]


def program(environment: str, path: Path) -> dict[str, Any]:
    """The options of `add_server` for a server."""
    command, *args = warm(environment)
    return {"command": command, "args": [*args, str(path)]}


def upstream(era: str) -> dict[str, Any]:
    return program({"legacy": "mcp1", "modern": "mcp2"}[era], SUITE / f"upstream_{era}.py")


@contextmanager
def hub_of(**servers: dict[str, Any]) -> Iterator[ToolHub]:
    with ToolHub() as hub:
        for name, options in servers.items():
            hub.add_server(name, **options)
        yield hub


@asynccontextmanager
async def served(hub: ToolHub, **options: Any) -> AsyncIterator[str]:
    started: asyncio.Future[Serving] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(hub.aserve("http", port=0, ready=started.set_result, **options))
    serving = await asyncio.wait_for(started, 30)
    try:
        yield serving.url
    finally:
        serving.stop()
        await asyncio.wait_for(task, 30)


async def ask(url: str, method: str, params: Any = None, **headers: str) -> Any:
    """The answer to one modern request."""
    if params and "uri" in params:
        headers["Mcp-Name"] = params["uri"]
    _, answer = await asyncio.to_thread(post, url, method, params, **headers)
    return answer


@pytest.mark.parametrize("client", ["mcp1", "mcp2"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_clients_of_both_generations_see_what_a_server_offers(client: str, era: str) -> None:
    with hub_of(upstream=upstream(era)) as hub:
        await hub.connect()
        async with served(hub) as url:
            command = [*warm(client), str(HERE / "offer_client.py"), url]
            done = await asyncio.to_thread(
                subprocess.run, command, capture_output=True, text=True, timeout=60
            )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    # What servers of this kind say about a resource that is not there.
    assert "not found" in seen.pop("missing").lower()
    asking = ["test_input_required_result_prompt"] if era == "modern" else []
    assert seen == {
        "resources": ["test://static-binary", "test://static-text", "test://watched-resource"],
        "templates": "test://template/{id}/data",
        "prompts": sorted(NAMES + asking),
        "text": "This is the content of the static text resource.",
        "from template": '{"id": "7", "templateTest": true, "data": "Data for ID: 7"}',
        "prompt": "Prompt with arguments: arg1='one', arg2='two'",
        "completion": ["paris", "park", "party"],
    }


async def test_what_two_servers_have_is_told_apart() -> None:
    with hub_of(one=upstream("legacy"), two=upstream("modern")) as hub:
        await hub.connect()
        async with served(hub) as url:
            listed = (await ask(url, "resources/list"))["result"]["resources"]
            uris = {resource["uri"] for resource in listed}
            assert uris >= {"toolhub://one/test://static-text", "toolhub://two/test://static-text"}
            assert "test://static-text" not in uris
            for uri in ("toolhub://one/test://static-text", "toolhub://two/test://template/7/data"):
                (content,) = (await ask(url, "resources/read", {"uri": uri}))["result"]["contents"]
                assert content["uri"] == uri
            refused = (await ask(url, "resources/read", {"uri": "test://static-text"}))["error"]
            assert refused["code"] == -32602
            assert "toolhub://one/test://static-text" in refused["message"]
            prompts = [one["name"] for one in (await ask(url, "prompts/list"))["result"]["prompts"]]
            # Only one server has it.
            assert "test_input_required_result_prompt" in prompts
            assert {"one__test_simple_prompt", "two__test_simple_prompt"} <= set(prompts)
            got = await ask(url, "prompts/get", {"name": "two__test_simple_prompt"})
            assert got["result"]["messages"][0]["content"]["type"] == "text"


async def test_a_view_of_some_tools_shows_resources_only_if_it_names_their_servers() -> None:
    views: Any = {
        "closed": {"tools": ["test_*"]},
        "open": {"tools": ["test_*"], "resources": ["up*"], "prompts": []},
    }
    with hub_of(upstream=upstream("legacy")) as hub:
        await hub.connect()
        async with served(hub, views=views) as url:
            closed, opened = f"{url}/closed", f"{url}/open"
            read = {"uri": "test://static-text"}
            for method, params in [
                ("resources/list", None),
                ("prompts/list", None),
                ("resources/read", read),
            ]:
                assert (await ask(closed, method, params))["error"]["code"] == -32601
            found = await ask(closed, "server/discover")
            assert set(found["result"]["capabilities"]) == {"tools", "extensions"}
            found = (await ask(opened, "server/discover"))["result"]["capabilities"]
            assert "resources" in found
            assert "prompts" not in found
            assert (await ask(opened, "resources/read", read))["result"]["contents"]
            assert (await ask(opened, "prompts/list"))["error"]["code"] == -32601


async def test_a_hub_without_such_servers_has_no_such_methods() -> None:
    with ToolHub() as hub:
        async with served(hub) as url:
            found = await ask(url, "server/discover")
            tasks = {"io.modelcontextprotocol/tasks": {}}
            assert found["result"]["capabilities"] == {"tools": {"listChanged": True}, "extensions": tasks}
            for method in (
                "resources/list",
                "resources/templates/list",
                "prompts/list",
                "completion/complete",
            ):
                assert (await ask(url, method))["error"]["code"] == -32601


async def test_a_servers_own_error_reaches_the_client() -> None:
    with hub_of(upstream=upstream("modern")) as hub:
        await hub.connect()
        async with served(hub) as url:
            refused = (await ask(url, "tools/call", {"name": "test_missing_capability"}))["error"]
            assert refused == {
                "code": -32021,
                "message": "This tool needs the capability 'sampling'",
                "data": {"requiredCapabilities": {"sampling": {}}},
            }
            missing = (await ask(url, "resources/read", {"uri": "test://nowhere"}))["error"]
            assert missing == {
                "code": -32602,
                "message": "Resource not found",
                "data": {"uri": "test://nowhere"},
            }
            unknown = (await ask(url, "prompts/get", {"name": "nothing"}))["error"]
            assert (unknown["code"], unknown["message"]) == (-32602, "Unknown prompt: nothing")


async def test_a_tool_may_return_content_blocks() -> None:
    picture = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}
    with ToolHub() as hub:

        @hub.tool
        def look() -> Any:
            return [{"type": "text", "text": "see"}, picture]

        @hub.tool
        def mixed() -> Any:
            return ["see", picture, "there"]

        @hub.tool
        def texts() -> Any:
            return ["see", "there"]

        @hub.tool
        def typed() -> Any:
            return {"type": "image", "size": 3}

        async with served(hub) as url:
            looked = (await ask(url, "tools/call", {"name": "look"}))["result"]
            assert looked["content"] == [{"type": "text", "text": "see"}, picture]
            told = (await ask(url, "tools/call", {"name": "mixed"}))["result"]
            assert told["content"] == [looked["content"][0], picture, {"type": "text", "text": "there"}]
            data = (await ask(url, "tools/call", {"name": "texts"}))["result"]
            assert data["content"] == [{"type": "text", "text": '["see","there"]'}]
            plain = (await ask(url, "tools/call", {"name": "typed"}))["result"]
            assert plain["structuredContent"] == {"type": "image", "size": 3}


async def test_a_legacy_server_is_told_the_lowest_level_that_a_client_wants() -> None:
    """Each client sees what it asked for; when the one that wants most has gone, the server logs less."""
    with hub_of(logging=program("mcp1", HERE / "logging_server.py")) as hub:
        async with served(hub) as url:
            quiet, curious = LegacyClient(url), LegacyClient(url)
            for client in (quiet, curious):
                await client.start()
            assert (await quiet.call("levels")).content == ""
            await quiet.ask("logging/setLevel", {"level": "error"})
            assert (await quiet.call("levels")).content == "error"
            await curious.ask("logging/setLevel", {"level": "debug"})
            heard, unheard = await curious.call("levels"), await quiet.call("levels")
            assert (heard.content, unheard.content) == ("error,debug", "error,debug")
            assert "a detail" in heard.text
            assert "a detail" not in unheard.text
            headers = {"Mcp-Session-Id": curious.session}
            assert (await asyncio.to_thread(send, url, "DELETE", None, headers)).status == 204
            while (await quiet.call("levels")).content != "error,debug,error":
                await asyncio.sleep(0.01)
            # A server that is connected later hears of it, too.
            hub.add_server("later", **program("mcp1", HERE / "logging_server.py"), prefix="later_")
            assert (await quiet.call("later_levels")).content == "error"
