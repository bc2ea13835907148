"""Tool lists that no server has sent yet, and lists that change."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.tools import Run
from toolhub import ToolHub

from .conftest import SERVER, Lab


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """A configuration of servers that have these tools; `label:mode` sets the mode of a server."""

    def make(**tools: str) -> dict[str, Any]:
        servers: dict[str, Any] = {}
        for key, names in tools.items():
            label, _, mode = key.partition("__")
            (tmp_path / f"{label}.tools").write_text(names)
            servers[label] = {"command": sys.executable, "args": [str(SERVER), label, str(tmp_path), mode]}
        return {"mcpServers": servers}

    return make


def asked(folder: Path, label: str) -> int:
    log = folder / f"{label}.log"
    return log.read_text().split().count("start") if log.exists() else 0


LOOKS: dict[str, Callable[[ToolHub], str]] = {
    "tools": lambda hub: str([tool.name for tool in hub.tools()]),
    "search": lambda hub: str([hit.name for hit in hub.search("get page")]),
    "recommend": lambda hub: str([hit.name for hit in hub.recommend("get page")]),
    "system_prompt": lambda hub: hub.system_prompt(),
    "as_openai": lambda hub: json.dumps(hub.as_openai()),
    "as_anthropic": lambda hub: json.dumps(hub.as_anthropic()),
    "as_gemini": lambda hub: json.dumps(hub.as_gemini()),
    "find_by_capability": lambda hub: str([one.name for one in hub.find_by_capability("search")]),
    "list_tools": lambda hub: str(hub.list_tools()),
}


@pytest.mark.parametrize("look", LOOKS)
def test_looking_at_a_hub_fetches_the_lists_of_its_servers(
    config: Callable[..., dict[str, Any]], look: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with ToolHub(mcp=config(a="get_page search_a", b="get_page search_b")) as hub:
        assert asked(tmp_path, "a") == 0, "nothing is started before"
        shown = LOOKS[look](hub)
        assert ("search_a" in shown and "search_b" in shown) or "get_page" in shown
        assert {server.state for server in hub.servers()} == {"connected"}
        LOOKS[look](hub)
        assert asked(tmp_path, "a") == asked(tmp_path, "b") == 1
    assert "Listing tools" not in capfd.readouterr().err, "the progress line is for terminals"


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals")
def test_on_a_terminal_one_line_shows_the_progress_and_is_cleared(
    config: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    master, slave = os.openpty()
    with open(slave, "w") as terminal, ToolHub(mcp=config(a="search_a", b="search_b")) as hub:
        monkeypatch.setattr(sys, "stderr", terminal)
        assert len(hub.tools()) == 2
    written = b""
    # The end of what was written is an error: the terminal is closed.
    with contextlib.suppress(OSError):
        while part := os.read(master, 65_536):
            written += part
    os.close(master)
    shown = written.decode()
    first, *_, last = shown.split("\r\x1b[2K")[1:]
    assert first == "Listing tools: 0 of 2 servers, waiting for a, b"
    assert "Listing tools: 1 of 2 servers, waiting for " in shown
    assert last == "", "the line is cleared in the end"
    assert "\n" not in shown


def test_a_server_that_hangs_or_fails_holds_the_others_up_for_a_bounded_time(
    config: Callable[..., dict[str, Any]], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    given = config(good="get_page", hung__silent="x", dead__dies="y")
    with ToolHub(mcp=given, limits={"lookup_timeout": 5}) as hub:
        assert [tool.name for tool in hub.tools()] == ["get_page"]
        assert "Still waiting for the tools of 'hung' after 5 s." in caplog.text
        assert "The tools of server 'dead' are missing" in caplog.text
        starts = asked(tmp_path, "dead")
        assert [tool.name for tool in hub.tools()] == ["get_page"]
        assert asked(tmp_path, "dead") == starts, "it is not tried at every look"


def test_inside_a_running_loop_one_warning_says_what_to_do(
    config: Callable[..., dict[str, Any]], run: Run
) -> None:
    async def scene() -> None:
        async with ToolHub(mcp=config(a="get_page", b="get_page")) as hub:
            with pytest.warns(RuntimeWarning) as caught:
                assert hub.tools() == []
                assert hub.as_openai() == []
            (warning,) = caught
            assert "the servers 'a', 'b' have not listed any tools yet" in str(warning.message)
            assert "`await hub.connect()`" in str(warning.message)
            assert warning.filename == __file__
            await hub.connect()
            assert len(hub.tools()) == 1

    run(scene())


def test_a_warm_hub_fetches_nothing(config: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    for _ in range(2):
        with ToolHub(mcp=config(a="get_page"), store=tmp_path / "hub.db") as hub:
            assert [tool.name for tool in hub.tools()] == ["get_page"]
    assert asked(tmp_path, "a") == 1


def test_explain_says_that_a_tool_is_not_listed_yet(config: Callable[..., dict[str, Any]]) -> None:
    with ToolHub(mcp=config(a="get_page", b="get_page")) as hub:
        for request in ("get_page", {"tool_name": "get_page"}):
            explained = hub.explain(request)
            assert "It is not listed yet" in explained.text
            assert "(a, b)" in explained.text
            assert explained.refreshes == ["a", "b"]
            assert "registered" not in explained.text
        assert hub.call("get_page", {"text": "x"}).success
        hub.connect_sync()
        assert "not listed yet" not in hub.explain("other").text


GROWS = """
    from mcp.server.fastmcp import Context, FastMCP

    mcp = FastMCP("grows")

    @mcp.tool()
    async def learn(word: str, ctx: Context) -> str:
        def learnt(text: str) -> str:
            return f"{word} {text}"
        mcp.add_tool(learnt, name=f"say_{word}")
        await ctx.session.send_tool_list_changed()
        return "learnt"

    mcp.run()
