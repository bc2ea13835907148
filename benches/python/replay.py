"""What recording adds to a call, and how many calls a second are replayed. Bounds: 20 µs a call, 20,000 calls a second."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from harness import Row

from toolhub import ToolHub
from toolhub.testing import record, replay

CALLS = 10_000
GOAL_MICROS = 20.0
GOAL_A_SECOND = 20_000


def mark(is_reached: bool) -> str:
    return "✓" if is_reached else "✗ missed"


# Secrets are looked for in texts, which must not be slow in any script.
TEXTS = {
    "numbers": None,
    "200 letters": "The quick brown fox. " * 10,
    "200 characters": "敏捷的棕色狐狸跳过了懒狗。" * 15,
}


def run(rounds: int) -> list[Row]:
    return [row for name, text in TEXTS.items() for row in run_with(name, text, rounds)]


def run_with(kind: str, text: str | None, rounds: int) -> list[Row]:
    hub = ToolHub()

    @hub.tool(read_only=True)
    async def add(a: int, b: int) -> int:
        return a + b

    @hub.tool(read_only=True)
    async def find(number: int, text: str) -> str:
        return text

    async def calls() -> float:
        begun = time.perf_counter()
        for number in range(CALLS):
            if text is None:
                result = await hub.execute("add", {"a": number, "b": 1})
            else:
                result = await hub.execute("find", {"number": number, "text": text})
            if result["result"] != (number + 1 if text is None else text):
                raise AssertionError(f"a wrong answer: {result}")
        return (time.perf_counter() - begun) / CALLS * 1e6

    samples: dict[str, list[float]] = {"toolhub": [], "toolhub, recorded": [], "toolhub, replayed": []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calls.ndjson"
        for _ in range(max(3, rounds // 6)):
            samples["toolhub"].append(asyncio.run(calls()))
            with record(path):
                samples["toolhub, recorded"].append(asyncio.run(calls()))
            with replay(path):
                samples["toolhub, replayed"].append(asyncio.run(calls()))
    micros = {name: statistics.median(values) for name, values in samples.items()}
    added = micros["toolhub, recorded"] - micros["toolhub"]
    a_second = 1e6 / micros["toolhub, replayed"]
    title = f"Record and replay, {kind}"
    print(f"\n{title}: {CALLS:,} calls of an async function, one after another")
    for name, value in micros.items():
        print(f"  {name:42} {value:12.2f} µs")
    print(f"  recording adds {added:.1f} µs a call (goal: ≤ {GOAL_MICROS:g})  {mark(added <= GOAL_MICROS)}")
    print(f"  replay: {a_second:,.0f} calls/s (goal: ≥ {GOAL_A_SECOND:,})  {mark(a_second >= GOAL_A_SECOND)}")
    base = micros["toolhub"]
    return [Row(title, name, value, value / base) for name, value in micros.items()]


if __name__ == "__main__":
    run(7)
