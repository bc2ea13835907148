"""Serving: one small call through toolhub and its peers, over HTTP, from a client in Rust.

All programs run at once and take turns, round after round. *Direct* is the same call without anything in between. The client,
the gateway and the server share the machine, so the calls per second depend on its cores; the ratios are what counts.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from gateways import EVENTS, FRONTS, NATIVE, STDIO_FRONTS, Running, Start, started
from harness import Row
from mcp_lab import build_example, build_server, http_server

MANY = 32
MEASURES = ("p50", "p99", "per_second")
Figures = dict[str, dict[str, float]]


class Load:
    """The client; see `benches/server/load.rs`."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def call(
        self, url: str, tool: str, connections: int, calls: int, legacy: bool, **more: str | bool
    ) -> dict[str, float]:
        assert self._process.stdin
        assert self._process.stdout
        order: dict[str, Any] = {"url": url, "tool": tool, "connections": connections, "calls": calls}
        order |= {"legacy": legacy, **more}
        print(json.dumps(order), file=self._process.stdin, flush=True)
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        if found.get("error") or found["failed"]:
            raise SystemExit(f"{url} does not answer every call: {found}")
        return found

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(30)


@contextmanager
def load() -> Generator[Load]:
    client = Load(build_example("bench_mcp_load", "load.rs"))
    try:
        yield client
    finally:
        client.close()


def _all(stack: ExitStack, starts: dict[str, Start], target: str) -> dict[str, Running]:
    def one(start: Start) -> Running:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        return stack.enter_context(started(start, target, folder))

    return {name: one(start) for name, start in starts.items()}


def _warm(client: Load, programs: dict[str, Running]) -> None:
    """The first call connects to the server behind; some programs need a moment more."""
    for name, program in programs.items():
        until = time.monotonic() + 30
        while True:
            try:
                client.call(program.url, program.tool, 1, 1, legacy=True)
                break
            except SystemExit as failed:
                if time.monotonic() > until:
                    raise SystemExit(f"{name}: {failed}") from None
                time.sleep(0.1)


