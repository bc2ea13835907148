"""A served hub whose servers have not listed their tools yet: search mode, and first lists of slow servers."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from support.gateway import Reply, ask, call, served
from toolhub import ToolHub

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).with_name("listing_server.py")
MODES = ("on", "auto")


def hub_with(folder: Path, fault: str = "none", **options: Any) -> ToolHub:
    """A hub that has one server and nothing else."""
    hub = ToolHub(**options)
    hub.add_server("lister", command=sys.executable, args=[str(SERVER), str(folder), fault])
    return hub


def own_description(name: str) -> str:
    return f"own {name}"


def found(reply: Reply) -> list[str]:
    return [tool["name"] for tool in reply.result["structuredContent"]["tools"]]


async def names(url: str) -> list[str]:
    return [tool["name"] for tool in (await ask(url, "tools/list")).result["tools"]]


@pytest.mark.parametrize("mode", MODES)
async def test_a_search_starts_the_servers(tmp_path: Path, mode: str) -> None:
    async with hub_with(tmp_path) as hub, served(hub, search_mode=mode) as at:
        reply = await call(at.url, "search_tools", query="something that comes late")
        assert found(reply) == ["late_tool"]
        assert "incomplete" not in reply.result["structuredContent"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_description_starts_the_servers(tmp_path: Path, mode: str) -> None:
    async with hub_with(tmp_path) as hub, served(hub, search_mode=mode) as at:
        described = (await call(at.url, "describe_tool", name="late_tool")).result
        assert described["structuredContent"]["tool"]["description"] == "Comes late."


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_by_the_tool_of_the_gateway_starts_the_servers(tmp_path: Path, mode: str) -> None:
    async with hub_with(tmp_path) as hub, served(hub, search_mode=mode) as at:
        assert (await call(at.url, "call_tool", name="late_tool")).content == "called"


async def test_the_method_that_describes_starts_the_servers(tmp_path: Path) -> None:
    async with hub_with(tmp_path) as hub, served(hub) as at:
        described = (await ask(at.url, "tools/describe", {"name": "late_tool"})).result
        assert described["tool"]["description"] == "Comes late."


async def test_who_is_still_starting_is_said(tmp_path: Path) -> None:
    views = {"few": {"tools": ["late_*"], "search_mode": "on"}}
    async with hub_with(tmp_path, "slow") as hub, served(hub, search_mode="on", views=views) as at:
        few = f"{at.url}/few"
        asked = call(at.url, "search_tools", query="late"), call(few, "search_tools", query="late")
        described = (
            call(at.url, "describe_tool", name="late_tool"),
            call(few, "describe_tool", name="late_tool"),
        )
        whole, part, known, hidden = await asyncio.gather(*asked, *described)
        assert found(whole) == found(part) == []
        incomplete = [reply.result["structuredContent"]["incomplete"] for reply in (whole, part)]
        assert incomplete == [
            "These servers are still starting: 'lister'; search again in a few seconds.",
            # A view that shows some tools only does not tell of servers.
            "Some servers are still starting; search again in a few seconds.",
        ]
        assert known.result["isError"]
        # Which of the two descriptions gave up first decides how the reason begins.
        assert known.content.startswith(
            "There is no tool named 'late_tool'. Some servers could not be asked: "
        )
        assert known.content.endswith("Server 'lister' did not list its tools within 5 s.")
        assert hidden.content == "There is no tool named 'late_tool'."
        (tmp_path / "go").touch()
        while not found(reply := await call(at.url, "search_tools", query="late")):
            assert "'lister'" in reply.result["structuredContent"]["incomplete"]
        assert found(reply) == ["late_tool"]


async def test_a_tool_of_the_hub_keeps_its_name_while_all_are_listed(tmp_path: Path) -> None:
    async with hub_with(tmp_path) as hub:
        hub.register(own_description, name="describe_tool", description="Describe a hand tool.")
        async with served(hub, search_mode="auto") as at:
            assert (await call(at.url, "describe_tool", name="saw")).content == "own saw"
        async with served(hub, search_mode="on") as at:
            assert (await call(at.url, "describe_tool", name="saw")).result["isError"]
        async with served(hub, search_mode="off") as at:
            assert (await call(at.url, "search_tools", query="saw")).message["error"]["code"] == -32602


async def test_a_slow_server_is_not_an_empty_first_list(tmp_path: Path) -> None:
    async with hub_with(tmp_path, "slow", limits={"lookup_timeout": 0.2}) as hub, served(hub) as at:
        listing = asyncio.ensure_future(names(at.url))
        # It waits for the `lookup_timeout`, which began after that of the list.
        assert (await call(at.url, "late_tool")).result["isError"]
        (tmp_path / "go").touch()
        assert await listing == ["late_tool"]


async def test_a_list_with_a_tool_does_not_wait_for_a_slow_server(tmp_path: Path) -> None:
    async with hub_with(tmp_path, "slow", limits={"lookup_timeout": 0.2}) as hub:
        hub.register(len, name="measure", description="The length.")
        async with served(hub, views={"late": {"tools": ["late_*"]}}) as at:
            listing = asyncio.ensure_future(names(f"{at.url}/late"))
            assert await names(at.url) == ["measure"]
            (tmp_path / "go").touch()
            assert await listing == ["late_tool"], "this view shows nothing else"


async def test_the_first_list_ends_when_the_server_fails_to_start() -> None:
    async with ToolHub() as hub:
        command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
        hub.add_server("mute", command=command[0], args=command[1:], startup_timeout=1)
        async with served(hub) as at:
            assert await names(at.url) == []
