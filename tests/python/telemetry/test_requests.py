"""Requests of MCP as spans and durations: names, sessions, errors, what is passed on, and what it costs to be off."""

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import baggage, context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.semconv._incubating.attributes import (
    gen_ai_attributes,
    jsonrpc_attributes,
    mcp_attributes,
    rpc_attributes,
)
from opentelemetry.semconv.attributes import error_attributes, network_attributes, server_attributes

from toolhub import ToolHub, _core, otel

pytestmark = pytest.mark.anyio

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Traced:
    """A hub with exporters in memory."""

    def __init__(self, **options: Any) -> None:
        self.hub, self.exporter, self.reader = ToolHub(), InMemorySpanExporter(), InMemoryMetricReader()
        self.provider = TracerProvider(**options)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.stop = otel.trace(self.hub, self.provider, MeterProvider([self.reader]))

        @self.hub.tool(read_only=True)
        def add(a: int, b: int) -> int:
            return a + b

    def spans(self) -> dict[str, Any]:
        self.stop.flush()
        return {span.name: span for span in self.exporter.get_finished_spans()}


def test_each_name_is_one_of_the_conventions() -> None:
    known = {
        mcp_attributes.MCP_METHOD_NAME: True,
        gen_ai_attributes.GEN_AI_TOOL_NAME: True,
        gen_ai_attributes.GEN_AI_PROMPT_NAME: True,
        gen_ai_attributes.GEN_AI_OPERATION_NAME: True,
        mcp_attributes.MCP_RESOURCE_URI: False,
        jsonrpc_attributes.JSONRPC_REQUEST_ID: False,
        rpc_attributes.RPC_RESPONSE_STATUS_CODE: True,
        error_attributes.ERROR_TYPE: True,
        mcp_attributes.MCP_PROTOCOL_VERSION: True,
        mcp_attributes.MCP_SESSION_ID: False,
        network_attributes.NETWORK_TRANSPORT: True,
        network_attributes.NETWORK_PROTOCOL_NAME: True,
        server_attributes.SERVER_ADDRESS: True,
        server_attributes.SERVER_PORT: True,
    }
    table = dict(_core.telemetry_attributes())
    assert table.pop("toolhub.server") is False
    assert table == known


async def post(
    app: Any, message: dict[str, Any], headers: dict[str, str] | None = None
) -> tuple[Any, dict[str, str]]:
    """One message to a served hub over ASGI; the answer and the headers."""
    given = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "host": "localhost",
    }
    sent: list[dict[str, Any]] = []
    body = json.dumps(message).encode()

    parts = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not parts:
            await asyncio.Event().wait()  # the client stays
        return parts.pop()

    async def send(part: dict[str, Any]) -> None:
        sent.append(part)

    scope = {
        "type": "http",
        "method": "DELETE" if not message else "POST",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "headers": [(k.encode(), v.encode()) for k, v in {**given, **(headers or {})}.items()],
    }
    await app(scope, receive, send)
    answer = b"".join(part.get("body", b"") for part in sent)
    replied = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return (json.loads(answer) if answer else None), replied


