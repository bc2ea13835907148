"""What servers of the official SDK are sent, in both eras."""

import json
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from gateway.test_upstream_credentials import ERAS, Upstream, upstream
from telemetry.test_requests import PARENT
from toolhub import ToolHub, otel

pytestmark = pytest.mark.anyio


def sent(up: Upstream, method: str) -> tuple[dict[str, str], dict[str, Any]]:
    """The headers and the `_meta` of the only request of a method."""
    requests = [(entry["headers"], json.loads(entry["body"])) for entry in up.requests() if entry["body"]]
    found = [(headers, body) for headers, body in requests if body.get("method") == method]
    assert len(found) == 1
    headers, body = found[0]
    return headers, body["params"].get("_meta", {})


@pytest.mark.parametrize("environment", ERAS)
async def test_a_request_carries_its_span(environment: str) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with upstream(environment) as up:
        async with ToolHub() as hub:
            otel.trace(hub, provider)
            hub.add_server("up", url=up.url)
            assert (await hub.execute("say", {"text": "hello"})).success
        headers, meta = sent(up, "tools/call")
    spans = {span.name: span for span in exporter.get_finished_spans()}
    span = spans["tools/call say"].context
    assert span is not None
    assert (
        headers["traceparent"]
        == meta["traceparent"]
        == f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"
    )
    call = spans["execute_tool say"].context
    assert call is not None
    assert spans["tools/call say"].parent.span_id == call.span_id  # pyright: ignore[reportOptionalMemberAccess]


async def test_a_hub_that_is_not_traced_passes_on_what_it_was_given() -> None:
    with upstream("mcp2") as up:
        async with ToolHub() as hub:
            hub.add_server("up", url=up.url)
            given = {"traceparent": PARENT, "tracestate": "x=1", "baggage": "user=ann"}
            assert (await hub.execute("say", {"text": "hello"}, meta=given)).success
        headers, meta = sent(up, "tools/call")
    assert {key: meta[key] for key in given} == given
    assert "traceparent" not in headers
