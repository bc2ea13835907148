"""Tools that no server has listed yet: found on servers that are not connected, in bounded time, without request storms."""

import asyncio
import json
import os
import signal
import time
from pathlib import Path

import pytest

from toolhub import ErrorKind, ToolHub, ToolResult

from .conftest import Lab

pytestmark = pytest.mark.anyio


def call(name: str, source: str | None = None) -> dict[str, object]:
    return {"id": "c", "tool_name": name, "arguments": {"text": "x"}, "source": source}


def route(result: ToolResult) -> tuple[object, str]:
    assert result.meta["call_id"] == "c"
    return result.result or result.error, result.meta["route"]


@pytest.mark.parametrize(
    ("source", "rule"), [(None, "auto"), ("native", "alias"), ("a", "server"), ("mcps", "source")]
)
async def test_a_server_that_was_never_connected_is_asked(lab: Lab, source: str | None, rule: str) -> None:
    lab.add("a", "far")
    assert lab.hub.explain(call("far", source)).refreshes == ["a"]
    assert lab.asked("a", "start") == 0
    assert route(await lab.hub.dispatch(call("far", source))) == ("a x", rule)
    assert lab.hub.explain(call("far", source)).refreshes == []


async def test_two_servers_with_the_same_tools(lab: Lab) -> None:
    lab.add("a", "far", "near", assume_read_only=True)
    lab.add("b", "far", "near", assume_read_only=True)
    await lab.hub.connect()
    assert route(await lab.hub.dispatch(call("far", "b"))) == ("b x", "server")
    assert route(await lab.hub.dispatch(call("far", "a"))) == ("a x", "server")
    both = await lab.hub.dispatch(call("far"), strategy="all")
    assert [attempt["server"] for attempt in both.meta["attempts"]] == ["a", "b"]
    assert lab.asked("a", "tools/call") == lab.asked("b", "tools/call") == 2


async def test_a_cached_list_is_enough_and_its_server_is_started_again(lab: Lab) -> None:
    lab.add("a", "far")
    await lab.hub.connect()
    (server,) = lab.hub.servers()
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    async with asyncio.timeout(20):
        while lab.hub.servers()[0].state == "connected":
            await asyncio.sleep(0.01)
    explained = lab.hub.explain(call("far"))
    assert [one.server for one in explained.candidates] == ["a"]
    assert "the call connects it" in explained.text
    assert explained.refreshes == []
    assert route(await lab.hub.dispatch(call("far"))) == ("a x", "auto")


async def test_a_native_tool_starts_no_server(lab: Lab) -> None:
    lab.add("a", "far")
    lab.hub.register(lambda text: f"native {text}", name="far")
    assert route(await lab.hub.dispatch(call("far"))) == ("native x", "auto")
    missing = await lab.hub.dispatch(call("missing", "tools"))
    assert missing.kind is ErrorKind.NOT_FOUND
    assert lab.asked("a", "start") == 0


async def test_concurrent_look_ups_share_one_start_and_one_list(lab: Lab) -> None:
    lab.add("a", "far")
    results = await asyncio.gather(*(lab.hub.dispatch(call("far")) for _ in range(30)))
    assert {result.result for result in results} == {"a x"}
    missing = await asyncio.gather(*(lab.hub.dispatch(call(f"missing{n}")) for n in range(30)))
    assert {result.kind for result in missing} == {ErrorKind.NOT_FOUND}
    assert (lab.asked("a", "start"), lab.asked("a", "tools/list")) == (1, 1)


async def test_a_look_up_ends_with_the_first_server_that_has_the_tool(lab: Lab) -> None:
    lab.add("silent", mode="silent")
    lab.add("a", "far")
    # The hub would wait for half a minute: a test that waits for the silent one runs into the limit.
    async with asyncio.timeout(25):
        assert route(await lab.hub.dispatch(call("far"))) == ("a x", "auto")