"""


@pytest.fixture
def grows(tmp_path: Path) -> dict[str, Any]:
    """A server of the Python SDK that gets a tool with each call of `learn`."""
    python = Path(__file__).parents[3] / ".servers/mcp1/bin/python"
    if not python.exists():
        pytest.skip("the real servers are not installed")
    script = tmp_path / "grows.py"
    script.write_text(textwrap.dedent(GROWS))
    return {"mcpServers": {"grows": {"command": str(python), "args": [str(script)]}}}


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        yield


def test_the_next_prompt_after_a_run_shows_what_the_run_has_changed(grows: dict[str, Any], run: Run) -> None:
    async def scene() -> None:
        async with ToolHub(mcp=grows, limits={"lookup_timeout": 30}) as hub:
            await hub.connect()
            for word in ("moin", "servus", "ahoi"):
                text = f'<tool_call>{{"name": "learn", "arguments": {{"word": "{word}"}}}}</tool_call>'
                outcome = await hub.run(text)
                assert outcome.results[0].success, outcome.results[0].error
                assert f"say_{word}" in {tool["function"]["name"] for tool in hub.as_openai()}

    run(scene())


def test_a_miss_waits_for_a_list_that_was_announced(grows: dict[str, Any], run: Run) -> None:
    async def scene() -> None:
        async with ToolHub(mcp=grows, limits={"lookup_timeout": 30}) as hub:
            await hub.connect()
            for word in ("moin", "servus"):
                assert (await hub.execute("learn", {"word": word})).success
                call = {"tool_name": f"say_{word}", "arguments": {"text": "Anna"}}
                result = await hub.dispatch(call)
                assert result.text == f"{word} Anna", result.error
                assert (await hub.execute("learn", {"word": f"{word}_2"})).success
                again = await hub.execute(f"say_{word}_2", {"text": "Anna"})
                assert again.text == f"{word}_2 Anna", again.error

    run(scene())


@pytest.mark.anyio
async def test_without_an_announcement_a_miss_fails_at_once(lab: Lab) -> None:
    lab.add("a", "get_page")
    await lab.hub.connect()
    lists = lab.asked("a", "tools/list")
    assert (await lab.hub.dispatch({"tool_name": "get_news"})).kind == "not_found"
    assert lab.asked("a", "tools/list") == lists
