"""`progress` is called beside the call: in order, on a thread of ours, and without holding anything up."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from bridge.kit import SCRIPTS
from toolhub import ErrorKind, ToolHub
from toolhub._user_functions import ProgressReports


def reported(function: Any, reports: list[int], deadline: float | None = None) -> None:
    """What the core does: hand over reports on the event loop, then wait until they were seen."""

    async def main() -> None:
        progress = ProgressReports(function, deadline)
        for report in reports:
            progress(report)
        await progress.settle()

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_reports_come_one_after_another_in_their_order(kind: str) -> None:
    seen: list[int] = []
    inside = 0

    def plain(report: int) -> None:
        nonlocal inside
        inside += 1
        assert inside == 1
        seen.append(report)
        inside -= 1

    async def slow(report: int) -> None:
        nonlocal inside
        inside += 1
        await asyncio.sleep(0)
        assert inside == 1
        seen.append(report)
        inside -= 1

    reported(plain if kind == "plain" else slow, list(range(50)))
    assert seen == list(range(50))


def test_a_plain_function_runs_on_a_thread_of_ours() -> None:
    names: list[str] = []
    reported(lambda report: names.append(threading.current_thread().name), [1])
    assert names == ["toolhub-callback"]


def test_a_function_that_fails_is_logged_and_gets_the_next_report(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[int] = []

    def fails(report: int) -> None:
        seen.append(report)
        raise ValueError("no")

    reported(fails, [1, 2])
    assert seen == [1, 2]
    assert "'progress' failed" in caplog.text


REPORTING = """
import json, sys

for line in sys.stdin:
    request = json.loads(line)
    method, params = request["method"], request.get("params", {})
    if method == "tools/list":
        result = {"tools": [{"name": "count", "inputSchema": {"type": "object"}}]}
    elif method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "reporting", "version": "1"}}
    elif method == "tools/call":
        token = params["_meta"]["progressToken"]
        # In one write, so that all of them are there before the loop takes the first.
        reports = [{"jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": n, "total": 500}} for n in range(1, 501)]
        sys.stdout.write("".join(json.dumps(report) + "\\n" for report in reports))
        result = {"content": [{"type": "text", "text": "counted"}]}
    else:
        result = None
    if "id" in request:
        error = {"error": {"code": -32601, "message": "Method not found"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **({"result": result} if result else error)}), flush=True)
"""


@pytest.mark.parametrize("blocking", [False, True])
def test_all_reports_of_a_server_arrive_in_their_order(blocking: bool) -> None:
    seen: list[float] = []
    with ToolHub() as hub:
        hub.add_server("s", command=sys.executable, args=["-c", REPORTING])

        def note(report: dict[str, Any]) -> None:
            seen.append(report["progress"])

        options: Any = {"server": "s", "progress": note}
        result = hub.call("count", **options) if blocking else asyncio.run(hub.execute("count", **options))
    assert result.result == "counted", result
    assert seen == list(range(1, 501))


def test_a_function_that_hangs_does_not_hold_up_the_deadline(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    mark.write_bytes(b"\0")
    hub = ToolHub()
    hub.add_server("s", command=sys.executable, args=[str(SCRIPTS / "chatty_server.py"), str(mark)])
    released, began = threading.Event(), threading.Event()
    watchdog = threading.Timer(60, released.set)
    watchdog.start()

    def hangs(report: Any) -> None:
        began.set()
        released.wait()

    try:
        hub.connect_sync()
        result = asyncio.run(hub.execute("step", server="s", progress=hangs, deadline=2))
        assert result.kind is ErrorKind.TIMEOUT
        assert began.is_set()
        assert not released.is_set()
    finally:
        watchdog.cancel()
        released.set()
        hub.close()
