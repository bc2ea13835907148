"""A hub that is traced and served, as a process of its own.

`server FILE` serves a tool on stdio; `gateway FILE SERVER_FILE` serves that server over HTTP and prints the address. What the
exporters in memory have got at the end is written to the file as JSON.
"""

import json
import sys
from pathlib import Path
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from toolhub import ToolHub, otel


def metrics_of(reader: InMemoryMetricReader) -> dict[str, Any]:
    data: Any = json.loads(reader.get_metrics_data().to_json())  # pyright: ignore[reportOptionalMemberAccess]
    scopes = [scope for resource in data["resource_metrics"] for scope in resource["scope_metrics"]]
    return {metric["name"]: metric for scope in scopes for metric in scope["metrics"]}


def main(role: str, file: str, *behind: str) -> None:
    hub, exporter, reader = ToolHub(), InMemorySpanExporter(), InMemoryMetricReader()
    provider, meter = TracerProvider(), MeterProvider([reader])
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    stop = otel.trace(hub, provider, meter)
    tracer = provider.get_tracer("tool")

    if role == "server":

        @hub.tool(read_only=True)
        async def add(a: int, b: int) -> int:
            with tracer.start_as_current_span("inside"):
                return a + b

        @hub.tool(read_only=True)
        def fail() -> None:
            with tracer.start_as_current_span("inside a thread"):
                raise ValueError("it broke")

        hub.serve("stdio")
    else:
        hub.add_server("upstream", command=sys.executable, args=[__file__, "server", *behind])
        hub.serve("http", port=0, ready=lambda serving: print(serving.url, flush=True))
    hub.close()
    stop()
    spans = [json.loads(span.to_json()) for span in exporter.get_finished_spans()]
    Path(file).write_text(json.dumps({"spans": spans, "metrics": metrics_of(reader)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
