"""MCP Apps (2026-01-26) through a hub: whose interface it is, which tools are for it, and who hears that a client shows it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.gateway import LegacyClient, Reply, ask, served
from toolhub import ToolHub

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).with_name("app_server.py")
UI: dict[str, Any] = {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}
SHOWS_APPS: dict[str, Any] = {"io.modelcontextprotocol/clientCapabilities": {"extensions": UI}}


def hub_with(folder: Path, *names: str) -> ToolHub:
    hub = ToolHub()
    for name in names:
        hub.add_server(name, command=sys.executable, args=[str(SERVER), name, str(folder)])
    return hub


def received(folder: Path, server: str, method: str) -> list[Any]:
    """The parameters of such messages that the server has got."""
    messages = [json.loads(line) for line in (folder / server).read_text().splitlines()]
    return [message["params"] for message in messages if message.get("method") == method]


async def ask_with(url: str, method: str, meta: dict[str, Any], **params: Any) -> Reply:
    return await ask(url, method, {**params, "_meta": meta})


async def tools(url: str, meta: dict[str, Any]) -> dict[str, Any]:
    listed = (await ask_with(url, "tools/list", meta)).result["tools"]
    return {tool["name"]: tool for tool in listed}


async def test_tools_for_apps_are_not_offered_to_models(tmp_path: Path) -> None:
    async with hub_with(tmp_path, "left") as hub:
        await hub.connect()
        assert "show_left" in hub.system_prompt()
        assert "poll_left" not in hub.system_prompt()
        for exported in (hub.as_openai(), hub.as_anthropic(), hub.as_gemini()):
            assert "show_left" in json.dumps(exported)
            assert "poll_left" not in json.dumps(exported)
        assert "poll_left" not in [hit.name for hit in hub.search("poll left")]
        # The program may call it, as an app may.
        assert (await hub.execute("poll_left")).text == "poll_left of left"


async def test_clients_that_show_apps_have_the_tools_for_them(tmp_path: Path) -> None:
    async with hub_with(tmp_path, "left") as hub, served(hub) as at:
        shown, plain = await tools(at.url, SHOWS_APPS), await tools(at.url, {})
        assert set(shown) - set(plain) == {"poll_left"}
        assert shown["poll_left"]["_meta"] == {"ui": {"visibility": ["app"]}}
        for name in ("poll_left", "left__poll_left"):
            called = await ask_with(at.url, "tools/call", SHOWS_APPS, name=name)
            assert called.content == "poll_left of left"
            refused = await ask_with(at.url, "tools/call", {}, name=name)
            assert refused.message["error"] == {"code": -32602, "message": f"Unknown tool: {name}"}


async def test_search_mode_is_for_models(tmp_path: Path) -> None:
    async with hub_with(tmp_path, "left") as hub, served(hub, search_mode="on") as at:

        async def by_model(tool: str, **arguments: Any) -> Any:
            params = {"name": tool, "arguments": arguments}
            return (await ask_with(at.url, "tools/call", SHOWS_APPS, **params)).message

        found = (await by_model("search_tools", query="poll left"))["result"]["structuredContent"]["tools"]
        assert [tool["name"] for tool in found if tool["name"].startswith("poll")] == []
        assert (await by_model("describe_tool", name="poll_left"))["result"]["isError"]
        assert (await by_model("call_tool", name="poll_left"))["error"]["code"] == -32602
        assert (await by_model("poll_left"))["result"]["content"][0]["text"] == "poll_left of left"


@pytest.mark.parametrize("names", [("left", "right"), ("left",)], ids=["two-servers", "one-server"])
async def test_tools_name_the_interfaces_as_the_list_does(names: tuple[str, ...], tmp_path: Path) -> None:
    async with hub_with(tmp_path, *names) as hub, served(hub) as at:
        shown = await tools(at.url, SHOWS_APPS)
        for name in names:
            meta = shown[f"show_{name}"]["_meta"]
            uri = meta["ui"]["resourceUri"]
            assert uri == meta["ui/resourceUri"] == f"ui://toolhub/{name}/panel/main.html"
            (content,) = (await ask(at.url, "resources/read", {"uri": uri})).result["contents"]
            assert content["text"] == f"<b>{name}</b>"
            assert content["uri"] == uri
        listed = (await ask(at.url, "resources/list")).result["resources"]
        assert {one["uri"] for one in listed} == {f"ui://toolhub/{name}/panel/main.html" for name in names}


async def test_servers_hear_that_clients_show_apps(tmp_path: Path) -> None:
    async with hub_with(tmp_path, "left") as hub, served(hub) as at:
        await tools(at.url, {})
    (hello,) = received(tmp_path, "left", "initialize")
    assert hello["capabilities"]["extensions"] == UI


async def test_a_hub_that_serves_nobody_shows_no_apps(tmp_path: Path) -> None:
    async with hub_with(tmp_path, "left") as hub:
        await hub.connect()
    (hello,) = received(tmp_path, "left", "initialize")
    assert "extensions" not in hello["capabilities"]


MODERN_SERVER = """
import json, sys
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    told = message["params"]["_meta"][CAPABILITIES].get("extensions", {})
    result = {
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
        "tools/list": {"tools": [{"name": "look", "inputSchema": {"type": "object"}, "description": json.dumps(told)}]},
        "tools/call": {"content": [{"type": "text", "text": json.dumps(told)}]},
    }[message["method"]]
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"resultType": "complete", **result}}), flush=True)
"""


async def test_modern_servers_hear_what_the_client_of_a_call_shows() -> None:
    own: dict[str, Any] = {**UI, "com.example/own": {"level": 2}}
    async with ToolHub() as hub:
        hub.add_server("modern", command=sys.executable, args=["-c", MODERN_SERVER])
        async with served(hub) as at:
            meta = {"io.modelcontextprotocol/clientCapabilities": {"extensions": own}}
            told = json.loads((await ask_with(at.url, "tools/call", meta, name="look")).content)
            assert {name: told.get(name) for name in own} == own
            told = json.loads((await ask_with(at.url, "tools/call", {}, name="look")).content)
            assert not set(own) & set(told)
            # A list is for all clients.
            listed = json.loads((await tools(at.url, {}))["look"]["description"])
            assert listed["io.modelcontextprotocol/ui"] == UI["io.modelcontextprotocol/ui"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_extensions_of_servers_are_announced(tmp_path: Path, era: str) -> None:
    async with hub_with(tmp_path, "left", "right") as hub, served(hub) as at:
        await hub.connect()
        greeted = LegacyClient(at.url).start() if era == "legacy" else ask(at.url, "server/discover")
        extensions = (await greeted).result["capabilities"]["extensions"]
        own = {name: settings for name, settings in extensions.items() if name.startswith("com.example/")}
        assert own == {"com.example/left": {"level": 1}, "com.example/right": {"level": 1}}
