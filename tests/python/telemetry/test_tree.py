"""One trace over three processes: a client, a gateway, and the server behind it."""

import asyncio
import itertools
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from telemetry.traced_program import metrics_of
from toolhub import ToolHub, otel

PROGRAM = Path(__file__).parent / "traced_program.py"
PACKAGE = Path(otel.__file__).parents[1]

Span = dict[str, Any]


class Told:
    """What the three processes have exported."""

    def __init__(self, **processes: Any) -> None:
        self.spans: dict[str, list[Span]] = {name: told["spans"] for name, told in processes.items()}
        self.metrics: dict[str, dict[str, Any]] = {name: told["metrics"] for name, told in processes.items()}

    def calls(self, process: str, kind: str, tool: str) -> list[Span]:
        spans = self.spans[process]
        return [span for span in spans if span["kind"] == f"SpanKind.{kind}" and span["name"].endswith(tool)]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return asyncio.run(called(tmp_path_factory.mktemp("spans")))


async def called(folder: Path) -> Told:
    gateway_file, server_file = folder / "gateway.json", folder / "server.json"
    gateway = await asyncio.create_subprocess_exec(
        *(sys.executable, str(PROGRAM), "gateway", str(gateway_file), str(server_file)),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
    )
    assert gateway.stdout is not None
    url = (await gateway.stdout.readline()).decode().strip()
    exporter, reader, provider = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    async with ToolHub() as hub:
        otel.trace(hub, provider, MeterProvider([reader]))
        hub.add_server("gateway", url=url)
        with provider.get_tracer("test").start_as_current_span("outside"):
            assert (await hub.execute("add", {"a": 20, "b": 22})).text == "42"
            assert not (await hub.execute("fail")).success
    gateway.send_signal(signal.SIGTERM)
    await gateway.wait()
    own = [json.loads(span.to_json()) for span in exporter.get_finished_spans()]
    files = {"gateway": gateway_file, "server": server_file}
    others = {name: json.loads(file.read_text()) for name, file in files.items()}
    return Told(client={"spans": own, "metrics": metrics_of(reader)}, **others)


def only(spans: list[Span]) -> Span:
    assert len(spans) == 1, [(span["name"], span["kind"]) for span in spans]
    return spans[0]


def test_all_spans_form_one_tree(told: Told) -> None:
    chain = [
        only(told.calls("client", "INTERNAL", "outside")),
        only(told.calls("client", "INTERNAL", "execute_tool add")),
        only(told.calls("client", "CLIENT", "tools/call add")),
        only(told.calls("gateway", "SERVER", "tools/call add")),
        only(told.calls("gateway", "CLIENT", "tools/call add")),
        only(told.calls("server", "SERVER", "tools/call add")),
        only(told.calls("server", "INTERNAL", "inside")),
    ]
    assert {span["context"]["trace_id"] for span in chain} == {chain[0]["context"]["trace_id"]}
    for parent, child in itertools.pairwise(chain):
        assert child["parent_id"] == parent["context"]["span_id"], (parent["name"], child["name"])
    assert chain[0]["parent_id"] is None


def test_a_sync_tool_is_inside_the_span_of_its_request(told: Told) -> None:
    server = only(told.calls("server", "SERVER", "tools/call fail"))
    assert (
        only(told.calls("server", "INTERNAL", "inside a thread"))["parent_id"] == server["context"]["span_id"]
    )


def test_a_failing_tool_is_an_error_everywhere(told: Told) -> None:
    places = [("client", "CLIENT"), ("gateway", "SERVER"), ("gateway", "CLIENT"), ("server", "SERVER")]
    for process, kind in places:
        span = only(told.calls(process, kind, "tools/call fail"))
        assert span["attributes"]["error.type"] == "tool_error"
        assert span["status"]["status_code"] == "ERROR"
        assert "it broke" not in json.dumps(span)


def attributes(span: Span) -> dict[str, Any]:
    return span["attributes"]


def test_the_attributes_of_the_conventions(told: Told) -> None:
    common = {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "add",
        "gen_ai.operation.name": "execute_tool",
        "mcp.protocol.version": "2026-07-28",
    }
    over_http = {"network.transport": "tcp", "network.protocol.name": "http"}
    client = attributes(only(told.calls("client", "CLIENT", "tools/call add")))
    port = client.pop("server.port")
    assert isinstance(port, int)
    request = client.pop("jsonrpc.request.id")
    assert client == {**common, **over_http, "server.address": "127.0.0.1", "toolhub.server": "gateway"}
    served = attributes(only(told.calls("gateway", "SERVER", "tools/call add")))
    assert served.pop("jsonrpc.request.id") == request
    assert served == {**common, **over_http}
    behind = attributes(only(told.calls("gateway", "CLIENT", "tools/call add")))
    request = behind.pop("jsonrpc.request.id")
    assert behind == {**common, "network.transport": "pipe", "toolhub.server": "upstream"}
    last = attributes(only(told.calls("server", "SERVER", "tools/call add")))
    assert last.pop("jsonrpc.request.id") == request
    assert last == {**common, "network.transport": "pipe"}


def points(told: Told, process: str, metric: str) -> list[dict[str, Any]]:
    found = told.metrics[process][metric]
    assert found["unit"] == "s"
    return found["data"]["data_points"]


def test_the_histograms(told: Told) -> None:
    buckets = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
    for process, metric in (
        ("client", "mcp.client.operation.duration"),
        ("gateway", "mcp.server.operation.duration"),
        ("gateway", "mcp.client.operation.duration"),
        ("server", "mcp.server.operation.duration"),
    ):
        calls = [
            point
            for point in points(told, process, metric)
            if point["attributes"].get("gen_ai.tool.name") == "add"
        ]
        assert [point["count"] for point in calls] == [1]
        assert calls[0]["explicit_bounds"] == buckets
        assert "jsonrpc.request.id" not in calls[0]["attributes"]
    for process in ("client", "gateway"):
        ended = points(told, process, "mcp.client.session.duration")
        assert [point["count"] for point in ended] == [1]
        assert ended[0]["attributes"]["mcp.protocol.version"] == "2026-07-28"
