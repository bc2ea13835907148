"""One name on several servers behind a served hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from routing.conftest import Lab
from routing.test_namesakes import TRACKER, WIKI, two_searches
from support.gateway import ask, call, served
from toolhub import ToolHub

pytestmark = pytest.mark.anyio


async def listed(url: str) -> dict[str, str]:
    tools = (await ask(url, "tools/list")).result["tools"]
    return {tool["name"]: tool["description"] for tool in tools}


async def answer(url: str, name: str) -> str:
    result = (await call(url, name, text="x")).result
    return "\n".join(block["text"] for block in result["content"])


async def test_namesakes_are_served_as_two_tools(tmp_path: Path) -> None:
    async with ToolHub(limits={"lookup_timeout": 30}) as hub:
        two_searches(Lab(hub, tmp_path))
        await hub.connect()
        async with served(hub) as at:
            assert await listed(at.url) == {"tracker__search": TRACKER, "wiki__search": WIKI}
            assert await answer(at.url, "tracker__search") == "tracker x"
            assert await answer(at.url, "wiki__search") == "wiki x"
            assert await answer(at.url, "search") == "tracker x"
            described = (await ask(at.url, "tools/describe", {"name": "wiki__search"})).result["tool"]
            assert (described["name"], described["description"]) == ("wiki__search", WIKI)


async def test_namesakes_are_listed_in_the_order_of_the_names_they_have_here(tmp_path: Path) -> None:
    async with ToolHub(limits={"lookup_timeout": 30}) as hub:
        lab = Lab(hub, tmp_path)
        for label in ("one", "two", "three"):
            lab.describe(label, {"search": {"description": f"Look into {label}, and nowhere else."}})
            lab.add(label, "search", "of_" + label)
        await hub.connect()
        async with served(hub) as at:
            whole = (await ask(at.url, "tools/list")).result["tools"]
        names = [tool["name"] for tool in whole]
        assert names == sorted(tool.name for tool in hub.tools())
        assert names == ["of_one", "of_three", "of_two", "one__search", "three__search", "two__search"]


async def test_search_mode_finds_and_calls_each(tmp_path: Path) -> None:
    async with ToolHub(limits={"lookup_timeout": 30}) as hub:
        two_searches(Lab(hub, tmp_path))
        await hub.connect()
        async with served(hub, search_mode="on") as at:
            found = (await call(at.url, "search_tools", query="pages of the wiki")).result[
                "structuredContent"
            ]
            assert [tool["name"] for tool in found["tools"]][:1] == ["wiki__search"]
            described = (await call(at.url, "describe_tool", name="wiki__search")).result["structuredContent"]
            assert described["tool"]["description"] == WIKI
            result = (await call(at.url, "call_tool", name="wiki__search", arguments={"text": "x"})).result
            assert result["content"][0]["text"] == "wiki x"


@pytest.mark.parametrize(
    ("patterns", "shown", "search"),
    [
        (["search"], ["tracker__search", "wiki__search"], "tracker x"),
        # What a view hides does not show in the names of the rest.
        (["wiki/*"], ["search"], "wiki x"),
        (["wiki__search"], ["search"], "wiki x"),
        (["*", "!tracker__search"], ["search"], "wiki x"),
    ],
)
async def test_a_view_names_what_it_named_before(
    tmp_path: Path, patterns: list[str], shown: list[str], search: str
) -> None:
    async with ToolHub(limits={"lookup_timeout": 30}) as hub:
        two_searches(Lab(hub, tmp_path))
        await hub.connect()
        views: dict[str, Any] = {"part": {"tools": patterns}}
        async with served(hub, views=views) as at:
            url = f"{at.url}/part"
            assert list(await listed(url)) == shown
            assert await answer(url, "search") == search
            assert await answer(url, "wiki__search") == "wiki x"


async def test_the_first_candidate_answers_alone(tmp_path: Path) -> None:
    """Servers that describe the same tool: a client gets the answer of one, never a merged text."""
    async with ToolHub(limits={"lookup_timeout": 30}) as hub:
        lab = Lab(hub, tmp_path)
        lab.add("one", "search", mode="read_only", trust="full")
        lab.add("two", "search", mode="read_only", trust="full")
        await hub.connect()
        async with served(hub) as at:
            assert list(await listed(at.url)) == ["search"]
            assert await answer(at.url, "search") == "one x"
        assert (lab.asked("one", "tools/call"), lab.asked("two", "tools/call")) == (1, 0)


async def reached(url: str, name: str) -> list[str]:
    """What answers to a name: called as it is and by the tool of the gateway, and what describes it."""
    by_gateway = (await call(url, "call_tool", name=name, arguments={"text": "x"})).content
    described = (await ask(url, "tools/describe", {"name": name})).result["tool"]["description"]
    own = (await call(url, "describe_tool", name=name)).result["structuredContent"]["tool"]["description"]
    return [await answer(url, name), by_gateway, described, own]


@pytest.mark.parametrize("core", ["wiki__search", "wiki/search"])
async def test_a_core_tool_with_its_server_is_listed_and_answers_under_one_name(
    tmp_path: Path, core: str
) -> None:
    """Whether another server uses the name or not."""
    views: dict[str, Any] = {"part": {"tools": ["wiki/*"], "search_mode": "on", "core": [core]}}
    async with ToolHub(limits={"lookup_timeout": 30}) as hub:
        two_searches(Lab(hub, tmp_path))
        await hub.connect()
        async with served(hub, search_mode="on", core=[core], views=views) as at:
            for _ in range(2):
                for url in (at.url, f"{at.url}/part"):
                    assert list(await listed(url))[3:] == ["wiki__search"]
                    assert await reached(url, "wiki__search") == ["wiki x"] * 2 + [WIKI] * 2
                hub.remove_server("tracker")


async def test_a_native_core_tool_is_named_as_in_patterns() -> None:
    def look(text: str) -> str:
        """Looks."""
        return text

    async with ToolHub() as hub:
        hub.register(look)
        async with served(hub, search_mode="on", core=["native/look"]) as at:
            assert list(await listed(at.url))[3:] == ["look"]


@pytest.mark.parametrize("patterns", [["*"], ["search"], ["tracker__search"]])
async def test_a_name_that_was_listed_once_goes_on_to_answer(tmp_path: Path, patterns: list[str]) -> None:
    views: dict[str, Any] = {"part": {"tools": patterns}, "other": {"tools": ["wiki/*"]}}
    async with ToolHub(limits={"lookup_timeout": 30}) as hub:
        two_searches(Lab(hub, tmp_path))
        await hub.connect()
        async with served(hub, views=views) as at:
            assert list(await listed(at.url)) == ["tracker__search", "wiki__search"]
            hub.remove_server("wiki")
            for url in (at.url, f"{at.url}/part"):
                assert list(await listed(url)) == ["search"]
                assert await reached(url, "tracker__search") == ["tracker x"] * 2 + [TRACKER] * 2
            hidden, unknown = [
                (await call(f"{at.url}/other", name, text="x")).message["error"]["message"]
                for name in ("tracker__search", "missing__search")
            ]
            assert hidden.replace("tracker", "missing") == unknown == "Unknown tool: missing__search"