async def test_a_silent_server_holds_a_look_up_only_once(tmp_path: Path) -> None:
    async with ToolHub(limits={"lookup_timeout": 0.5}) as hub:
        lab = Lab(hub, tmp_path)
        lab.add("silent", mode="silent")
        result = await hub.dispatch(call("far"))
        assert result.kind is ErrorKind.NOT_FOUND
        assert result.error == (
            "There is no tool named 'far'. No tool is registered yet. "
            "Some servers could not be asked: Server 'silent' did not list its tools within 0.5 s."
        )
        assert result.meta["duration_ms"] >= 500
        assert hub.explain(call("far")).refreshes == []
        again = await hub.dispatch(call("far"))
        assert again.meta["duration_ms"] < 500, "no call waited"
        assert (
            "Server 'silent' failed recently; it is tried again after a pause: "
            "Server 'silent' did not list its tools within 0.5 s." in str(again.error)
        )
        named = await hub.dispatch(call("far", "silent"))
        assert named.kind is ErrorKind.TIMEOUT
        assert named.meta["error"]["outcome"] == "not_sent"
        assert lab.asked("silent", "tools/call") == 0


async def test_the_deadline_bounds_the_look_too(lab: Lab) -> None:
    lab.add("silent", mode="silent")
    async with asyncio.timeout(20):
        result = await lab.hub.dispatch(call("far"), deadline=0.2)
        assert result.kind is ErrorKind.TIMEOUT
        assert result.error == "'far' was not found within the deadline of 0.2 s (nothing was started)."
        assert (await lab.hub.dispatch(call("far", "silent"), timeout=0.1)).kind is ErrorKind.TIMEOUT


async def test_a_list_that_cannot_be_read_is_reported_with_its_server(lab: Lab) -> None:
    lab.add("a", "far")
    (lab.folder / "a.tools").unlink()  # it breaks down when it is asked for its tools
    result = await lab.hub.dispatch(call("far"))
    assert result.kind is ErrorKind.NOT_FOUND
    assert "Some servers could not be asked: Server 'a'" in str(result.error)


async def test_a_broken_server_is_reported_and_not_started_again_and_again(lab: Lab) -> None:
    lab.add("broken", mode="dies")
    lab.add("a", "far")
    first = await lab.hub.dispatch(call("missing"))
    assert first.kind is ErrorKind.NOT_FOUND
    assert "Some servers could not be asked: Auto-connect failed for server 'broken'" in str(first.error)
    for n in range(40):
        await lab.hub.dispatch(call(f"missing{n}"))
    assert lab.asked("broken", "start") < 20
    named = await lab.hub.dispatch(call("far", "broken"))
    assert named.kind in (ErrorKind.CONNECT, ErrorKind.CLOSED)
    assert str(named.error).startswith("Auto-connect failed for server 'broken'")
    assert route(await lab.hub.dispatch(call("far"))) == ("a x", "auto")


async def test_an_old_list_is_asked_for_again(lab: Lab) -> None:
    lab.add("a", "far", mode="short")
    lab.add("stays", "other")
    await lab.hub.connect()
    lab.offer("a", "far", "new")
    limit = time.monotonic() + 20
    while not (result := await lab.hub.dispatch(call("new"))).success:
        assert time.monotonic() < limit, result
        await asyncio.sleep(0.05)
    assert route(result) == ("a x", "auto")
    assert lab.asked("stays", "tools/list") == 1, "a list that is not old is believed"


async def test_only_listed_tools_of_a_named_server_are_called(lab: Lab) -> None:
    lab.add("a", "far_away", "secret", exclude=["secret"])
    for name in ("secret", "made_up"):
        result = await lab.hub.dispatch(call(name, "a"))
        assert result.kind is ErrorKind.NOT_FOUND
    near = await lab.hub.dispatch(call("far_awya", "a"))
    assert near.meta["error"]["suggestions"] == ["far_away"]
    assert lab.asked("a", "tools/call") == 0


