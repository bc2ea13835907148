"""Measuring: contenders of one group run in turn, round after round, and are compared within that one run.

A figure is a ratio of medians. Absolute times are shown to make the ratios plausible; they depend on the machine.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

AsyncBody = Callable[[], Awaitable[Any]]
SyncBody = Callable[[], Any]


@dataclass
class Group:
    """Contenders for the same work. The first one is the baseline; `goal` is ours over the baseline, at most."""

    title: str
    goal: float | None = None
    contenders: dict[str, tuple[Any, int]] = field(default_factory=dict)
    note: str = ""

    def add(self, name: str, body: AsyncBody | SyncBody, times: int) -> None:
        """One contender; `times` calls make one sample."""
        self.contenders[name] = (body, times)


@dataclass
class Row:
    group: str
    name: str
    micros: float
    ratio: float


def _report(group: Group, samples: dict[str, list[float]]) -> list[Row]:
    medians = {name: statistics.median(values) for name, values in samples.items()}
    baseline = next(iter(medians.values()))
    rows = [Row(group.title, name, micros, micros / baseline) for name, micros in medians.items()]
    print(f"\n{group.title}" + (f"   (goal for toolhub: ≤ {group.goal:g}×)" if group.goal else ""))
    if group.note:
        print(f"  {group.note}")
    widest = max(row.micros for row in rows)
    for row in rows:
        bar = "█" * max(1, round(30 * row.micros / widest))
        mark = ""
        if group.goal and row.name.startswith("toolhub"):
            mark = "  ✓" if row.ratio <= group.goal else "  ✗ over the goal"
        print(f"  {row.name:42} {row.micros:12.2f} µs  {row.ratio:7.2f}×  {bar}{mark}")
    return rows


async def measure_async(group: Group, rounds: int) -> list[Row]:
    """All contenders on the running loop, interleaved."""
    samples: dict[str, list[float]] = {name: [] for name in group.contenders}
    for body, _ in group.contenders.values():
        await body()
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, (body, times) in group.contenders.items():
                begun = time.perf_counter()
                for _ in range(times):
                    await body()
                samples[name].append((time.perf_counter() - begun) / times * 1e6)
                await asyncio.sleep(0)
    finally:
        gc.enable()
    return _report(group, samples)


def measure_sync(group: Group, rounds: int) -> list[Row]:
    """The same for blocking bodies."""
    samples: dict[str, list[float]] = {name: [] for name in group.contenders}
    for body, _ in group.contenders.values():
        body()
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, (body, times) in group.contenders.items():
                begun = time.perf_counter()
                for _ in range(times):
                    body()
                samples[name].append((time.perf_counter() - begun) / times * 1e6)
    finally:
        gc.enable()
    return _report(group, samples)
