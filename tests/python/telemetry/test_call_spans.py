"""The spans of calls: made for the SDK after the call, and at once when somebody uses them."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision, Sampler, SamplingResult, TraceIdRatioBased

from toolhub import ToolHub, otel

from .test_requests import INITIALIZE, Traced, call, post

pytestmark = pytest.mark.anyio


def exported(traced: Traced, name: str = "execute_tool add") -> list[ReadableSpan]:
    traced.stop.flush()
    return [span for span in traced.exporter.get_finished_spans() if span.name == name]


def attributes_of(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


async def test_each_call_has_a_trace_of_its_own() -> None:
    traced = Traced()
    async with traced.hub:
        app = traced.hub.asgi()
        _, headers = await post(app, INITIALIZE)
        session = {"mcp-session-id": headers["mcp-session-id"]}
        for number in range(3):
            # A span of the core is exported between two calls: its ids must not become theirs.
            await post(app, call(number, "add", {"a": 1, "b": 2}), session)
            traced.stop.flush()
            await traced.hub.execute("add", {"a": 1, "b": 2})
    spans = traced.exporter.get_finished_spans()
    assert len(exported(traced)) == 3
    assert len({span.context.span_id for span in spans if span.context}) == len(spans)
    assert len({span.context.trace_id for span in spans if span.context}) == len(spans)


async def test_the_ids_of_other_tracers_are_their_own() -> None:
    traced = Traced()
    async with traced.hub:
        await post(traced.hub.asgi(), INITIALIZE)
        traced.stop.flush()
        tracer = traced.provider.get_tracer("toolhub")
        ids = {tracer.start_span("own").get_span_context().trace_id for _ in range(3)}
    assert len(ids) == 3


async def test_a_tool_uses_the_span_of_its_call() -> None:
    traced = Traced()
    kinds: list[Any] = []

    @traced.hub.tool(read_only=True)
    async def look(n: int) -> int:
        span = trace.get_current_span()
        assert span.is_recording()
        span.set_attribute("own", n)
        span.add_event("looked", {"n": n})
        with traced.provider.get_tracer("test").start_as_current_span("inside"):
            kinds.append(span.attributes["own"])  # pyright: ignore[reportAttributeAccessIssue]
        return n

    async with traced.hub:
        await traced.hub.execute("look", {"n": 7})
        (span,) = exported(traced, "execute_tool look")
        (inside,) = exported(traced, "inside")
    assert kinds == [7]
    assert attributes_of(span)["own"] == 7
    assert attributes_of(span)["gen_ai.tool.name"] == "look"
    assert attributes_of(span)["toolhub.execution.id"]
    assert [event.name for event in span.events] == ["looked"]
    assert inside.parent == span.context
    assert span.start_time is not None
    assert inside.start_time is not None
    assert span.start_time <= inside.start_time


async def test_a_call_is_a_child_of_the_current_span() -> None:
    traced = Traced()
    async with traced.hub:
        token = context.attach(baggage.set_baggage("user", "ann"))
        with traced.provider.get_tracer("test").start_as_current_span("outer") as outer:
            await traced.hub.execute("add", {"a": 1, "b": 2})
            await traced.hub.execute("add", {"a": 1, "b": "no number"})
            # It is over: what comes now is beside it.
            assert trace.get_current_span() is outer
        context.detach(token)
        good, bad = exported(traced)
    for span in (good, bad):
        assert span.parent is not None
        assert span.context is not None
        assert span.parent.span_id == outer.get_span_context().span_id
        assert span.context.trace_id == outer.get_span_context().trace_id
        assert span.start_time is not None
        assert span.end_time is not None
        assert span.start_time <= span.end_time
    assert good.status.is_unset
    assert attributes_of(good)["toolhub.source"]
    assert attributes_of(bad)["error.type"] == "invalid_arguments"
    assert not bad.status.is_ok
    assert bad.status.description is None


async def test_a_cancelled_call() -> None:
    traced = Traced()
    started = asyncio.Event()

    @traced.hub.tool(read_only=True)
    async def wait() -> None:
        started.set()
        await asyncio.Event().wait()

    async with traced.hub:
        running = asyncio.create_task(traced.hub.execute("wait"))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        (span,) = exported(traced, "execute_tool wait")
    assert attributes_of(span)["error.type"] == "cancelled"


async def test_a_call_that_ends_after_tracing_was_stopped() -> None:
    traced = Traced()
    started, go_on = asyncio.Event(), asyncio.Event()

    @traced.hub.tool(read_only=True)
    async def wait() -> None:
        started.set()
        await go_on.wait()

    async with traced.hub:
        running = asyncio.create_task(traced.hub.execute("wait"))
        await started.wait()
        traced.stop()
        assert traced.exporter.get_finished_spans() == ()
        go_on.set()
        await running
    (span,) = traced.exporter.get_finished_spans()
    assert span.name == "execute_tool wait"


class Every(Sampler):
    """Keeps every second trace, and says what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, str]] = []

    def should_sample(
        self,
        parent_context: Any,
        trace_id: int,
        name: str,
        kind: Any = None,
        attributes: Any = None,
        links: Sequence[Any] | None = None,
        trace_state: Any = None,
    ) -> SamplingResult:
        self.asked.append((trace_id, name))
        decision = Decision.RECORD_AND_SAMPLE if len(self.asked) % 2 else Decision.DROP
        return SamplingResult(decision, {**(attributes or {}), "sampled.by": "every"})

    def get_description(self) -> str:
        return "every second"


