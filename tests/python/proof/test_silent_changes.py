"""A server that changes its tools without a word: an approval is for the tool that was shown, whatever the server promises.

`ttlMs` and `listChanged` are promises about a list. A server that is upgraded under its address keeps neither, so a call that
needs an approval asks for the list itself: before somebody is asked, and again when the call is about to leave.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.changing import PROMISES, TOOL, Changing
from support.gateway import served
from toolhub import ToolHub

pytestmark = pytest.mark.anyio


@pytest.fixture
def server() -> Iterator[Changing]:
    with Changing() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
async def hub() -> AsyncIterator[ToolHub]:
    async with ToolHub() as hub:
        yield hub


@pytest.fixture(params=["legacy", "modern"])
def era(request: pytest.FixtureRequest, server: Changing) -> str:
    server.is_modern = request.param == "modern"
    return request.param


@pytest.mark.parametrize("promise", PROMISES)
async def test_an_approval_is_not_used_by_a_tool_that_changed_without_a_word(
    era: str, promise: str, hub: ToolHub, server: Changing
) -> None:
    server.promise = promise
    hub.add_server("s", url=server.url)
    await hub.connect()
    assert hub.servers()[0].era == era
    first = await hub.execute("send_it", {}, approve="ask")
    assert first.paused is not None
    hub.approve(first.paused)
    server.install()
    second = await hub.execute("send_it", {}, approve="ask")
    assert (second.kind, server.count("tools/call")) == ("paused", 0)
    assert second.paused not in (None, first.paused)
    hub.approve(second.paused or "")
    assert (await hub.execute("send_it", {}, approve="ask")).success
    assert server.count("tools/call") == 1


@pytest.mark.parametrize("promise", PROMISES)
async def test_a_function_is_shown_the_tool_of_now(
    era: str, promise: str, hub: ToolHub, server: Changing
) -> None:
    server.promise = promise
    hub.add_server("s", url=server.url)
    await hub.connect()
    server.install()
    shown: list[str] = []
    result = await hub.execute(
        "send_it", {}, approve=lambda call: bool(shown.append(call.description)) or True
    )
    assert (result.success, shown) == (True, ["Version 2."]), era


async def test_an_approval_of_a_call_in_a_text_is_not_used_by_another_tool(
    hub: ToolHub, server: Changing
) -> None:
    hub.add_server("s", url=server.url)
    await hub.connect()
    text = '<tool_call>{"name": "send_it", "arguments": {}}</tool_call>'
    (question,) = (await hub.run(text, approve="ask")).results
    assert question.kind == "paused"
    (pending,) = hub.pending()
    hub.approve(pending.id)
    server.install()
    assert [result.kind for result in (await hub.run(text, approve="ask")).results] == ["paused"]
    assert server.count("tools/call") == 0


CHANGES: list[dict[str, Any]] = [
    {},
    {"description": TOOL["description"], "title": "Wipe"},
    {"description": TOOL["description"], "annotations": {"destructiveHint": True}},
    {"description": TOOL["description"], "_meta": {"target": "all"}},
    {"description": TOOL["description"], "target": "all"},
    {"description": TOOL["description"], "inputSchema": {"type": "object", "properties": {"all": {}}}},
]


@pytest.mark.parametrize("changes", CHANGES)
async def test_a_tool_that_changes_while_somebody_decides_is_not_called(
    changes: dict[str, Any], hub: ToolHub, server: Changing
) -> None:
    hub.add_server("s", url=server.url)

    def approve(_: Any) -> bool:
        server.install(**changes)
        return True

    result = await hub.execute("send_it", {}, approve=approve)
    assert (result.kind, result.meta["error"]["outcome"]) == ("not_allowed", "not_sent"), result.error
    assert "has changed it since the call was prepared" in str(result.error)
    assert server.count("tools/call") == 0


async def test_a_tool_that_is_listed_only_after_its_approval_is_not_called(
    hub: ToolHub, server: Changing
) -> None:
    server.tools = []
    hub.add_server("s", url=server.url)

    def approve(_: Any) -> bool:
        server.install()
        return True

    result = await hub.execute("send_it", {}, server="s", approve=approve)
    assert "(then not listed, now 'Version 2.')" in str(result.error)
    assert (result.kind, server.count("tools/call")) == ("not_allowed", 0)


async def test_an_approval_is_not_used_by_another_version_of_the_program(
    tmp_path: Path, server: Changing
) -> None:
    """The tools are the same; the server only says that it is another version."""
    async with ToolHub(store=tmp_path / "hub.db") as hub:
        hub.add_server("s", url=server.url)
        first = await hub.execute("send_it", {}, approve="ask")
        assert first.paused is not None
        (question,) = hub.pending()
        assert question.shown.endswith(f"run by s: {server.url}, version 1")
        hub.approve(first.paused)
    server.version = "2"
    async with ToolHub(store=tmp_path / "hub.db") as hub:
        hub.add_server("s", url=server.url)
        second = await hub.execute("send_it", {}, approve="ask")
        assert (second.kind, server.count("tools/call")) == ("paused", 0)
        assert second.paused != first.paused


async def test_nobody_is_asked_about_a_tool_that_its_server_does_not_list_now(
    hub: ToolHub, server: Changing
) -> None:
    hub.add_server("s", url=server.url)
    await hub.connect()
    server.list_error = {"code": -32603, "message": "the disk is full"}
    asked: list[Any] = []
    result = await hub.execute("send_it", {}, approve=lambda call: bool(asked.append(call)) or True)
    assert (asked, server.count("tools/call")) == ([], 0)
    assert result.meta["error"]["outcome"] == "not_sent"
    assert "the disk is full" in str(result.error)
    server.list_error = None
    assert (await hub.execute("send_it", {}, approve=lambda _: True)).success


async def test_a_list_of_yesterday_does_not_make_a_tool_harmless(tmp_path: Path, server: Changing) -> None:
    server.tools = [{**TOOL, "name": "get_it", "annotations": {"readOnlyHint": True}}]
    async with ToolHub(store=tmp_path / "hub.db") as hub:
        hub.add_server("s", url=server.url)
        await hub.connect()
        assert (await hub.execute("get_it", {}, approve=lambda _: False)).success
    assert server.count("tools/call") == 1
    server.tools = [
        {**TOOL, "name": "get_it", "annotations": {"readOnlyHint": False, "destructiveHint": True}}
    ]
    async with ToolHub(store=tmp_path / "hub.db") as hub:
        hub.add_server("s", url=server.url)
        result = await hub.execute("get_it", {}, approve=lambda _: False)
    assert (result.kind, server.count("tools/call")) == ("not_allowed", 1)


async def test_calls_at_the_same_time_share_their_lists(hub: ToolHub, server: Changing) -> None:
    server.list_takes = 0.05
    hub.add_server("s", url=server.url)
    await hub.connect()
    calls = [hub.execute("send_it", {"number": number}, approve=lambda _: True) for number in range(50)]
    results = await asyncio.gather(*calls)
    assert [str(result.error) for result in results if not result.success] == []
    # One for the questions and one before the calls, and those that were running when another one came.
    assert server.count("tools/call") == 50
    assert server.count("tools/list") < 12


async def test_calls_without_an_approval_list_nothing_more(hub: ToolHub, server: Changing) -> None:
    server.tools = [TOOL, {**TOOL, "name": "get_it", "annotations": {"readOnlyHint": True}}]
    hub.add_server("s", url=server.url)
    await hub.connect()
    for _ in range(3):
        assert (await hub.execute("send_it", {})).success
        assert (await hub.execute("send_it", {}, run="r")).success
        assert (await hub.execute("get_it", {}, approve=lambda _: False)).success
    assert server.count("tools/list") == 1


@pytest.mark.parametrize("way", ["function", "ask"])
async def test_a_hub_in_between_shows_the_tool_of_now(way: str, server: Changing, tmp_path: Path) -> None:
    shown = list[str]()

    def approve(call: Any) -> bool:
        shown.append(call.description)
        return "2" not in call.description

    async with ToolHub() as between, ToolHub(store=str(tmp_path / "hub.db")) as front:
        between.add_server("s", url=server.url)
        await between.connect()
        async with served(between) as running:
            front.add_server("between", url=running.url)
            await front.connect()
            asked = await front.execute("send_it", {}, approve="ask")
            front.approve(asked.paused or "")
            server.install()
            result = await front.execute("send_it", {}, approve="ask" if way == "ask" else approve)
            assert (result.kind, server.count("tools/call")) == (
                "paused" if way == "ask" else "not_allowed",
                0,
            )
            assert shown == ([] if way == "ask" else ["Version 2."])
