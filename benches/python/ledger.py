"""What the ledger adds to a call that may have effects, with 64 in flight, and to a read (bounds: 150 µs, and nothing); what a
call of a run costs beside a sync of the disk alone; and how long anything waits with a million rows."""

from __future__ import annotations

import asyncio
import gc
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

from harness import Row

from toolhub import ToolHub

IN_FLIGHT = 64
CALLS = 6_400
GOAL_MICROS = 150.0
# A read takes a few microseconds; what differs by less than this is noise of the machine.
NOISE_MICROS = 1.0

Execute = Callable[[str, dict[str, Any]], Awaitable[Any]]


def hub_in(folder: Path, ledger: Literal["required", "off"]) -> ToolHub:
    """A hub with a store, an async function that may have effects, and one that has none. Both wait once."""
    hub = ToolHub(store=folder / f"{ledger}.db", ledger=ledger)

    @hub.tool
    async def send(to: str, copies: int) -> int:
        await asyncio.sleep(0)
        return copies

    @hub.tool(read_only=True)
    async def read(box: str, number: int) -> int:
        await asyncio.sleep(0)
        return number

    return hub


async def micros(execute: Execute, tool: str) -> float:
    """The time of one of `CALLS` calls, when there are always `IN_FLIGHT` of them under way."""
    names = ("to", "copies") if tool == "send" else ("box", "number")
    numbers = iter(range(CALLS))

    async def work() -> None:
        for number in numbers:
            result = await execute(tool, dict(zip(names, ("somebody@example.org", number), strict=True)))
            if result["result"] != number:
                raise AssertionError(f"a wrong answer: {result}")

    gc.collect()
    gc.disable()
    begun = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    taken = time.perf_counter() - begun
    gc.enable()
    return taken / CALLS * 1e6


def syncs_of(folder: Path, count: int) -> list[float]:
    """The microseconds of a sync after a page of a file was written again, as in SQLite's log: the file does not grow."""
    times: list[float] = []
    with (folder / "synced").open("wb", buffering=0) as file:
        file.write(bytes(4096))
        os.fsync(file.fileno())
        for number in range(count):
            os.pwrite(file.fileno(), bytes([number % 256]) * 4096, 0)
            begun = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - begun) * 1e6)
    return times


def one_by_one(hub: ToolHub, count: int, run: str | None) -> list[float]:
    """The microseconds of each of some calls, one after the other."""
    times: list[float] = []
    for number in range(count):
        begun = time.perf_counter()
        result = hub.call("send", {"to": "somebody@example.org", "copies": number}, run=run)
        times.append((time.perf_counter() - begun) * 1e6)
        if result.result != number:
            raise AssertionError(f"a wrong answer: {result}")
    return times


def in_runs(folder: Path, count: int = 300) -> None:
    hub = hub_in(folder / "runs", "required")
    one_by_one(hub, 50, None)
    print(f"\nRuns, {count} calls one after the other, median")
    for name, times in (
        ("fdatasync of a page alone", syncs_of(folder, count)),
        ("a call with effects, without a run", one_by_one(hub, count, None)),
        ("a call with effects, in a run", one_by_one(hub, count, "monday")),
    ):
        print(f"  {name:42} {statistics.median(times):12.2f} µs")
    begun = time.perf_counter()

    async def many() -> None:
        calls = (hub.execute("send", {"to": "a", "copies": n}, run="group") for n in range(6_400))
        waiting = list(calls)
        for at in range(0, len(waiting), IN_FLIGHT):
            await asyncio.gather(*waiting[at : at + IN_FLIGHT])

    asyncio.run(many())
    each = (time.perf_counter() - begun) / 6_400 * 1e6
    print(f"  {f'the same, {IN_FLIGHT} at once, each':42} {each:12.2f} µs")
    hub.close()