def compare(
    client: Load, programs: dict[str, Running], connections: int, rounds: int, legacy: bool = True
) -> Figures:
    """Medians over the rounds."""
    samples: dict[str, dict[str, list[float]]] = {name: {key: [] for key in MEASURES} for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            # The others answer some hundred calls a second at most.
            fast = name in ("direct", "toolhub", "mcp-proxy (Rust)")
            calls = (200 if fast else 20) if connections == 1 else (60 if fast else 6)
            found = client.call(program.url, program.tool, connections, calls, legacy)
            for key in MEASURES:
                samples[name][key].append(found[key])
    return {
        name: {key: statistics.median(values) for key, values in found.items()}
        for name, found in samples.items()
    }


def _report(title: str, one: Figures, many: Figures) -> list[Row]:
    print(f"\n{title}")
    print(
        f"  {'':22}{'p50, µs':>12}{'added, µs':>12}{'p99, µs':>12}{f'calls/s at {MANY}':>18}{'of toolhub':>12}"
    )
    direct, ours = one["direct"]["p50"], one["toolhub"]["p50"]
    for name, found in one.items():
        rate = many[name]["per_second"]
        share = rate / many["toolhub"]["per_second"]
        added = "" if name == "direct" else f"{found['p50'] - direct:,.0f}"
        print(f"  {name:22}{found['p50']:12,.0f}{added:>12}{found['p99']:12,.0f}{rate:18,.0f}{share:11.2f} ×")
    return [Row(title, name, found["p50"], found["p50"] / ours) for name, found in one.items()]


def _judge(text: str, met: bool) -> None:
    print(f"  {'✓' if met else '✗'} {text}")


def _in_front_of_http(client: Load, server: Path, rounds: int) -> list[Row]:
    with http_server(server) as url, ExitStack() as stack:
        programs = _all(stack, FRONTS, url)
        _warm(client, programs)
        direct = {"direct": Running(url, next(iter(programs.values())).process)}
        one = compare(client, direct | programs, 1, rounds)
        many = compare(client, direct | programs, MANY, rounds)
        rows = _report("in front of an HTTP server", one, many)
        ours, rate = one["toolhub"]["p50"] - one["direct"]["p50"], many["toolhub"]["per_second"]
        _judge(f"adds ≤ 60 µs: {ours:.0f} µs", ours <= 60)
        _judge(f"≥ 10,000 calls/s at {MANY} connections: {rate:,.0f}", rate >= 10_000)
        for peer, goal in (("mcp-proxy (Rust)", 1.0), ("FastMCP proxy", 50.0)):
            if peer in many:
                share = rate / many[peer]["per_second"]
                _judge(f"≥ {goal:g} × the calls/s of {peer}: {share:.1f} ×", share >= goal)
            else:
                print(f"  {peer} is not installed; see benches/python/gateways/__init__.py")
        modern = {"direct": direct["direct"], "toolhub": programs["toolhub"]}
        return rows + _report(
            "the same with modern clients",
            compare(client, modern, 1, rounds, legacy=False),
            compare(client, modern, MANY, rounds, legacy=False),
        )


def _in_front_of_stdio(client: Load, server: Path, rounds: int) -> list[Row]:
    with http_server(server) as url, ExitStack() as stack:
        programs = _all(stack, STDIO_FRONTS, json.dumps([str(server), "stdio"]))
        _warm(client, programs)
        direct = {"direct": Running(url, next(iter(programs.values())).process)}
        one = compare(client, direct | programs, 1, rounds)
        many = compare(client, direct | programs, MANY, rounds)
        return _report("in front of a stdio server (direct: over HTTP)", one, many)


def _legacy_events(client: Load, server: Path, rounds: int) -> list[Row]:
    """Answers to legacy clients as event streams, which end with the answer. Without `TCP_NODELAY` they take 40 ms."""
    with http_server(server) as url, ExitStack() as stack:
        programs = _all(stack, EVENTS, url)
        _warm(client, programs)
        times: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(rounds):
            for name, program in programs.items():
                # toolhub answers with JSON if it may; rmcp wants a client that takes both, and answers with events.
                more = {"accept": "text/event-stream"} if name == "toolhub" else {}
                found = client.call(program.url, program.tool, 1, 100, legacy=True, events=True, **more)
                times[name].append(found["p50"])
    title = "a legacy answer as an event stream (toolhub: in front of an HTTP server; rmcp: its own tool)"
    print(f"\n{title}")
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name, median in medians.items():
        print(f"  {name:22}{median:12,.0f} µs")
    if "rmcp server" not in medians:
        print("  rmcp's server is not installed; see benches/python/gateways/__init__.py")
    _judge(f"< 1 ms: {medians['toolhub']:,.0f} µs", medians["toolhub"] < 1_000)
    return [Row(title, name, median, median / medians["toolhub"]) for name, median in medians.items()]


def _native(client: Load, server: Path, rounds: int) -> list[Row]:
    with http_server(server) as url, ExitStack() as stack:
        programs = _all(stack, NATIVE, "")
        _warm(client, programs)
        direct = {"direct": Running(url, next(iter(programs.values())).process)}
        one = compare(client, direct | programs, 1, rounds)
        many = compare(client, direct | programs, MANY, rounds)
        rows = _report("a Python function as a tool (direct: no Python)", one, many)
    in_process = _in_process()
    limit = 3 * in_process + one["direct"]["p50"]
    took = one["toolhub"]["p50"]
    _judge(
        f"≤ 3 × the call in process ({in_process:.0f} µs) + one round trip: {took:.0f} of {limit:.0f} µs",
        took <= limit,
    )
    return rows


def _in_process() -> float:
    """Microseconds of the same call without a client, from a thread that waits for it, as a client does."""
    from toolhub import ToolHub

    hub = ToolHub()

    @hub.tool
    async def add(a: int, b: int) -> int:  # pyright: ignore[reportUnusedFunction]
        """Add two numbers."""
        return a + b

    times: list[float] = []
    for number in range(2_000):
        begun = time.perf_counter()
        hub.call("add", {"a": number, "b": 1})
        times.append((time.perf_counter() - begun) * 1e6)
    return statistics.median(times)


def run(rounds: int) -> list[Row]:
    server = build_server()
    with load() as client:
        return [
            *_in_front_of_http(client, server, rounds),
            *_in_front_of_stdio(client, server, max(3, rounds // 3)),
            *_legacy_events(client, server, max(3, rounds // 3)),
            *_native(client, server, max(3, rounds // 3)),
        ]
