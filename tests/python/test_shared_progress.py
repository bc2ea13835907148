"""Followers of a shared call hear the progress of its run from when they joined."""

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from support.tools import Run, turns
from toolhub import ToolHub, current_call

SERVER = Path(__file__).parents[1] / "mcp" / "faults" / "stdio_server.py"


@pytest.mark.parametrize("kind", ["async", "sync"])
@pytest.mark.parametrize("leads", ["who listens", "who does not"])
def test_a_follower_hears_the_progress_from_when_it_joined(run: Run, kind: str, leads: str) -> None:
    async def scene() -> None:
        hub = ToolHub()
        began, go = threading.Event(), threading.Event()

        def work() -> str:
            current_call().report_progress(1)
            began.set()
            assert go.wait(30)
            current_call().report_progress(2)
            return "done"

        async def steps() -> str:
            current_call().report_progress(1)
            began.set()
            while not go.is_set():
                await asyncio.sleep(0.005)
            current_call().report_progress(2)
            return "done"

        hub.register(work if kind == "sync" else steps, name="work", read_only=True)
        heard: list[list[Any]] = [[], [], []]
        listening: list[dict[str, Any]] = [{"progress": one.append} for one in heard]
        if leads == "who does not":
            listening[0] = {}
        calls = [asyncio.create_task(hub.execute("work", single_flight=True, **listening[0]))]
        while not began.is_set():
            await asyncio.sleep(0.005)
        for options in listening[1:]:
            calls.append(asyncio.create_task(hub.execute("work", single_flight=True, **options)))
        leaver = asyncio.create_task(hub.execute("work", single_flight=True, progress=heard[2].append))
        await turns()
        leaver.cancel()
        await asyncio.wait([leaver])
        go.set()
        assert [(await call).result for call in calls] == ["done"] * 3
        both = [{"progress": 1}, {"progress": 2}]
        assert heard == [both if leads == "who listens" else [], both[1:], both[1:]]

    run(scene())


def test_a_follower_hears_the_progress_of_a_server(run: Run) -> None:
    async def scene() -> None:
        async with ToolHub() as hub:
            hub.add_server("lab", command=sys.executable, args=[str(SERVER)], effects=False)
            await hub.connect()
            updates: list[dict[str, Any]] = []
            options: dict[str, Any] = {"timeout": 1.0, "single_flight": True}
            leader = asyncio.create_task(hub.execute("progress_forever", **options))
            await turns()
            await hub.execute("progress_forever", progress=updates.append, **options)
            assert updates
            await leader

    run(scene())


def test_a_follower_that_leads_hears_the_progress_once(run: Run) -> None:
    """The leader is cancelled; another call follows the new one on its own."""

    async def scene() -> None:
        hub = ToolHub()
        began, go = asyncio.Semaphore(0), asyncio.Event()

        @hub.tool(read_only=True)
        async def work() -> str:
            began.release()
            await go.wait()
            current_call().report_progress(1)
            return "done"

        heard: list[list[Any]] = [[], [], []]
        calls = [
            asyncio.create_task(hub.execute("work", single_flight=True, progress=one.append)) for one in heard
        ]
        await began.acquire()
        await turns()
        calls[0].cancel()
        await began.acquire()
        await turns()
        go.set()
        for call in calls[1:]:
            assert (await call).success
        assert heard == [[], [{"progress": 1}], [{"progress": 1}]]

    run(scene())
