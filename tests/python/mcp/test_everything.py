"""The protocol's own demonstration server over its three transports: all that an answer can hold comes through."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import catalogue
import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module", params=["stdio", "sse", "http"])
def everything(request: pytest.FixtureRequest, installed: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """How to reach the server. Over HTTP the hub is given the address alone: it finds out the transport."""
    start = installed("everything", "stdio")
    if request.param == "stdio":
        yield start
        return
    port = catalogue.free_port()
    word, path = ("sse", "/sse") if request.param == "sse" else ("streamableHttp", "/mcp")
    with catalogue.listening("everything", word, port=port):
        yield {"url": f"http://127.0.0.1:{port}{path}"}


@pytest.fixture(scope="module")
async def hub(everything: dict[str, Any], connected: Callable[..., Any]) -> AsyncIterator[ToolHub]:
    """A hub that is connected to the server, for all tests of one transport."""
    async with ToolHub() as hub:
        await connected(hub, "everything", **everything)
        yield hub


def kinds(result: Any) -> list[str]:
    return [block["type"] for block in result.content]


async def test_the_hub_knows_what_it_is_connected_to(hub: ToolHub, everything: dict[str, Any]) -> None:
    (server,) = hub.servers()
    expected = "stdio" if "command" in everything else "sse" if "/sse" in everything["url"] else "http"
    assert (server.state, server.era, server.transport) == ("connected", "legacy", expected)
    assert (server.pid is not None) == (expected == "stdio")
    assert server.tools == len(hub.tools(server="everything")) > 10
    echo = hub.get("echo")
    assert echo is not None
    assert echo.parameters["required"] == ["message"]


async def test_one_text_is_the_result(hub: ToolHub) -> None:
    result = await hub.execute("echo", {"message": "grüß dich 👋\u2028"})
    assert (result.success, result.result) == (True, "Echo: grüß dich 👋\u2028")
    assert result.meta["server"] == "everything"


async def test_structured_content_is_the_result(hub: ToolHub) -> None:
    result = await hub.execute("get-structured-content", {"location": "Chicago"})
    assert set(result.structured) == {"temperature", "conditions", "humidity"}
    assert result.result == result.structured


async def test_an_image_comes_whole(hub: ToolHub) -> None:
    result = await hub.execute("get-tiny-image")
    assert kinds(result) == ["text", "image", "text"]
    assert result.content[1]["mimeType"] == "image/png"
    assert base64.b64decode(result.content[1]["data"]).startswith(b"\x89PNG")


async def test_annotations_of_blocks_are_kept(hub: ToolHub) -> None:
    result = await hub.execute("get-annotated-message", {"messageType": "error", "includeImage": True})
    assert kinds(result) == ["text", "image"]
    assert result.content[0]["annotations"] == {"audience": ["user", "assistant"], "priority": 1}


async def test_resource_links_come_through(hub: ToolHub) -> None:
    result = await hub.execute("get-resource-links", {"count": 4})
    assert kinds(result) == ["text", *["resource_link"] * 4]
    assert all(block["uri"].startswith("demo://resource/") for block in result.content[1:])


@pytest.mark.parametrize(("wanted", "field"), [("Text", "text"), ("Blob", "blob")])
async def test_embedded_resources_come_through(hub: ToolHub, wanted: str, field: str) -> None:
    result = await hub.execute("get-resource-reference", {"resourceType": wanted, "resourceId": 1})
    assert kinds(result) == ["text", "resource", "text"]
    assert result.content[1]["resource"][field]


async def test_wrong_arguments_are_not_even_sent(hub: ToolHub) -> None:
    result = await hub.execute("get-sum", {"a": "one", "b": 2})
    assert result.kind == "invalid_arguments"
    # The server's own opinion, when the hub does not check.
    result = await hub.execute("get-sum", {"a": "one", "b": 2}, validate=False)
    assert result.kind == "tool_error"
    assert "Invalid" in str(result.error)


async def test_progress_is_reported(hub: ToolHub) -> None:
    news: list[Any] = []
    result = await hub.execute(
        "trigger-long-running-operation",
        {"duration": 0.4, "steps": 4},
        progress=lambda *shown: news.append(shown),
    )
    assert result.success, result.error
    assert len(news) == 4


async def test_a_deadline_ends_a_call_and_not_the_connection(hub: ToolHub) -> None:
    (before,) = hub.servers()
    result = await hub.execute("trigger-long-running-operation", {"duration": 60, "steps": 600}, timeout=0.5)
    assert result.kind == "timeout"
    assert (await hub.execute("get-sum", {"a": 2, "b": 3})).result == "The sum of 2 and 3 is 5."
    (after,) = hub.servers()
    assert (after.state, after.pid) == ("connected", before.pid)


async def test_many_calls_at_once_get_their_own_answers(hub: ToolHub) -> None:
    results = await asyncio.gather(*(hub.execute("echo", {"message": str(n)}) for n in range(100)))
    assert [result.result for result in results] == [f"Echo: {n}" for n in range(100)]


async def test_a_tool_that_comes_later_is_there_and_asks_the_user(
    everything: dict[str, Any], connected: Callable[..., Any], until: Callable[..., Any]
) -> None:
    """The server offers this tool only to clients that can ask, and only after the handshake: its list changes."""
    asked: list[Any] = []

    def ask(server: str, request: Any) -> dict[str, Any]:
        asked.append((server, request["message"]))
        return {"action": "accept", "content": {"name": "Ada"}}

    async with ToolHub(elicitation=ask) as hub:
        await connected(hub, "everything", **everything)
        await until(lambda: "trigger-elicitation-request" in hub)
        result = await hub.execute("trigger-elicitation-request")
        assert result.success, result.error
        assert "Ada" in str(result.content)
        assert [server for server, _ in asked] == ["everything"]


async def test_without_anybody_to_ask_no_such_tool(hub: ToolHub) -> None:
    await hub.refresh(["everything"])
    assert "trigger-elicitation-request" not in hub


async def test_roots_are_reported(
    everything: dict[str, Any], connected: Callable[..., Any], until: Callable[..., Any], tmp_path: Path
) -> None:
    async with ToolHub() as hub:
        await connected(hub, "everything", **everything, roots=[tmp_path.as_uri()])
        await until(lambda: "get-roots-list" in hub)
        assert tmp_path.as_uri() in (await hub.execute("get-roots-list")).text


async def test_a_child_gets_a_minimal_environment(
    installed: Callable[..., Any], connected: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_PARENT", "hunter2")
    async with ToolHub() as hub:
        await connected(hub, "everything", **installed("everything", "stdio", GREETING="hello"))
        environment = (await hub.execute("get-env")).text
    assert "hello" in environment
    assert "hunter2" not in environment


async def test_a_model_gets_the_image_where_its_api_takes_one(hub: ToolHub) -> None:
    call = '<tool_call>{"name": "get-tiny-image", "arguments": {}}</tool_call>'
    (block,) = (await hub.run(call, results="anthropic")).messages[0]["content"]
    text, image = block["content"]
    assert image["source"]["media_type"] == "image/png"
    assert text["text"].count("\n\n") == 1
    shown = (await hub.run(call, results="openai")).messages[0]["content"]
    assert "\n\n[image/png, 3.9 KB]\n\n" in shown
    assert image["source"]["data"] not in shown
