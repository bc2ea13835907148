"""Spans, as a real exporter of the OpenTelemetry SDK gets them."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import get_current_span

from toolhub import ToolHub, otel

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).parents[2] / "mcp" / "faults" / "stdio_server.py"


class Traced:
    """A hub whose spans end in memory."""

    def __init__(self) -> None:
        self.hub = ToolHub()
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.stop = otel.trace(self.hub, self.provider)

    def finished(self) -> tuple[ReadableSpan, ...]:
        self.stop.flush()
        return self.exporter.get_finished_spans()

    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.finished()}


@pytest.fixture
def traced() -> Iterator[Traced]:
    made = Traced()
    yield made
    made.stop()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_a_call_is_a_span(traced: Traced) -> None:
    @traced.hub.tool
    async def add(a: int, b: int) -> int:
        return a + b

    with traced.provider.get_tracer("test").start_as_current_span("outside") as outside:
        await traced.hub.execute("add", {"a": 1, "b": 2})
    span = traced.spans()["execute_tool add"]
    assert attributes(span)["gen_ai.operation.name"] == "execute_tool"
    assert attributes(span)["gen_ai.tool.name"] == "add"
    assert span.status.is_ok or span.status.is_unset
    assert span.parent is not None
    assert span.parent.span_id == outside.get_span_context().span_id
    assert span.end_time is not None
    assert span.start_time is not None
    assert span.end_time >= span.start_time


@pytest.mark.parametrize(("name", "kind"), [("breaks", "tool_error"), ("missing", "not_found")])
async def test_a_failure_is_an_error(traced: Traced, name: str, kind: str) -> None:
    @traced.hub.tool
    async def breaks() -> None:
        raise ValueError("secret 123")

    await traced.hub.execute(name)
    span = traced.spans()[f"execute_tool {name}"]
    assert not span.status.is_ok
    assert attributes(span)["error.type"] == kind


async def test_a_span_carries_no_value_of_an_argument_and_no_message(traced: Traced) -> None:
    @traced.hub.tool
    async def login(user: str, password: str, tries: int) -> None:
        raise ValueError(f"{user} cannot sign in with {password}")

    await traced.hub.execute("login", {"user": "grace hopper", "password": "hunter2", "tries": 1})
    await traced.hub.execute("login", {"user": "grace hopper", "password": "hunter2", "tries": "many times"})
    exported = "".join(span.to_json() for span in traced.finished())
    assert "execute_tool login" in exported
    assert not any(value in exported for value in ("grace", "hunter2", "many times", "cannot sign in"))


async def test_a_cancelled_call_ends_its_span(traced: Traced) -> None:
    begun = asyncio.Event()

    async def hanging() -> None:
        begun.set()
        await asyncio.Event().wait()

    traced.hub.register(hanging)
    call = asyncio.ensure_future(traced.hub.execute("hanging"))
    await begun.wait()
    call.cancel()
    await asyncio.wait([call])
    assert attributes(traced.spans()["execute_tool hanging"])["error.type"] == "cancelled"


async def test_a_call_on_a_server_has_a_client_span(traced: Traced) -> None:
    async with traced.hub as hub:
        hub.add_server("lab", command=sys.executable, args=[str(SERVER)], env={"FAULT": "ok"})
        await hub.connect()
        assert (await hub.execute("echo", {"text": "private words"})).success
    outer, inner = traced.spans()["execute_tool echo"], traced.spans()["tools/call echo"]
    assert inner.parent is not None
    assert outer.context is not None
    assert inner.parent.span_id == outer.context.span_id
    assert attributes(inner)["mcp.method.name"] == "tools/call"
    assert attributes(inner)["toolhub.server"] == "lab"
    assert "private words" not in outer.to_json() + inner.to_json()


async def test_it_can_be_ended(traced: Traced) -> None:
    traced.stop()
    await traced.hub.execute("missing")
    assert traced.spans() == {}


async def test_concurrent_conversations_have_spans_of_their_own(traced: Traced) -> None:
    """Text formats number their calls from one in each message, so the ids of models repeat."""
    both = asyncio.Barrier(2)

    @traced.hub.tool(read_only=True)
    async def look(n: int) -> int:
        await both.wait()
        return n

    texts = [f'<tool_call>{{"name": "look", "arguments": {{"n": {n}}}}}</tool_call>' for n in (1, 2)]
    await asyncio.gather(*(traced.hub.run(text) for text in texts))
    spans = [span for span in traced.finished() if span.name == "execute_tool look"]
    assert [attributes(span)["gen_ai.tool.call.id"] for span in spans] == ["call_1", "call_1"]
    assert len({attributes(span)["toolhub.execution.id"] for span in spans}) == 2


def test_spans_of_a_tool_are_inside_the_span_of_its_call(traced: Traced) -> None:
    """Also of a blocking call, whose tool runs in another thread."""
    tracer = traced.provider.get_tracer("test")

    @traced.hub.tool
    def work() -> None:
        with tracer.start_as_current_span("inside"):
            pass

    with tracer.start_as_current_span("outside") as outside:
        assert traced.hub.call("work").success
        assert get_current_span() is outside
    spans = traced.spans()
    for parent, child in (("outside", "execute_tool work"), ("execute_tool work", "inside")):
        context = spans[parent].context
        assert context is not None
        assert spans[child].parent is not None
        assert spans[child].parent.span_id == context.span_id


async def test_the_id_of_a_call_is_that_of_its_events(traced: Traced) -> None:
    heard: list[str] = []
    traced.hub.on_event(lambda event: heard.append(event.execution_id))
    await traced.hub.execute("missing")
    assert attributes(traced.spans()["execute_tool missing"])["toolhub.execution.id"] == heard[0]


def test_what_has_ended_is_exported_at_the_end_of_the_program() -> None:
    program = f"""
import sys
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, ConsoleSpanExporter
from toolhub import ToolHub, otel
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=lambda span: span.name + "\\n")))
hub = ToolHub()
otel.trace(hub, provider)
hub.add_server("lab", command=sys.executable, args=[{str(SERVER)!r}], env={{"FAULT": "ok"}})
hub.call("echo", {{"text": "x"}})
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert {"execute_tool echo", "tools/call echo"} <= set(ran.stdout.splitlines())
