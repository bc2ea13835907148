"""A small MCP call over HTTP and stdio, in both eras, through toolhub and what users have today; the same Rust server for all.

Each client runs in a process of its own, so that the CPU time is its own; they take turns, round after round.
"""

from __future__ import annotations

import importlib.util
import statistics
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from harness import Row
from mcp_clients import CLIENTS
from mcp_lab import Worker, build_server, http_server, workers

MEASURES = {
    "micros": "µs, median",
    "cpu": "µs CPU",
    "per_second": "calls/s at 64",
    "crowd_cpu": "µs CPU at 64",
}
# (transport, peer, measure) → toolhub's share of the peer's figure, at most; of a throughput, at least.
GOALS = {
    ("http", "mcp_sdk", "micros"): 1 / 15,
    ("http", "mcp_sdk", "cpu"): 1 / 15,
    ("http", "mcp_sdk", "per_second"): 20,
    ("http", "aiohttp", "micros"): 1 / 2,
    ("stdio", "mcp_sdk", "micros"): 1 / 6,
    ("stdio", "mcp_sdk", "cpu"): 1 / 6,
    ("stdio", "mcp_sdk", "per_second"): 20,
}
Figures = dict[str, dict[str, float]]


def _present(client: str, transport: str) -> bool:
    """aiohttp is a way to speak HTTP and nothing else."""
    return transport == "http" or client != "aiohttp"


def _round(running: list[Worker], samples: dict[str, dict[str, list[float]]], calls: int) -> None:
    for worker in running:
        one = worker.tell("latency", calls=calls)
        # The quick ones need more calls for a time that can be measured.
        many = worker.tell("crowd", calls=calls * (20 if worker.client == "toolhub" else 4))
        found = {
            "micros": one["micros"],
            "cpu": one["cpu"],
            "per_second": many["per_second"],
            "crowd_cpu": many["cpu"],
        }
        for measure, value in found.items():
            samples[worker.client][measure].append(value)


def _compare(transport: str, era: str, target: list[str], rounds: int) -> list[Row]:
    clients = [client for client in CLIENTS if _present(client, transport)]
    with workers(clients, target) as running:
        names = {worker.client: worker.name for worker in running}
        samples: Any = {client: {measure: [] for measure in MEASURES} for client in clients}
        _round(running, {client: {measure: [] for measure in MEASURES} for client in clients}, 64)
        for _ in range(rounds):
            _round(running, samples, 100)
    medians: Figures = {
        client: {measure: statistics.median(values) for measure, values in found.items()}
        for client, found in samples.items()
    }
    title = f"MCP call, {transport}, {era}"
    _report(title, names, medians)
    _judge(transport, names, medians)
    ours = medians["toolhub"]
    crowd = f"MCP calls, 64 in flight, {transport}, {era}"
    rows: list[Row] = []
    for client, found in medians.items():
        share = ours["per_second"] / found["per_second"]
        rows.append(Row(title, names[client], found["micros"], found["micros"] / ours["micros"]))
        rows.append(Row(crowd, names[client], 1e6 / found["per_second"], share))
    return rows


def _report(title: str, names: dict[str, str], medians: Figures) -> None:
    print(f"\n{title}")
    print(f"  {'':24}" + "".join(f"{unit:>24}" for unit in MEASURES.values()))
    ours = medians["toolhub"]
    for client, found in medians.items():
        cells = (f"{found[m]:14,.0f} {found[m] / ours[m]:7.3g} ×" for m in MEASURES)
        print(f"  {names[client]:24}" + "".join(cells))


def _judge(transport: str, names: dict[str, str], medians: Figures) -> None:
    for (where, peer, measure), goal in GOALS.items():
        if where != transport:
            continue
        share = medians["toolhub"][measure] / medians[peer][measure]
        if measure == "per_second":
            text, met = f"≥ {goal:g} ×, is {share:.1f} ×", share >= goal
        else:
            text, met = f"≤ 1/{1 / goal:g}, is 1/{1 / share:.1f}", share <= goal
        print(f"  {'✓' if met else '✗'} {MEASURES[measure]}, of {names[peer]}: {text}")


def _idle(target: list[str], transport: str, count: int) -> None:
    with workers([client for client in CLIENTS if client in ("toolhub", "mcp_sdk")], target) as running:
        for worker in running:
            found = worker.tell("idle", count=count)["kilobytes"]
            mark = "" if worker.client != "toolhub" else "  ✓" if found <= 300 else "  ✗ over the goal"
            print(f"  {worker.name:14} {transport:6} {found:8.0f} KB{mark}")


def _cold(program: Path) -> None:
    print("\ncold start of stdio servers that each take 500 ms   (goal: ten like the slowest, not the sum)")
    with workers(["toolhub"], [str(program), "stdio", "--delay", "500"]) as (ours,):
        for count in (1, 10):
            took = ours.tell("cold", count=count)["seconds"]
            mark = "" if count == 1 else "  ✓" if took < 2 * 0.5 else "  ✗"
            print(f"  {count:2} of them {took * 1e3:8.0f} ms{mark}")


def _soak(target: list[str], transport: str, calls: int) -> None:
    with workers(["toolhub"], target) as (ours,):
        seen = ours.tell("soak", calls=calls)["megabytes"]
        row = " ".join(f"{size:.1f}" for size in seen)
        print(
            f"  {transport:6} MB after every tenth: {row}   {'✓ flat' if seen[-1] <= seen[1] * 1.03 else '✗'}"
        )


def run(rounds: int) -> list[Row]:
    if importlib.util.find_spec("aiohttp") is None:
        print("the MCP benchmark needs aiohttp, mcp and fastmcp; `make bench` installs them")
        return []
    program = build_server()
    quick = rounds < 10
    rows: list[Row] = []
    for era, flags in (("modern era", ()), ("older era", ("--legacy",))):
        for transport in ("http", "stdio"):
            place = http_server(program, *flags) if transport == "http" else nullcontext("")
            with place as address:
                target = [address] if address else [str(program), "stdio", *flags]
                rows += _compare(
                    transport, era, target, rounds if era == "modern era" else max(3, rounds // 3)
                )
    with http_server(program) as address:
        targets = {"http": [address], "stdio": [str(program), "stdio"]}
        print("\nmemory of one idle connected server   (goal for toolhub: ≤ 300 KB)")
        for transport, target in targets.items():
            _idle(target, transport, 30 if quick else 100)
        _cold(program)
        calls = 50_000 if quick else 1_000_000
        print(f"\nmemory over {calls:,} calls   (goal: flat)")
        for transport, target in targets.items():
            _soak(target, transport, calls)
    return rows
