"""The pool for many rounds, memory and threads over many calls, and how long the GIL is held."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))

from bridge.kit import in_thread, pool_at_rest
from bridge.test_workers import nested_calls_then_instant_ones
from toolhub import ToolHub


def pool(rng: random.Random) -> None:
    """Nested calls that time out, then instant ones: 1,000 rounds, and the pool comes to rest."""
    hub = ToolHub(limits={"breaker_threshold": 0})
    hub.register(in_thread)
    nested_calls_then_instant_ones(hub, int(os.environ.get("TORTURE_POOL_ROUNDS") or 1000))
    pool_at_rest()


def _resources() -> tuple[int, int, int]:
    """(resident KiB, threads, open descriptors)"""
    gc.collect()
    status = Path("/proc/self/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return int(fields["VmRSS"].split()[0]), int(fields["Threads"]), len(os.listdir("/proc/self/fd"))


def soak(rng: random.Random) -> str:
    """Many calls of every kind: memory, threads and descriptors stay as they were after the first ones."""
    calls = int(os.environ.get("TORTURE_SOAK_CALLS") or 20_000)

    async def get_answer(n: int) -> dict[str, int]:
        await asyncio.sleep(0)
        return {"n": n}

    async def get_broken() -> None:
        raise ValueError("broken")

    async def get_hanging() -> None:
        await asyncio.get_running_loop().create_future()

    hub = ToolHub(limits={"breaker_threshold": 0})
    hub.register(in_thread, name="get_in_thread")
    for tool in (get_answer, get_broken, get_hanging):
        hub.register(tool, read_only=True)

    async def one(n: int) -> None:
        match rng.randrange(10):
            case 0:
                assert not (await hub.execute("get_broken")).success
            case 1:
                task = asyncio.ensure_future(hub.execute("get_hanging"))
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait({task})
            case 2:
                assert (await hub.execute("get_in_thread")).success
            case 3:
                assert (await hub.execute("nowhere")).kind == "not_found"
            case _:
                assert (await hub.execute("get_answer", {"n": n})).result == {"n": n}

    async def many(count: int) -> None:
        for start in range(0, count, 50):
            await asyncio.gather(*(one(start + n) for n in range(50)))

    asyncio.run(many(calls // 4))
    before = _resources()
    for _ in range(3):
        asyncio.run(many(calls // 3))
    after = _resources()
    assert after[0] < before[0] + 20_000, f"memory grew from {before[0]} to {after[0]} KiB"
    assert after[1] <= before[1] + 8, f"threads grew from {before[1]} to {after[1]}"
    assert after[2] <= before[2] + 8, f"descriptors grew from {before[2]} to {after[2]}"
    return f"{calls} calls, {after[0] - before[0]:+} KiB"


def gil(rng: random.Random) -> str:
    """The longest time for which other Python threads stood still. Reported only: a busy machine makes it long, too."""
    big = {f"key {n}": ["x" * 50] * 10 for n in range(20_000)}
    hub = ToolHub(limits={"breaker_threshold": 0})
    hub.register(lambda value: value, name="get_big", parameters={"type": "object"}, read_only=True)
    longest, over = 0.0, threading.Event()

    def watch() -> None:
        nonlocal longest
        last = time.perf_counter()
        while not over.is_set():
            time.sleep(0)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        hub.call("get_big", {"value": big})
    finally:
        over.set()
        watcher.join()
    return f"other threads stood still for up to {longest * 1000:.0f} ms in the last round"
