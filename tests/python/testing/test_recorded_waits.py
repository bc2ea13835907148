"""A call that ended while it waited at a limit is on the cassette, and has a row if it may have effects."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from support.gateway import call, served
from support.tools import turns
from toolhub import ToolHub
from toolhub.testing import record, replay

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.ndjson"


class Door:
    """A tool that lets one call in at a time, and each for as long as it stays closed."""

    def __init__(self, store: Path | None = None, **options: Any) -> None:
        self.hub = ToolHub(limits={"max_waiting": 1}, store=store)
        self.runs: list[int] = []
        self.go = asyncio.Event()
        self.hub.register(self.enter, max_concurrency=1, **options)

    async def enter(self, n: int) -> int:
        self.runs.append(n)
        await self.go.wait()
        return n

    async def program(self, **options: Any) -> list[Any]:
        """One call is inside, and another one gives up while it waits."""
        self.go.clear()
        first = asyncio.create_task(self.hub.execute("enter", {"n": 1}))
        await turns()
        second = await self.hub.execute("enter", {"n": 2}, **options)
        self.go.set()
        return [await first, second]


def outcomes(path: Path) -> list[tuple[int, str]]:
    events = [json.loads(line) for line in path.read_text().splitlines()]
    calls = [event for event in events if event["type"] == "call"]
    return sorted((event["arguments"]["n"], event["outcome"]) for event in calls)


@pytest.mark.parametrize("options", [{"timeout": 0.05}, {"deadline": 0.05}], ids=str)
async def test_a_call_that_ran_out_of_time_is_replayed(path: Path, options: dict[str, Any]) -> None:
    door = Door(read_only=True)
    with record(path):
        first = await door.program(**options)
    assert first[1].meta["error"]["outcome"] == "not_sent"
    with replay(path):
        again = await door.program(**options)
    for before, after in zip(first, again, strict=True):
        assert (after.get("result"), after.get("error")) == (before.get("result"), before.get("error"))
        assert after.meta.get("error") == before.meta.get("error")
    assert door.runs == [1]


async def test_a_call_that_was_refused_by_a_full_queue_is_replayed(path: Path) -> None:
    door = Door(read_only=True)

    async def program() -> Any:
        door.go.clear()
        calls: list[Any] = []
        for n in (1, 2):
            calls.append(asyncio.create_task(door.hub.execute("enter", {"n": n})))
            await turns()
        refused = await door.hub.execute("enter", {"n": 3})
        door.go.set()
        await asyncio.gather(*calls)
        return refused

    with record(path):
        first = await program()
    with replay(path):
        again = await program()
    assert (first.kind, first.error, first.meta["error"]) == (again.kind, again.error, again.meta["error"])
    assert outcomes(path) == [(1, "ok"), (2, "ok"), (3, "overloaded")]


async def test_a_call_that_was_cancelled_in_the_queue_is_replayed(path: Path) -> None:
    door = Door(read_only=True)

    async def program() -> None:
        door.go.clear()
        first = asyncio.create_task(door.hub.execute("enter", {"n": 1}))
        await turns()
        second = asyncio.create_task(door.hub.execute("enter", {"n": 2}))
        await turns()
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        door.go.set()
        await first

    with record(path):
        await program()
    assert outcomes(path) == [(1, "ok"), (2, "stopped")]
    with replay(path):
        await program()


@pytest.mark.parametrize("run", [None, "monday"])
@pytest.mark.parametrize("end", ["timeout", "deadline", "cancel", "full"])
async def test_a_call_that_gave_up_in_the_queue_has_a_row(end: str, run: str | None, tmp_path: Path) -> None:
    door = Door(tmp_path / "store.db", effects=True)
    hub = door.hub
    options: dict[str, Any] = {"run": run} if run else {}
    first = asyncio.create_task(hub.execute("enter", {"n": 1}, **options))
    while not door.runs:
        await asyncio.sleep(0.01)
    limit = {end: 0.05} if end in ("timeout", "deadline") else {}
    waits = asyncio.create_task(hub.execute("enter", {"n": 2}, **limit, **options))
    await asyncio.sleep(0 if limit else 0.05)
    if end == "full":
        assert (await hub.execute("enter", {"n": 3}, **options)).kind == "overloaded"
    if not limit:
        waits.cancel()
    await asyncio.wait([waits])
    door.go.set()
    assert (await first).result == 1
    rows = hub.ledger(run) if run else hub.ledger()
    given_up = 2 if end == "full" else 1
    assert sorted(row.state for row in rows) == sorted(["done", *["not_sent"] * given_up])
    assert all(row.error for row in rows if row.state == "not_sent")
    keys = {row.key for row in rows}
    assert len(keys) == len(rows)
    assert None not in keys
    # Nothing happened, so a run makes the call again.
    assert (await hub.execute("enter", {"n": 2}, **options)).result == 2
    assert door.runs == [1, 2]
    await hub.aclose()


async def test_a_served_call_that_gave_up_in_the_queue_is_recorded_and_has_a_row(
    path: Path, tmp_path: Path
) -> None:
    door = Door(tmp_path / "store.db", effects=True, timeout=0.3)
    async with door.hub, served(door.hub) as serving:

        async def program() -> list[str]:
            door.go.clear()
            first = asyncio.create_task(door.hub.execute("enter", {"n": 1}, timeout=30))
            await turns()
            second = await call(serving.url, "enter", n=2)
            door.go.set()
            assert (await first).result == 1
            return [second.text]

        with record(path):
            texts = await program()
        assert [row.state for row in door.hub.ledger()] == ["done", "not_sent"]
        with replay(path):
            assert await program() == texts
    assert "not started" in texts[0]
    assert door.runs == [1]
    assert outcomes(path) == [(1, "ok"), (2, "timeout")]
