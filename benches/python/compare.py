"""Two builds of toolhub side by side: `python benches/python/compare.py OLD_PYTHON NEW_PYTHON [--rounds 31]`.

Each build is an interpreter of its own environment. Both run as workers that stay alive; the rounds alternate between
them, so that a busy moment of the machine hits both. The figure is the ratio of the medians, new over old.
`--server PATH` names a built `bench_mcp_server` (`cargo build --release --example bench_mcp_server`) and adds MCP calls.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

CALLS = {"async tool": 2000, "sync tool": 400, "suspending tool": 1000, "hub.call": 400, "race of 3": 200}
CALLS |= {"run(text)": 200, "dispatch": 1000, "MCP stdio": 300, "MCP HTTP": 300}


class Worker:
    """One build; it answers with the microseconds of one call."""

    def __init__(self, python: str, server: str | None) -> None:
        command = [python, __file__, "--worker", *(["--server", server] if server else [])]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, case: str) -> float:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(case + "\n")
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(30)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pythons", nargs="*")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--server", default=None)
    parser.add_argument("--worker", action="store_true")
    given = parser.parse_args()
    if given.worker:
        asyncio.run(work(given.server))
        return
    if len(given.pythons) != 2:
        parser.error("name two interpreters: OLD_PYTHON NEW_PYTHON")
    workers = [Worker(python, given.server) for python in given.pythons]
    try:
        for case in [case for case in CALLS if given.server or not case.startswith("MCP")]:
            times: list[list[float]] = [[], []]
            for round in range(given.rounds + 2):
                for side in (0, 1) if round % 2 else (1, 0):
                    taken = workers[side].ask(case)
                    if round >= 2:  # the first two warm up
                        times[side].append(taken)
            old, new = (statistics.median(side) for side in times)
            print(f"{case:16} {old:8.2f} µs {new:8.2f} µs  {new / old:5.2f}", flush=True)
    finally:
        for worker in workers:
            worker.close()


async def work(server: str | None) -> None:
    """Measure the cases that are asked for on standard input until it ends."""
    from toolhub import ToolHub

    hub = ToolHub()

    @hub.tool
    async def plus(a: int, b: int) -> int:
        return a + b

    @hub.tool
    def plus_sync(a: int, b: int) -> int:
        return a + b

    @hub.tool
    async def pause(a: int) -> int:
        await asyncio.sleep(0)
        return a

    for source in ("tools", "skills", "mcps"):
        hub.register(_racer(), name="get_time_now", source=source, capabilities=["time"])
    if server:
        hub.add_server("pipe", command=server, args=["stdio"])
        listening = subprocess.Popen(  # noqa: ASYNC220 - before anything is measured
            [server, "http"], stdout=subprocess.PIPE, text=True
        )
        assert listening.stdout
        hub.add_server("web", url=listening.stdout.readline().strip())
        await hub.connect()

    text = '<tool_call>{"name": "plus", "arguments": {"a": 2, "b": 3}}</tool_call>'
    request = {"id": "1", "tool_name": "plus", "arguments": {"a": 2, "b": 3}, "source": "tools"}
    cases: dict[str, Callable[[], Awaitable[Any]]] = {
        "async tool": lambda: hub.execute("plus", {"a": 2, "b": 3}),
        "sync tool": lambda: hub.execute("plus_sync", {"a": 2, "b": 3}),
        "suspending tool": lambda: hub.execute("pause", {"a": 5}),
        "race of 3": lambda: hub.execute("get_time_now", {"a": 5}, strategy="first"),
        "run(text)": lambda: hub.run(text),
        "dispatch": lambda: hub.dispatch(request),
        "MCP stdio": lambda: hub.execute("add", {"a": 2, "b": 3}, server="pipe"),
        "MCP HTTP": lambda: hub.execute("add", {"a": 2, "b": 3}, server="web"),
    }
    loop = asyncio.get_running_loop()
    try:
        while line := (await loop.run_in_executor(None, sys.stdin.readline)).strip():
            count = CALLS[line]
            if line == "hub.call":
                hub.call("plus_sync", {"a": 2, "b": 3}).unwrap()
                begun = time.perf_counter()
                for _ in range(count):
                    hub.call("plus_sync", {"a": 2, "b": 3})
            else:
                call = cases[line]
                answer = await call()
                assert all(answer.results) if line.startswith("run") else str(answer.result) == "5", answer
                begun = time.perf_counter()
                for _ in range(count):
                    await call()
            print(json.dumps((time.perf_counter() - begun) / count * 1e6), flush=True)
    finally:
        await hub.aclose()
        if server:
            listening.kill()
            listening.wait()


def _racer() -> Callable[..., Any]:
    async def get_time_now(a: int) -> int:
        return a

    return get_time_now


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
