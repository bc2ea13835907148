"""What a tool in Python reports is in the cassette, and a replay reports it again."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub, current_call
from toolhub.testing import record, replay

pytestmark = pytest.mark.anyio

REPORTS: list[dict[str, Any]] = [{"progress": 1, "total": 2}, {"progress": 2, "total": 2, "message": "done"}]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.ndjson"


def recorded(path: Path) -> dict[str, list[dict[str, Any]]]:
    """What each tool in Python has reported."""
    events = [json.loads(line) for line in path.read_text().splitlines()]
    calls = [event for event in events if event["type"] == "call" and event["candidate"] == "tools"]
    return {event["tool"]: event.get("progress", []) for event in calls}


def report() -> None:
    for update in REPORTS:
        current_call().report_progress(**update)


async def stepped() -> str:
    report()
    await asyncio.sleep(0)
    return "done"


def threaded() -> str:
    report()
    return "done"


def elsewhere() -> str:
    """The call goes along to a thread that has no context."""
    call = current_call()

    def work() -> None:
        for update in REPORTS:
            call.report_progress(**update)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return "done"


def given() -> Any:
    """A plain function that gives a coroutine."""
    return stepped()


@pytest.mark.parametrize("tool", [stepped, threaded, elsewhere, given])
@pytest.mark.parametrize(
    "options", [{}, {"strategy": "all"}, {"deadline": 30}], ids=lambda options: str(options)
)
async def test_reports_are_recorded_and_replayed(
    path: Path, tool: Callable[[], Any], options: dict[str, Any]
) -> None:
    hub = ToolHub()
    hub.register(tool, name="work", read_only=True)
    if "strategy" in options:
        # Candidates that run beside one another are tasks of their own.
        hub.register(lambda: "other", name="work", read_only=True, source="mcps", server="s")
    for scene in (record, replay):
        seen: list[dict[str, Any]] = []
        with scene(path):
            result = await hub.execute("work", progress=seen.append, **options)
        assert "done" in result.result
        assert seen == REPORTS
    assert recorded(path) == {"work": REPORTS}


def test_blocking_calls_too(path: Path) -> None:
    hub = ToolHub()
    hub.register(threaded, read_only=True)
    for scene in (record, replay):
        seen: list[dict[str, Any]] = []
        with scene(path):
            hub.call("threaded", progress=seen.append)
        assert seen == REPORTS
    assert recorded(path) == {"threaded": REPORTS}


@pytest.mark.parametrize("has_own", [False, True], ids=["the same caller", "a caller of its own"])
async def test_each_call_has_the_reports_that_its_caller_heard(path: Path, has_own: bool) -> None:
    hub = ToolHub()
    hub.register(stepped, read_only=True)
    inner: list[dict[str, Any]] = []

    @hub.tool(read_only=True)
    async def outer() -> str:
        current_call().report_progress(0)
        options: dict[str, Any] = {"progress": inner.append} if has_own else {}
        await hub.execute("stepped", **options)
        current_call().report_progress(9)
        return "outer"

    heard = [{"progress": 0}, *([] if has_own else REPORTS), {"progress": 9}]
    for scene in (record, replay):
        seen: list[dict[str, Any]] = []
        with scene(path):
            await hub.execute("outer", progress=seen.append)
        assert seen == heard
    assert recorded(path) == {"stepped": REPORTS, "outer": heard}
    assert inner == (REPORTS if has_own else [])


async def test_a_call_whose_caller_wants_no_reports_has_none(path: Path) -> None:
    hub = ToolHub()
    hub.register(stepped, read_only=True)
    with record(path):
        await hub.execute("stepped")
    assert recorded(path) == {"stepped": []}


async def test_a_report_that_comes_too_late_is_not_recorded(path: Path) -> None:
    hub, ended, told = ToolHub(), asyncio.Event(), asyncio.Event()

    @hub.tool(read_only=True)
    async def early() -> str:
        current_call().report_progress(1)

        async def goes_on() -> None:
            await ended.wait()
            current_call().report_progress(2)
            told.set()

        asyncio.get_running_loop().create_task(goes_on())
        await asyncio.sleep(0)
        return "early"

    with record(path):
        await hub.execute("early", progress=lambda _: None)
        ended.set()
        await told.wait()
    assert recorded(path) == {"early": [{"progress": 1}]}
