"""What OpenTelemetry adds to a call: nothing where it is not turned on (goal: ≤ 1 µs), and where it is (goal: ≤ 60 µs).

Two figures. How much longer a caller waits (p50), which is what a user sees; and the CPU time of the whole process, which has
what is exported on a thread besides. The providers are those of the SDK, with a processor that keeps nothing, so that the
figures are ours and the SDK's and not those of an exporter.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
from collections.abc import Callable

from harness import Row
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider

from toolhub import ToolHub, otel

CALLS = 5_000  # for several times as long as spans are gathered
GOALS = {"off": 1.0, "on": 60.0}

SERVER = r"""
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    if "id" not in request:
        continue
    if method == "initialize":
        info = {"name": "bench", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        result = {"tools": [{"name": "remote", "inputSchema": schema, "annotations": {"readOnlyHint": True}}]}
    else:
        text = str(request["params"]["arguments"]["n"])
        result = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


class Counting(SpanProcessor):
    """Proves that spans came, and keeps none."""

    def __init__(self) -> None:
        self.count = 0

    def on_end(self, span: ReadableSpan) -> None:
        self.count += 1


def make_hub() -> ToolHub:
    hub = ToolHub()

    @hub.tool(read_only=True)
    async def native(n: int) -> str:
        return str(n)

    hub.add_server("bench", command=sys.executable, args=["-c", SERVER])
    hub.connect_sync()
    return hub


async def micros(hub: ToolHub, tool: str, flush: Callable[[], None]) -> dict[str, float]:
    """What one call takes: the wait for it (p50), and the CPU time with what it leaves to be exported."""
    waits: list[float] = []
    gc.collect()
    gc.disable()
    begun_cpu = time.process_time()
    for n in range(CALLS):
        begun = time.perf_counter()
        result = await hub.execute(tool, {"n": n})
        waits.append(time.perf_counter() - begun)
        if result["result"] != str(n):
            raise AssertionError(f"a wrong answer: {result}")
    flush()
    used = time.process_time() - begun_cpu
    gc.enable()
    return {"p50": statistics.median(waits) * 1e6, "CPU": used / CALLS * 1e6}


def run(rounds: int) -> list[Row]:
    counting = Counting()
    tracers = TracerProvider()
    tracers.add_span_processor(counting)
    meters = MeterProvider(metric_readers=[InMemoryMetricReader()])
    samples: dict[tuple[str, str, str], list[float]] = {}
    # `never` has not imported OpenTelemetry's bridge for its hub; `off` was traced and is no more.
    hubs = {"never": make_hub(), "off": make_hub(), "on": make_hub()}
    otel.trace(hubs["off"], tracers, meters)()
    tracing = otel.trace(hubs["on"], tracers, meters)
    try:
        for _ in range(max(5, rounds)):
            for tool in ("native", "remote"):
                for name, hub in hubs.items():
                    flush = tracing.flush if name == "on" else lambda: None
                    for measure, value in asyncio.run(micros(hub, tool, flush)).items():
                        samples.setdefault((measure, tool, name), []).append(value)
    finally:
        tracing()
        for hub in hubs.values():
            hub.close()
    calls = max(5, rounds) * CALLS
    if counting.count < 3 * calls:
        raise AssertionError(f"{counting.count} spans of {calls} native calls and as many to a server")
    return _report({key: statistics.median(values) for key, values in samples.items()})


def _report(medians: dict[tuple[str, str, str], float]) -> list[Row]:
    print("\nOpenTelemetry, a call, one after another")
    rows: list[Row] = []
    for (measure, tool, name), value in sorted(medians.items(), key=lambda item: item[0][0], reverse=True):
        never = medians[measure, tool, "never"]
        added, goal = value - never, GOALS.get(name)
        mark = ""
        if goal is not None:
            mark = f"  {added:+7.1f} µs (goal: ≤ {goal:g})  {'✓' if added <= goal else '✗ missed'}"
        label = f"{tool}, {name}, {measure}"
        print(f"  {label:42} {value:12.2f} µs{mark}")
        rows.append(Row("OpenTelemetry", label, value, value / never))
    return rows


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