def call(id: Any, name: str, arguments: dict[str, Any], **meta: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


async def test_a_session_of_a_client() -> None:
    traced = Traced()
    async with traced.hub:
        app = traced.hub.asgi()
        _, headers = await post(app, INITIALIZE)
        session = {"mcp-session-id": headers["mcp-session-id"]}
        await post(app, call("a-7", "add", {"a": 1, "b": 2}, traceparent=PARENT, tracestate="x=1"), session)
        spans = traced.spans()
        await post(app, {}, session)
    assert spans["initialize"].parent is None
    span = spans["tools/call add"]
    assert format(span.parent.trace_id, "032x") == PARENT.split("-")[1]
    assert format(span.parent.span_id, "016x") == PARENT.split("-")[2]
    assert span.context.trace_state.to_header() == "x=1"
    attributes = dict(span.attributes)
    assert attributes["jsonrpc.request.id"] == "a-7"
    assert attributes["mcp.protocol.version"] == "2025-11-25"
    # Who has the id of a session may use it, so the span has a digest.
    assert 16 <= len(attributes["mcp.session.id"]) <= 64
    assert session["mcp-session-id"] not in span.to_json()
    names = json.loads(traced.reader.get_metrics_data().to_json())  # pyright: ignore[reportOptionalMemberAccess]
    assert "mcp.server.session.duration" in json.dumps(names)


async def test_a_header_names_the_parent_if_the_message_does_not() -> None:
    traced = Traced()
    async with traced.hub:
        app = traced.hub.asgi()
        _, headers = await post(app, INITIALIZE)
        session = {"mcp-session-id": headers["mcp-session-id"], "traceparent": PARENT}
        await post(app, call(1, "add", {"a": 1, "b": 2}), session)
        other = PARENT.replace("4bf9", "aaaa")
        await post(app, {**call(2, "add", {}, traceparent=other), "method": "tools/list"}, session)
        spans = traced.spans()
    assert format(spans["tools/call add"].context.trace_id, "032x") == PARENT.split("-")[1]
    assert format(spans["tools/list"].context.trace_id, "032x") == other.split("-")[1]


@pytest.mark.parametrize(
    "wrong", ["", "00-zz", 5, None, PARENT.upper(), "00-" + "0" * 32 + "-00f067aa0ba902b7-01"]
)
async def test_a_wrong_parent_begins_a_trace(wrong: Any) -> None:
    traced = Traced()
    async with traced.hub:
        app = traced.hub.asgi()
        _, headers = await post(app, INITIALIZE)
        session = {"mcp-session-id": headers["mcp-session-id"]}
        answer, _ = await post(
            app, call(1, "add", {"a": 1, "b": 2}, traceparent=wrong, tracestate="x=1"), session
        )
        assert answer["result"]["content"] == [{"type": "text", "text": "3"}]
        span = traced.spans()["tools/call add"]
    assert span.parent is None
    assert span.context.is_valid


async def test_errors_have_the_code_of_the_protocol_and_unknown_names_no_series() -> None:
    traced = Traced()
    async with traced.hub:
        app = traced.hub.asgi()
        _, headers = await post(app, INITIALIZE)
        session = {"mcp-session-id": headers["mcp-session-id"]}
        await post(app, call(1, "made up by a client", {}), session)
        await post(app, {"jsonrpc": "2.0", "id": 2, "method": "made/up"}, session)
        spans = traced.spans()
    missing = dict(spans["tools/call"].attributes)
    assert "gen_ai.tool.name" not in missing
    assert missing["error.type"]
    unknown = dict(spans["_other"].attributes)
    assert unknown["rpc.response.status_code"] == unknown["error.type"] == "-32601"


async def test_baggage_reaches_a_tool_behind_a_gateway() -> None:
    traced = Traced()
    seen: list[Any] = []

    @traced.hub.tool(read_only=True)
    def look() -> None:
        seen.append(baggage.get_baggage("user"))

    async with traced.hub:
        app = traced.hub.asgi()
        _, headers = await post(app, INITIALIZE)
        session = {"mcp-session-id": headers["mcp-session-id"]}
        await post(app, call(1, "look", {}, traceparent=PARENT, baggage="user=ann"), session)
    assert seen == ["ann"]
    assert baggage.get_baggage("user", context.get_current()) is None


async def test_a_sampler_that_keeps_nothing_keeps_nothing() -> None:
    traced = Traced(sampler=ALWAYS_OFF)
    async with traced.hub:
        app = traced.hub.asgi()
        await post(app, INITIALIZE)
        await traced.hub.execute("add", {"a": 1, "b": 2})
        assert traced.spans() == {}


async def test_a_hub_is_traced_once_at_a_time() -> None:
    traced = Traced()
    with pytest.raises(RuntimeError, match="traced already"):
        otel.trace(traced.hub)
    traced.stop()
    traced.stop()
    otel.trace(traced.hub, traced.provider)()


def test_nothing_is_imported_while_it_is_off() -> None:
    program = (
        "import sys, toolhub\n"
        "hub = toolhub.ToolHub()\n"
        "hub.register(len, name='length')\n"
        "assert hub.call('length', {'obj': 'abc'}).result == 3\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('opentelemetry', 'IPython')])\n"
        "print([name for name in sys.modules if name.startswith(('toolhub.otel', 'toolhub.display'))])\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["[]", "[]"]