async def test_tools_with_the_name_of_a_native_one_are_reported(lab: Lab) -> None:
    lab.add("a", "far", "near")
    lab.add("b", "far", prefix="b_")
    await lab.hub.connect()
    lab.hub.register(lambda text: f"native {text}", name="far")
    notices = {server.id: server.notices for server in lab.hub.servers()}
    assert notices == {"a": ["its tool 'far' has the name of a native one"], "b": []}
    assert "Shadowing: mcps:a has the name of a native tool" in lab.hub.explain(call("far")).text


async def test_a_disabled_server_is_never_started(lab: Lab) -> None:
    lab.add("off", "far", disabled=True)
    assert (await lab.hub.dispatch(call("far"))).kind is ErrorKind.NOT_FOUND
    named = await lab.hub.dispatch(call("far", "off"))
    assert named.kind is ErrorKind.NOT_ALLOWED
    assert named.error == "Server 'off' is disabled in its configuration."
    assert lab.asked("off", "start") == 0


async def test_a_cancelled_look_leaves_the_others_looking(lab: Lab) -> None:
    lab.add("a", "far")
    first = asyncio.create_task(lab.hub.dispatch(call("far")))
    second = asyncio.create_task(lab.hub.dispatch(call("far")))
    async with asyncio.timeout(20):
        while lab.asked("a", "start") == 0:
            await asyncio.sleep(0.005)
    first.cancel()
    assert route(await second) == ("a x", "auto")
    assert lab.asked("a", "start") == 1


async def test_arguments_are_checked_against_the_list_that_was_just_fetched(lab: Lab) -> None:
    lab.add("a", "far")
    result = await lab.hub.dispatch({"name": "far", "arguments": {}})
    assert result.kind is ErrorKind.INVALID_ARGUMENTS
    assert lab.asked("a", "tools/call") == 0


@pytest.mark.parametrize("source", [None, "native", "a", "mcps"])
@pytest.mark.parametrize(
    ("allowed", "kind"),
    [
        (["a/*"], None),
        (["a/far"], None),
        (["far"], None),
        (["native/*"], "not_allowed"),
        (["*", "!a/*"], "not_allowed"),
        (["b/*"], "not_allowed"),
        (["near"], "not_allowed"),
    ],
)
async def test_who_has_a_tool_that_is_not_listed_yet_decides_whether_it_is_allowed(
    lab: Lab, source: str | None, allowed: list[str], kind: str | None
) -> None:
    lab.add("a", "far")
    text = f"<tool_call>{json.dumps(call('far', source))}</tool_call>"
    (result,) = (await lab.hub.run(text, allowed=allowed)).results
    assert (result.kind, result.result) == (kind, "a x" if kind is None else None)
    assert lab.asked("a", "tools/call") == (kind is None)
    assert lab.asked("a", "start") == (allowed != ["near"]), "no name that is allowed, no look"


async def test_a_tool_that_no_tool_has_is_not_found_whatever_is_allowed(lab: Lab) -> None:
    lab.add("a", "far")
    text = f"<tool_call>{json.dumps(call('ghost'))}</tool_call>"
    (result,) = (await lab.hub.run(text, allowed=["a/*"])).results
    assert (result.kind, result.meta["call_id"]) == ("not_found", "c")


async def test_a_harmless_tool_of_the_same_name_does_not_speak_for_a_server_that_has_listed_nothing(
    lab: Lab,
) -> None:
    lab.add("a", "far")
    lab.hub.register(lambda text: "native", name="far", read_only=True)
    for source, asked in ((None, 0), ("tools", 0), ("a", 1), ("mcps", 1)):
        questions: list[object] = []
        text = f"<tool_call>{json.dumps(call('far', source))}</tool_call>"
        (result,) = (await lab.hub.run(text, approve=questions.append)).results
        assert (len(questions), result.kind) == (asked, "not_allowed" if asked else None), source
    assert lab.asked("a", "tools/call") == 0