async def test_the_sampler_is_asked_once_and_what_it_says_is_sent() -> None:
    sampler = Every()
    traced = Traced(sampler=sampler)
    seen: list[trace.SpanContext] = []

    @traced.hub.tool(read_only=True)
    async def look() -> None:
        seen.append(trace.get_current_span().get_span_context())

    async with traced.hub:
        for _ in range(4):
            await traced.hub.execute("look")
        spans = exported(traced, "execute_tool look")
    assert [bool(one.trace_flags.sampled) for one in seen] == [True, False, True, False]
    assert sampler.asked == [(one.trace_id, "execute_tool look") for one in seen]
    assert [span.context for span in spans] == [seen[0], seen[2]]
    assert {attributes_of(span)["sampled.by"] for span in spans} == {"every"}


@pytest.mark.parametrize("sampler", [ALWAYS_ON, TraceIdRatioBased(1.0)])
async def test_processors_hear_of_each_span_twice(sampler: Sampler) -> None:
    heard: list[tuple[str, str, str | None]] = []

    class Hears(SpanProcessor):
        def on_start(self, span: Span, parent_context: Any = None) -> None:
            # A processor may look at the current span, which may be the one that begins.
            trace.get_current_span().set_attribute("seen", True)
            heard.append(("start", span.name, str(baggage.get_baggage("user", parent_context))))

        def on_end(self, span: ReadableSpan) -> None:
            heard.append(("end", span.name, None))

    provider = TracerProvider(sampler=sampler)
    provider.add_span_processor(Hears())
    hub = ToolHub()

    @hub.tool(read_only=True)
    async def look() -> None:
        trace.get_current_span().set_attribute("own", 1)

    stop = otel.trace(hub, provider)
    async with hub:
        token = context.attach(baggage.set_baggage("user", "ann"))
        await hub.execute("look")
        context.detach(token)
        stop.flush()
    assert heard == [("start", "execute_tool look", "ann"), ("end", "execute_tool look", None)]


async def test_spans_of_many_threads_are_exported_once() -> None:
    traced = Traced()

    def calls() -> None:
        for number in range(50):
            traced.hub.call("add", {"a": number, "b": 1})

    threads = [threading.Thread(target=calls) for _ in range(4)]
    for thread in threads:
        thread.start()
    await asyncio.to_thread(lambda: [thread.join() for thread in threads])
    spans = exported(traced)
    assert len({span.context.span_id for span in spans if span.context}) == len(spans) == 200
    traced.hub.close()


async def test_two_hubs_share_a_provider() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    hubs = [ToolHub(), ToolHub()]
    for hub in hubs:
        hub.register(len, name="length")
        otel.trace(hub, provider)
    for hub in hubs * 3:
        assert (await hub.execute("length", {"obj": "abc"})).result == 3
    for hub in hubs:
        await hub.aclose()
    spans = exporter.get_finished_spans()
    assert len({span.context.trace_id for span in spans if span.context}) == len(spans) == 6


class StoppedOnTheThread(SpanProcessor):
    """Counts spans; the thread that exports them waits at its first one."""

    def __init__(self) -> None:
        self.count = 0
        self.may_go_on = threading.Event()
        self._lock = threading.Lock()

    def on_end(self, span: ReadableSpan) -> None:
        if threading.current_thread().name == "toolhub-otel":
            self.may_go_on.wait()
        with self._lock:
            self.count += 1


async def test_no_call_is_dropped_however_slowly_spans_are_exported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    traced, processor = Traced(), StoppedOnTheThread()
    traced.provider.add_span_processor(processor)
    calls = 12_000  # more than may wait
    try:
        async with traced.hub:
            for number in range(calls):
                await traced.hub.execute("add", {"a": number, "b": 1})
            assert processor.count > 0  # the later calls have exported their spans themselves
            processor.may_go_on.set()
            traced.stop()
    finally:
        processor.may_go_on.set()
    assert processor.count == calls
    assert not caplog.records


async def test_what_a_failing_tool_says_is_not_recorded() -> None:
    traced = Traced()

    @traced.hub.tool
    def bill(patient: str) -> str:
        raise ValueError(f"patient {patient.upper()} owes 1203 EUR")

    async with traced.hub:
        result = await traced.hub.execute("bill", {"patient": "ann"})
        assert "ANN owes" in str(result.error)
        (span,) = exported(traced, "execute_tool bill")
    assert attributes_of(span)["error.type"] == "tool_error"
    assert "ANN" not in span.to_json()
