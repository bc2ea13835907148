"""One client in a process of its own: it connects and then measures what it is asked to, a line of JSON for a line of JSON.

python mcp_worker.py toolhub http://127.0.0.1:8123/mcp
{"do": "latency", "calls": 200}      → {"micros": 61.2, "cpu": 48.0}     median of single calls; CPU per call
{"do": "crowd", "calls": 5000}       → {"per_second": 21000, "cpu": 30}  with 64 calls in flight
{"do": "idle", "count": 100}         → {"kilobytes": 120}                of one more connected server
{"do": "cold", "count": 10}          → {"seconds": 0.3}                  to connect so many new ones in one hub
{"do": "soak", "calls": 100000}      → {"megabytes": [40.1, …]}          after every tenth of the calls
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import logging
import statistics
import sys
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from mcp_clients import ANSWER

Call = Callable[[], Awaitable[str]]
IN_FLIGHT = 64


async def checked(call: Call) -> None:
    """A benchmark must not be fast by doing nothing."""
    answer = await call()
    if answer != ANSWER:
        raise SystemExit(f"expected {ANSWER!r}, got {answer!r}")


async def latency(call: Call, calls: int) -> dict[str, float]:
    times: list[float] = []
    cpu = time.process_time()
    for _ in range(calls):
        begun = time.perf_counter()
        await checked(call)
        times.append(time.perf_counter() - begun)
    cpu = time.process_time() - cpu
    return {"micros": statistics.median(times) * 1e6, "cpu": cpu / calls * 1e6}


async def crowd(call: Call, calls: int) -> dict[str, float]:
    async def work() -> None:
        for _ in range(calls // IN_FLIGHT):
            await checked(call)

    calls = calls // IN_FLIGHT * IN_FLIGHT
    begun, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    took, cpu = time.perf_counter() - begun, time.process_time() - cpu
    return {"per_second": calls / took, "cpu": cpu / calls * 1e6}


async def soak(call: Call, calls: int) -> dict[str, list[float]]:
    seen: list[float] = []
    for _ in range(10):
        await crowd(call, calls // 10)
        gc.collect()
        seen.append(resident() / 1024)
    return {"megabytes": seen}


async def idle(client: Any, target: list[str], count: int) -> dict[str, float]:
    """What one more server costs, after some that have paid for what all share."""
    async with getattr(client, "fleet", partial(fleet, client))(target) as more:
        await more(10)
        gc.collect()
        before = resident()
        await more(count)
        gc.collect()
        return {"kilobytes": (resident() - before) / count}


@asynccontextmanager
async def fleet(client: Any, target: list[str]) -> AsyncIterator[Any]:
    """As many clients as servers: so it is where a client has one connection."""
    async with AsyncExitStack() as stack:

        async def more(count: int) -> None:
            for _ in range(count):
                await checked(await stack.enter_async_context(client.connect(target)))

        yield more


async def cold(target: list[str], count: int) -> dict[str, float]:
    """How long a hub takes to connect so many servers that it has never seen."""
    from mcp_clients.toolhub import fleet

    async with fleet(target) as more:
        begun = time.perf_counter()
        await more(count)
        return {"seconds": time.perf_counter() - begun}


def resident() -> int:
    """Memory of this process in KB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


async def main() -> None:
    client = importlib.import_module(f"mcp_clients.{sys.argv[1]}")
    target = sys.argv[2:]
    loop = asyncio.get_running_loop()
    async with client.connect(target) as call:
        await checked(call)
        print(json.dumps({"ready": client.NAME}), flush=True)
        while order := await loop.run_in_executor(None, sys.stdin.readline):
            wanted = json.loads(order)
            match wanted.pop("do"):
                case "latency":
                    found: Any = await latency(call, **wanted)
                case "crowd":
                    found = await crowd(call, **wanted)
                case "soak":
                    found = await soak(call, **wanted)
                case "idle":
                    found = await idle(client, target, **wanted)
                case "cold":
                    found = await cold(target, **wanted)
                case other:
                    raise SystemExit(f"unknown order {other!r}")
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    asyncio.run(main())
