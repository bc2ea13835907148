"""Lists of servers behind a served hub: slow ones, hanging ones, and those that cannot be listed."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.gateway import ask, call, served
from toolhub import ToolHub

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).with_name("listing_server.py")
SECONDS = 30


def hub_with(folder: Path, fault: str, **options: Any) -> ToolHub:
    """A hub with a tool of its own and one server."""
    hub = ToolHub(**options)
    hub.register(len, name="measure", description="The length.")
    hub.add_server("lister", command=sys.executable, args=[str(SERVER), str(folder), fault])
    return hub


def requests(folder: Path) -> list[str]:
    log = folder / "requests"
    return log.read_text().split() if log.exists() else []


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


async def names(url: str) -> list[str]:
    return [tool["name"] for tool in (await ask(url, "tools/list")).result["tools"]]


def leave_early(url: str) -> None:
    """A client that asks for the tools and is gone before the answer."""
    host, _, port = url.removeprefix("http://").partition("/")[0].partition(":")
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    head = f"POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\naccept: application/json\r\n"
    with socket.create_connection((host, int(port))) as client:
        client.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())


async def test_a_client_that_leaves_does_not_stop_the_first_list(tmp_path: Path) -> None:
    async with hub_with(tmp_path, "slow") as hub, served(hub) as serving:
        # One that is gone before its request is read has asked for nothing.
        while "tools/list" not in requests(tmp_path):
            await asyncio.to_thread(leave_early, serving.url)
            await asyncio.sleep(0.05)
        asking = asyncio.ensure_future(names(serving.url))
        (tmp_path / "go").touch()
        assert sorted(await asking) == ["late_tool", "measure"]
        assert requests(tmp_path).count("tools/list") == 1, "one list for all who ask"


async def test_a_server_that_hangs_is_left_out_and_announced_when_it_answers(tmp_path: Path) -> None:
    async with hub_with(tmp_path, "slow", limits={"lookup_timeout": 0.3}) as hub, served(hub) as serving:
        assert await names(serving.url) == ["measure"]
        while "tools/list" not in requests(tmp_path):
            await asyncio.sleep(0.01)
        # From now on no client waits for it, and none asks it again.
        assert [await names(serving.url) for _ in range(3)] == [["measure"]] * 3
        assert requests(tmp_path).count("tools/list") == 1
        reader, writer = await asyncio.open_connection(serving.host, serving.port)
        writer.write(b"GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n")
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SECONDS)
        (tmp_path / "go").touch()
        heard = b""
        while b"notifications/tools/list_changed" not in heard:
            heard += await asyncio.wait_for(reader.readline(), SECONDS)
        writer.close()
        assert sorted(await names(serving.url)) == ["late_tool", "measure"]
        assert (await call(serving.url, "late_tool")).content == "called"


async def test_a_call_names_the_server_that_cannot_list_its_tools(tmp_path: Path) -> None:
    views = {"few": {"tools": ["late_*"]}}
    async with hub_with(tmp_path, "refuses") as hub, served(hub, views=views) as serving:
        assert await names(serving.url) == ["measure"]
        failed = (await call(serving.url, "late_tool")).result
        assert failed["isError"]
        text = failed["content"][0]["text"]
        assert text.startswith("There is no tool named 'late_tool'. Some servers could not be asked: "), text
        assert "Server 'lister'" in text
        assert "the catalogue is on fire" in text
        # A view that shows some tools only does not tell of servers.
        few = f"{serving.url}/few"
        refused = (await call(few, "late_tool")).message["error"]
        assert refused == {"code": -32602, "message": "Unknown tool: late_tool"}


async def test_a_call_waits_for_the_list_that_is_on_its_way(tmp_path: Path) -> None:
    async with hub_with(tmp_path, "slow") as hub, served(hub) as serving:
        calling = asyncio.ensure_future(call(serving.url, "late_tool"))
        await until(lambda: "tools/list" in requests(tmp_path))
        (tmp_path / "go").touch()
        assert (await calling).content == "called"
        assert requests(tmp_path).count("tools/list") == 1


def annotated_hub() -> ToolHub:
    hub = ToolHub()

    @hub.tool(effects=True)
    def get_ticket() -> str:
        "Takes the next ticket, and pays for it."
        return "ticket"

    @hub.tool(read_only=True, idempotent=True)
    def stock(item: str) -> int:
        "The stock of an item."
        return len(item)

    @hub.tool
    def weigh(item: str) -> int:
        "The weight of an item."
        return len(item)

    return hub


async def annotations(url: str) -> dict[str, Any]:
    tools = (await ask(url, "tools/list")).result["tools"]
    return {tool["name"]: tool.get("annotations") for tool in tools}


async def test_what_is_declared_of_effects_is_served() -> None:
    async with annotated_hub() as hub, served(hub) as serving:
        assert await annotations(serving.url) == {
            "get_ticket": {"readOnlyHint": False},
            "stock": {"readOnlyHint": True, "idempotentHint": True},
            "weigh": None,
        }
        # A hub further on is as careful, and serves it on.
        async with ToolHub() as outer:
            outer.add_server("inner", url=serving.url)
            await outer.connect()
            assert [outer.get(name).safety for name in ("get_ticket", "stock")] == ["may_act", "harmless"]
            async with served(outer) as further:
                assert (await annotations(further.url))["get_ticket"] == {"readOnlyHint": False}


async def test_a_claim_that_the_hub_does_not_believe_is_not_served(tmp_path: Path) -> None:
    script = tmp_path / "claims.py"
    script.write_text(CLAIMS)
    async with ToolHub() as hub:
        for server, options in (("doubted", {"trust": "none"}), ("declared", {"effects": False})):
            hub.add_server(server, command=sys.executable, args=[str(script), server], **options)
        hub.register(lambda: 1, name="peek", effects=True)
        async with served(hub) as serving:
            found = await annotations(serving.url)
    assert found["delete_doubted"] == found["item_doubted"] == {"readOnlyHint": False, "title": "T"}
    assert found["delete_declared"] == found["item_declared"] == {"readOnlyHint": True, "title": "T"}
    # A call may go to the function, which acts.
    assert found["peek"] == {"readOnlyHint": False}


CLAIMS = """
import json, sys
def tool(name):
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True, "title": "T"}}
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = {"tools": [tool("delete_" + sys.argv[1]), tool("item_" + sys.argv[1]), tool("peek")]}
    if request["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""