async def test_a_call_by_name_connects_the_server_that_has_the_tool(lab: Lab) -> None:
    lab.add("a", "far")
    lab.add("b", "near")
    first, second = await asyncio.gather(*(lab.hub.execute("far", {"text": text}) for text in "xy"))
    assert (first.result, second.result) == ("a x", "a y")
    assert lab.asked("a", "start") == 1
    (many,) = await lab.hub.execute_many([("near", {"text": "z"})])
    assert many.result == "b z"


async def test_a_call_by_capability_asks_all_servers(lab: Lab) -> None:
    lab.add("a", "search_notes")
    lab.add("b", "search_mail")
    result = await lab.hub.execute_by_capability("search", {"text": "x"}, strategy="all")
    assert sorted(attempt["server"] for attempt in result.meta["attempts"]) == ["a", "b"]


async def test_a_call_in_vain_says_who_could_not_be_asked(lab: Lab) -> None:
    lab.add("a", "far", mode="dies")
    for result in (await lab.hub.execute("far", "x"), await lab.hub.execute_by_capability("search", "x")):
        assert result.kind in (ErrorKind.NOT_FOUND, ErrorKind.NO_CAPABILITY)
        assert "Some servers could not be asked: " in str(result.error)
    lab.hub.register(len, name="length")
    assert (await lab.hub.execute("far", "x", source="tools")).kind is ErrorKind.NOT_FOUND
    assert lab.asked("a", "start") <= 2, "one try, perhaps in both eras; then it is left alone"


@pytest.mark.parametrize("routed", [False, True])
async def test_looking_counts_against_the_deadline(lab: Lab, routed: bool) -> None:
    lab.add("a", "far", mode="silent")
    if routed:
        result = await lab.hub.dispatch(call("far"), deadline=0.2)
    else:
        result = await lab.hub.execute("far", {"text": "x"}, deadline=0.2)
    assert result.kind is ErrorKind.TIMEOUT
    assert result.error == "'far' was not found within the deadline of 0.2 s (nothing was started)."
    assert result.meta["error"]["outcome"] == "not_sent"


async def test_a_named_server_that_cannot_be_reached_is_reported_alike_by_both_ways(lab: Lab) -> None:
    lab.hub.add_server("a", url="http://127.0.0.1:9/mcp", startup_timeout=5)
    routed = await lab.hub.dispatch(call("far", "a"))
    named = await lab.hub.execute("far", {"text": "x"}, server="a")
    assert routed.meta["error"].keys() == named.meta["error"].keys()
    assert routed.meta["error"]["retryable"] is named.meta["error"]["retryable"] is True
    assert routed.meta["error"]["outcome"] == named.meta["error"]["outcome"] == "not_sent"
    assert (routed.kind, routed.meta["error"]["status"]) == (named.kind, named.meta["error"]["status"])


async def test_a_server_that_does_not_know_its_tool_has_done_nothing(lab: Lab) -> None:
    lab.add("a", "send_mail", mode="forgets")
    lab.add("b", "send_mail")
    await lab.hub.connect(["a"])
    await lab.hub.connect(["b"])
    result = await lab.hub.execute("send_mail", {"text": "x"})
    assert result.meta["strategy"] == "fallback", "it has effects"
    assert [(one["server"], one["ok"]) for one in result.meta["attempts"]] == [("a", False), ("b", True)]
    assert result.result == "b x"


async def test_calls_that_share_an_answer_share_it_on_a_server_that_was_never_connected(lab: Lab) -> None:
    lab.add("a", "far", assume_read_only=True)
    calls = (lab.hub.execute("far", {"text": "x"}, single_flight=True, cache_ttl=60) for _ in range(3))
    assert [result.result for result in await asyncio.gather(*calls)] == ["a x"] * 3
    assert (await lab.hub.execute("far", {"text": "x"}, cache_ttl=60)).meta["cached"]
    assert lab.asked("a", "tools/call") == 1
