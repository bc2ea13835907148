"""A small server on three SDKs and over all transports: both eras, and everything that one has to see on its side."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import catalogue
import pytest

from support.warm import warm
from toolhub import ToolHub

pytestmark = pytest.mark.anyio

ERAS = {"mcp1": "legacy", "mcp2": "modern", "fastmcp": "modern"}
WAYS = [(sdk, transport) for sdk in ERAS for transport in ("stdio", "http")] + [("mcp1", "sse")]


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def way(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


@pytest.fixture(scope="module")
def marks(way: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server marks what it sees."""
    return tmp_path_factory.mktemp("marks")


@pytest.fixture
def no_marks(marks: Path) -> Path:
    """The same folder, with the marks of other tests taken away."""
    for mark in marks.iterdir():
        mark.unlink()
    return marks


@pytest.fixture(scope="module")
def reach(way: tuple[str, str], marks: Path, forked: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """How to reach the server."""
    sdk, transport = way
    start = forked(sdk, "stdio", MARKS=marks)
    if transport == "stdio":
        yield start
        return
    port = catalogue.free_port()
    env = {"MARKS": str(marks)}
    with catalogue.listening(sdk, transport, str(port), port=port, env=env, python=warm(sdk)):
        yield {"url": f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"}


@pytest.fixture(scope="module")
async def ours(reach: dict[str, Any], connected: Callable[..., Any]) -> AsyncIterator[ToolHub]:
    """A hub that is connected to the server, for all tests of one way."""
    async with ToolHub() as hub:
        await connected(hub, "ours", **reach)
        yield hub


async def test_the_era_is_found(ours: ToolHub, way: tuple[str, str]) -> None:
    (server,) = ours.servers()
    assert (server.era, server.transport) == (ERAS[way[0]], way[1])


async def test_a_call_and_a_failure(ours: ToolHub) -> None:
    result = await ours.execute("add", {"a": 1, "b": 2})
    assert (result.structured, result.content[0]["text"]) == ({"result": 3}, "3")
    result = await ours.execute("fail", {"text": "no bread"})
    assert result.kind == "tool_error"
    assert "fail" in str(result.error)
    assert [(await ours.execute("count")).structured["result"] for _ in range(3)] == [1, 2, 3]


async def test_progress_is_reported(ours: ToolHub) -> None:
    news: list[Any] = []
    result = await ours.execute(
        "slow", {"steps": 5, "pause": 0.01}, progress=lambda *update: news.append(update)
    )
    assert result.structured == {"result": "ours took 5 steps"}
    # Reports that come faster than the loop takes them may be left out, but not the last one.
    steps = [update[0]["progress"] for update in news]
    assert steps == sorted(set(steps))
    assert steps[-1] == 5


@pytest.mark.parametrize("how", ["by the caller", "by its deadline"])
async def test_a_call_that_is_cut_is_cancelled_on_the_server(
    ours: ToolHub, no_marks: Path, until: Callable[..., Any], how: str
) -> None:
    (before,) = ours.servers()
    work = {"steps": 1000, "pause": 0.05}
    if how == "by its deadline":
        assert (await ours.execute("slow", work, timeout=1)).kind == "timeout"
    else:
        call = asyncio.ensure_future(ours.execute("slow", work))
        await until((no_marks / "ours-started").exists)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    await until((no_marks / "ours-cancelled").exists)
    assert (await ours.execute("add", {"a": 1, "b": 2})).success
    (after,) = ours.servers()
    assert (after.state, after.pid) == ("connected", before.pid)


async def test_a_list_that_changes_is_read_again(ours: ToolHub, until: Callable[..., Any]) -> None:
    before = ours.version
    assert (await ours.execute("grow", {"name": "tall"})).success
    await until(lambda: "tall" in ours)
    assert ours.version > before
    assert (await ours.execute("tall")).structured == {"result": "I am tall"}


# FastMCP asks through the SDK that mcp2 stands for.
@pytest.mark.parametrize("way", [way for way in WAYS if way[0] != "fastmcp"], indirect=True, ids="-".join)
async def test_the_user_is_asked(reach: dict[str, Any], connected: Callable[..., Any]) -> None:
    def ask(server: str, request: Any) -> dict[str, Any]:
        assert (server, request["message"]) == ("ours", "Who are you?")
        return {
            "action": "accept",
            "content": {"name": "Ada"},
        }  # the age has a default, which the hub fills in

    async with ToolHub(elicitation=ask) as hub:
        await connected(hub, "ours", **reach)
        assert (await hub.execute("ask")).structured == {"result": "Ada is 30"}


@pytest.mark.parametrize("sdk", ERAS)
async def test_a_killed_server_is_started_again(
    hub: ToolHub, installed: Callable[..., Any], connected: Callable[..., Any], sdk: str
) -> None:
    server = await connected(hub, "ours", **installed(sdk, "stdio"))
    assert (await hub.execute("count")).structured == {"result": 1}
    os.kill(server.pid, signal.SIGKILL)
    results = [await hub.execute("count") for _ in range(2)]
    # The first call may meet the dead server and must then say so; the second has a new one.
    assert results[0].success or results[0].kind == "closed"
    assert results[1].success
    assert next(iter(hub.servers())).pid != server.pid


async def test_the_first_call_connects_and_concurrent_first_calls_share_it(
    hub: ToolHub, forked: Callable[..., Any]
) -> None:
    hub.add_server("ours", **forked("mcp1", "stdio"))
    results = await asyncio.gather(*(hub.execute("count", server="ours") for _ in range(20)))
    assert sorted(result.structured["result"] for result in results) == list(range(1, 21))


async def test_two_servers_with_the_same_tools_are_raced(
    hub: ToolHub,
    forked: Callable[..., Any],
    connected: Callable[..., Any],
    until: Callable[..., Any],
    tmp_path: Path,
) -> None:
    for id, sdk, pace in (("east", "mcp1", 1), ("west", "mcp2", 100)):
        start = forked(sdk, "stdio", LABEL=id, PACE=pace, MARKS=tmp_path)
        await connected(hub, id, **start, effects=False)  # tools that may act are not raced
    shared = hub.get("slow")
    assert shared is not None
    assert len(shared.candidates) == 2
    result = await hub.execute("slow", {"steps": 10, "pause": 0.1}, strategy="first")
    assert (result.structured, result.meta["server"]) == ({"result": "east took 10 steps"}, "east")
    assert (tmp_path / "west-started").exists()
    await until((tmp_path / "west-cancelled").exists)  # the loser is update
    for id in ("east", "west"):
        assert (await hub.execute("label", server=id)).structured == {"result": id}


async def test_one_dead_server_does_not_take_the_others_along(
    hub: ToolHub, forked: Callable[..., Any], connected: Callable[..., Any]
) -> None:
    hub.add_server("dead", command="/nonexistent/server")
    hub.add_server("alive", **forked("mcp2", "stdio"))
    report = await hub.connect()
    assert (report.connected, list(report.failed)) == (["alive"], ["dead"])
    assert report.failed["dead"].kind == "connect"
    assert "/nonexistent/server" in str(report.failed["dead"])
    assert (await hub.execute("add", {"a": 1, "b": 1})).success


async def test_a_plain_value_of_a_python_server_is_plain(ours: ToolHub) -> None:
    """All three SDKs wrap it as `{"result": …}` when they send structured content."""
    result = await ours.execute("add", {"a": 2, "b": 3})
    assert str(result) == "5"
    if result.structured is not None:
        assert (result.result, result.structured) == (5, {"result": 5})


async def test_what_a_tool_says_about_its_failure_is_one_line(
    hub: ToolHub, forked: Callable[..., Any], connected: Callable[..., Any]
) -> None:
    await connected(hub, "s", **forked("mcp1", "stdio"))  # SDK 2 does not pass the text on
    result = await hub.execute("fail", {"text": "\x1b[31mred\x1b[0m\nsecond"}, server="s")
    assert result.kind == "tool_error"
    assert str(result.error).endswith("red second")
    assert not set("\n\x1b") & set(str(result.error))


async def test_a_server_that_cannot_announce_changes_is_asked_again_for_a_missing_tool(
    hub: ToolHub, forked: Callable[..., Any], connected: Callable[..., Any], until: Callable[..., Any]
) -> None:
    """FastMCP 4 promises to announce changes, but refuses `subscriptions/listen`, on which they would come."""
    await connected(hub, "s", **forked("fastmcp", "stdio"))
    assert (await hub.execute("sprout", {"name": "quiet"}, server="s")).success
    limit = asyncio.get_running_loop().time() + 20
    while not (found := await hub.dispatch({"tool_name": "quiet", "arguments": {}})).success:
        assert asyncio.get_running_loop().time() < limit, found.error
        await asyncio.sleep(0.1)
    assert found.result == "I am quiet"
