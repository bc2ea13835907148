"""`toolhub.integrations.fastmcp.attach(mcp, hub)`: the tools of a hub on a server of FastMCP or of the SDK."""

from __future__ import annotations

import asyncio
import json
import sys

import cases
from mcp_servers import Context, Server, client, listening_client

from toolhub import ToolHub
from toolhub.integrations.fastmcp import attach

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def text(answer: dict) -> str:
    assert answer["content"][0]["type"] == "text", answer
    return answer["content"][0]["text"]


async def test_the_tools_of_the_hub_stand_beside_those_of_the_server() -> None:
    mcp, hub = Server("shop"), ToolHub()

    @mcp.tool()
    def price() -> str:
        return "own"

    hub.register(lambda: "of the hub", name="price", description="The price.")
    hub.register(
        lambda a, b: a + b,
        name="add",
        parameters={
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
    )
    attach(mcp, hub)
    async with client(mcp) as connected:
        assert sorted(await connected.names()) == ["add", "price"]
        assert text(await connected.call("price")) == "own"
        answer = await connected.call("add", {"a": 2, "b": 3})
        assert (text(answer), answer["isError"]) == ("5", False), answer
        hub.register(len, name="length")
        assert "length" in await connected.names(), "a tool that was registered later"
        assert text(await connected.call("length", {"obj": "abc"})) == "3"
    hub.close()


async def test_clients_hear_of_changes_of_the_hub() -> None:
    mcp, hub = Server("moving"), ToolHub()
    hub.register(len, name="length")
    attach(mcp, hub, tools=["*", "!hidden_*"])
    async with listening_client(mcp) as (connected, changed):
        assert await connected.names() == ["length"]
        hub.register(len, name="hidden_length")
        hub.register(abs, name="absolute")
        await changed.wait()
        assert sorted(await connected.names()) == ["absolute", "length"]
        changed.clear()
        hub.unregister("absolute")
        await changed.wait()
        assert await connected.names() == ["length"]
    hub.close()


async def test_the_hub_checks_the_arguments() -> None:
    mcp, hub, seen = Server("strict"), ToolHub(), []

    @hub.tool
    def double(number: int) -> int:
        """Double a number."""
        seen.append(number)
        return 2 * number

    attach(mcp, hub)
    async with client(mcp) as connected:
        for wrong in ({"number": "many"}, {}, {"number": [1]}):
            answer = await connected.call("double", wrong)
            assert answer["isError"], answer
            assert "double" in text(answer)
        assert not seen
        assert text(await connected.call("double", {"number": "21"})) == "42", "as the hub reads numbers"
    hub.close()


ODD_SERVER = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    tool = {"name": "look", "inputSchema": {"type": "object"}}
    results = {
        "initialize": {
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}
        },
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": [{"type": "hologram", "depth": 3}, {"type": "text", "text": "a view"}]},
    }
    if "id" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": results.get(message["method"], {})}
        print(json.dumps(answer), flush=True)
"""


async def test_content_of_an_unknown_kind_becomes_text() -> None:
    mcp, hub = Server("odd"), ToolHub()
    hub.add_server("odd", command=sys.executable, args=["-c", ODD_SERVER])
    attach(mcp, hub)
    async with client(mcp) as connected:
        await connected.names()
        answer = await connected.call("look")
        assert not answer["isError"], answer
        assert json.loads(text(answer)) == {"type": "hologram", "depth": 3}
        assert answer["content"][1]["text"] == "a view"
    hub.close()


async def test_errors_are_results() -> None:
    mcp, hub = Server("ill"), ToolHub()

    @hub.tool
    def broken() -> str:
        raise ValueError("the shelf is empty")

    attach(mcp, hub)
    async with client(mcp) as connected:
        answer = await connected.call("broken")
        assert answer["isError"]
        assert "the shelf is empty" in text(answer)
    hub.close()


async def test_patterns_choose_the_tools() -> None:
    mcp, hub = Server("few"), ToolHub()
    for name in ("read_note", "read_page", "delete_note"):
        hub.register(lambda name=name: name, name=name)
    attach(mcp, hub, tools=["read_*", "!read_page"])
    async with client(mcp) as connected:
        assert await connected.names() == ["read_note"]
        try:
            answer = await connected.call("delete_note")
        except Exception:
            pass
        else:
            assert answer["isError"]
    hub.close()


async def test_progress_and_structured_content_pass_through() -> None:
    mcp, upstream, hub = Server("front"), Server("back"), ToolHub()

    @upstream.tool()
    async def count(n: int, ctx: Context) -> dict[str, int]:
        for step in range(n):
            await ctx.report_progress(step + 1, n, f"step {step + 1}")
        return {"counted": n}

    hub.add_fastmcp(upstream)
    attach(mcp, hub)
    reports: list[tuple] = []

    async def progress(*report: object) -> None:
        reports.append(report)

    async with client(mcp, progress) as connected:
        answer = await connected.call("count", {"n": 3})
        assert answer["structuredContent"] == {"counted": 3}
        await cases.until(lambda: reports and reports[-1] == (3.0, 3.0, "step 3"))
    await hub.aclose()


async def test_media_pass_through() -> None:
    mcp, upstream, hub = Server("front"), Server("back"), ToolHub()

    @upstream.tool()
    def picture():
        from mcp.types import ImageContent

        return [ImageContent.model_validate({"type": "image", "data": PIXEL, "mimeType": "image/png"})]

    hub.add_fastmcp(upstream)
    attach(mcp, hub)
    async with client(mcp) as connected:
        [block] = (await connected.call("picture"))["content"]
        assert (block["type"], block["data"], block["mimeType"]) == ("image", PIXEL, "image/png")
    await hub.aclose()


async def test_a_client_that_goes_away_cancels_the_call() -> None:
    mcp, hub, started, ended = Server("slow"), ToolHub(), asyncio.Event(), asyncio.Event()

    @hub.tool
    async def wait() -> str:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return "late"

    attach(mcp, hub)

    async def call() -> None:
        async with client(mcp) as connected:
            await connected.call("wait")

    calling = asyncio.ensure_future(call())
    await started.wait()
    calling.cancel()
    await ended.wait()
    hub.close()


def test_other_objects_are_refused() -> None:
    for wrong in (object(), len, ToolHub()):
        assert "FastMCP" in cases.refused(lambda wrong=wrong: attach(wrong, ToolHub()))


cases.run(globals())
