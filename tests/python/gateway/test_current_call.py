"""Tools in Python report progress, log, ask and see cancellations: through real clients, and without any."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.test_serving import served_over_http
from support.gateway import call, served
from support.warm import warm
from toolhub import ToolHub, current_call

HERE = Path(__file__).parent
DONE = [
    "done",
    [[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]],
    [["warning", "work", {"text": "almost done"}]],
]
MISSING_CAPABILITY = -32021


@pytest.mark.parametrize(
    ("environment", "path"), [("mcp1", "/mcp"), ("mcp1", "/sse"), ("mcp2", "/mcp")], ids=["1", "1-sse", "2"]
)
@pytest.mark.parametrize("habit", ["accept", "decline", "none"])
def test_a_client_of_each_sdk_gets_reports_and_is_asked(environment: str, path: str, habit: str) -> None:
    answered: Any = {"accept": {"action": "accept", "city": "Bergen"}, "decline": {"action": "decline"}}
    unable = "failed" if environment == "mcp1" else MISSING_CAPABILITY
    with served_over_http(str(HERE / "talking_program.py")) as (_, url):
        address = url.removesuffix("/mcp") + path
        client = [*warm(environment), str(HERE / "talking_client.py"), address, habit]
        run = subprocess.run(client, capture_output=True, text=True, timeout=50)
        assert run.returncode == 0, run.stderr
    answer = answered.get(habit, unable)
    assert json.loads(run.stdout) == {
        "work": DONE,
        "work_in_thread": DONE,
        "travel": answer,
        "travel_in_thread": answer,
        "given up": "true",
    }


def in_async(report: Callable[[], None]) -> Any:
    async def tool() -> str:
        report()
        await asyncio.sleep(0)
        report()
        return "done"

    return tool


def in_thread(report: Callable[[], None]) -> Any:
    def tool() -> str:
        report()
        report()
        return "done"

    return tool


@pytest.mark.parametrize("kind", [in_async, in_thread])
@pytest.mark.parametrize("others", [0, 1], ids=["alone", "raced"])
def test_progress_of_a_direct_call_is_complete_when_it_returns(kind: Any, others: int) -> None:
    hub, reports = ToolHub(), []

    def report() -> None:
        current_call().report_progress(2, 4, "half")

    for at in range(others + 1):
        hub.register(kind(report), name="tool", source=("tools", "skills")[at], read_only=True)
    strategy: Any = "all" if others else "first"
    assert hub.call("tool", {}, progress=reports.append, strategy=strategy).success
    assert reports == [{"progress": 2, "total": 4, "message": "half"}] * (2 * (others + 1))
    hub.call("tool", {})
    assert len(reports) == 2 * (others + 1), "a call without a function for it reports nothing"


def test_reports_of_calls_side_by_side_stay_apart() -> None:
    hub = ToolHub()

    @hub.tool
    async def count(number: int) -> int:
        """Report a number."""
        await asyncio.sleep(0)
        current_call().report_progress(number)
        return number

    async def main() -> None:
        reports: list[list[Any]] = [[] for _ in range(8)]
        calls = (hub.execute("count", {"number": at}, progress=reports[at].append) for at in range(8))
        await asyncio.gather(*calls)
        assert reports == [[{"progress": at}] for at in range(8)]

    asyncio.run(main())


@pytest.mark.anyio
async def test_a_tool_knows_who_calls_and_no_token() -> None:
    hub = ToolHub()

    def seen() -> str:
        principal = current_call().principal
        return "none" if principal is None else json.dumps(vars(principal))

    async def who() -> str:
        """Who calls?"""
        return seen()

    hub.register(who, name="who_async")
    hub.register(seen, name="who_sync")

    @hub.tool
    async def who_inside() -> str:
        """Who is the caller of a call inside this one?"""
        return (await hub.execute("who_async")).text

    def authenticate(token: str | None, _: dict[str, str]) -> Any:
        team = {"name": token, "claims": {"team": "blue"}, "view": "own"}
        return {**team, "upstream_token": "upstream-secret"} if token else None

    tools = ("who_async", "who_sync", "who_inside")
    async with served(hub, authenticate=authenticate, views={"own": {}}) as at:
        for name in ("incoming-ann", "incoming-bob"):
            expected = {"id": f"user:{name}", "name": name, "claims": {"team": "blue"}, "view": "own"}
            for tool in tools:
                assert json.loads((await call(at.url, tool, name)).content) == expected
    async with served(hub) as at:
        assert [(await call(at.url, tool)).content for tool in tools] == ["none"] * 3
    assert [(await hub.execute(tool)).text for tool in tools] == ["none"] * 3


def test_nothing_happens_outside_of_a_served_hub(caplog: pytest.LogCaptureFixture) -> None:
    hub, seen = ToolHub(), []

    @hub.tool
    def alone() -> str:
        """Use everything."""
        call = current_call()
        call.report_progress(1, 2)
        call.log("notice", "hello")
        seen.append((call.can_ask, call.cancelled, call.ask_sync("Sure?").action))
        return "done"

    with caplog.at_level(logging.INFO, "toolhub.tools"):
        assert hub.call("alone", {}).result == "done"
        assert asyncio.run(current_call().ask("Sure?")).accepted is False
    assert seen == [(False, False, "decline")]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("INFO", "hello")]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda call: call.report_progress("far"), "progress must be a number, got the text"),
        (lambda call: call.report_progress(float("nan")), "progress must be a finite number, got nan"),
        (lambda call: call.report_progress(1, float("inf")), "total must be a finite number, got inf"),
        (lambda call: call.report_progress(1, message=b"x"), "message must be text"),
        (lambda call: call.log("loud", "x"), "level must be one of debug, info"),
        (lambda call: call.ask_sync("Sure?", ["x"]), "schema must be a mapping"),
        (lambda call: call.ask_sync(5), "message must be text"),
    ],
)
def test_wrong_values_are_refused_everywhere(wrong: Callable[[Any], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        wrong(current_call())
