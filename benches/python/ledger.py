"""What the ledger adds to a call that may have effects, with 64 in flight, and to a read. Bounds: 150 µs, and nothing."""

from __future__ import annotations

import asyncio
import gc
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
    base = next(iter(medians.values()))
    return [Row("Ledger", name, value, value / base) for name, value in medians.items()]


if __name__ == "__main__":
    run(7)