def with_a_million_rows(folder: Path, rows: int = 1_000_000) -> None:
    """`ledger(run)`, and the slowest call while old rows are deleted. The rows are written as the hub writes them."""
    hub = hub_in(folder / "many", "required")
    one_by_one(hub, 1, "monday")
    hub.close()
    file = sqlite3.connect(folder / "many" / "required.db", isolation_level=None)
    columns = "id, run, call, principal, tool, source, server, definition, key, arguments, state, owner, started_at, ended_at"
    before = int(time.time() * 1e6) - 3_600_000_000

    def row(number: int) -> tuple[Any, ...]:
        at = before + number
        run = f"run {number // 1_000}" if number % 2 else None
        id = f"{at:014x}{number:010x}"
        digest = f"sha256:{number:064x}"
        return (id, run, id, "", "send", "tools", "", digest, digest, digest, "done", "gone", at, at)

    file.execute("BEGIN")
    file.executemany(f"INSERT INTO ledger ({columns}) VALUES ({', '.join('?' * 14)})", map(row, range(rows)))
    file.executemany(
        "INSERT INTO run_calls (principal, run, key, occurrence, tool, definition, call, state, result) "
        "VALUES ('', ?, ?, 0, 'send', '', ?, 'over', '{}')",
        ((one[1], one[0], one[0]) for one in map(row, range(1, rows, 2))),
    )
    file.execute("COMMIT")
    file.close()
    hub = hub_in(folder / "many", "required")

    def timed(work: Callable[[], Any]) -> float:
        begun = time.perf_counter()
        work()
        return (time.perf_counter() - begun) * 1e3

    print(f"\nLedger, {rows:,} rows")
    filters: dict[str, Callable[[], Any]] = {
        "ledger(run)": lambda: hub.ledger(f"run {rows // 2_000}"),
        "ledger()": lambda: hub.ledger(),
        "ledger(state='unknown')": lambda: hub.ledger(state="unknown"),
        "ledger(tool=...)": lambda: hub.ledger(tool="send"),
    }
    for name, work in filters.items():
        print(f"  {name:42} {statistics.median(timed(work) for _ in range(9)):12.2f} ms")
    times = one_by_one(hub, 4_000, None)
    print(f"  {'slowest of 4,000 calls while tidying':42} {max(times) / 1e3:12.2f} ms")
    print(f"  {'median':42} {statistics.median(times) / 1e3:12.2f} ms")
    hub.close()


def mark(is_reached: bool) -> str:
    return "✓" if is_reached else "✗ missed"


def run(rounds: int) -> list[Row]:
    samples: dict[str, list[float]] = {}
    made = 0
    with tempfile.TemporaryDirectory() as folder:
        hubs = {
            "without a ledger": hub_in(Path(folder), "off"),
            "with a ledger": hub_in(Path(folder), "required"),
        }
        for _ in range(max(3, rounds // 3)):
            made += CALLS
            for tool in ("send", "read"):
                for name, hub in hubs.items():
                    samples.setdefault(f"{tool}, {name}", []).append(asyncio.run(micros(hub.execute, tool)))
        ledger = hubs["with a ledger"].ledger(limit=made + 1)
        if len(ledger) != made or any(row.state != "done" for row in ledger[:-IN_FLIGHT]):
            raise AssertionError(f"{len(ledger)} rows for {made} calls")
        for hub in hubs.values():
            hub.close()
    medians = {name: statistics.median(values) for name, values in samples.items()}
    print(f"\nLedger, {IN_FLIGHT} calls of an async function in flight, {made:,} rows in the end")
    for name, value in medians.items():
        print(f"  {name:42} {value:12.2f} µs")
    added = {
        tool: medians[f"{tool}, with a ledger"] - medians[f"{tool}, without a ledger"]
        for tool in ("send", "read")
    }
    print(
        f"  a call with effects: {added['send']:+.1f} µs (goal: ≤ {GOAL_MICROS:g})  {mark(added['send'] <= GOAL_MICROS)}"
    )
    print(f"  a read: {added['read']:+.2f} µs (goal: 0)  {mark(added['read'] <= NOISE_MICROS)}")
    with tempfile.TemporaryDirectory() as folder:
        in_runs(Path(folder))
        with_a_million_rows(Path(folder))
    base = next(iter(medians.values()))
    return [Row("Ledger", name, value, value / base) for name, value in medians.items()]


if __name__ == "__main__":
    run(7)
