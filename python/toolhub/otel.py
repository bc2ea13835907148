"""Calls and MCP requests as OpenTelemetry spans and metrics, named by the conventions for GenAI and MCP.

Needs the extra: `pip install agent-toolhub[otel]`. `trace(hub)` turns it on; without it, nothing of OpenTelemetry is imported.

| span | kind | what |
|---|---|---|
| `execute_tool NAME` | internal | a call that this program makes; current while the tool runs |
| `tools/call NAME`, `tools/list`, … | client | a request to a server, each try one |
| `tools/call NAME`, `tools/list`, … | server | a request of a client of a served hub |

A request carries its span as `traceparent` in `_meta`, over HTTP in a header too, so that a client, a gateway and the servers
behind it form one tree. The histograms are `mcp.client.operation.duration`, `mcp.server.operation.duration`,
`mcp.client.session.duration` and `mcp.server.session.duration`, in seconds. Arguments and results are never recorded.
"""

import atexit
import logging
import threading
from time import sleep
from typing import TYPE_CHECKING, Any, cast

from . import _core

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from ._call_span import TracedCall
    from .hub import ToolHub
    from .hub._call_methods import Around

__all__ = ["Tracing", "trace"]

_NAME = "toolhub"
_log = logging.getLogger("toolhub")
# What the conventions advise, in seconds.
_BUCKETS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
_GATHERED = 0.05
"""Seconds for which spans are gathered before they are exported."""
_IN_A_ROW = 10
"""Spans that are exported before other threads get the GIL: for less than a millisecond."""
_PAUSE = 1e-5
"""Seconds for which the GIL is given up. Without a pause it would be taken back before another thread has woken up."""
_HISTOGRAMS = {
    "client": ("mcp.client.operation.duration", "The duration of the MCP request as observed on the sender."),
    "server": (
        "mcp.server.operation.duration",
        "The duration of the MCP request as observed on the receiver.",
    ),
    "client session": ("mcp.client.session.duration", "The duration of the MCP session on the client."),
    "server session": ("mcp.server.session.duration", "The duration of the MCP session on the server."),
}


def trace(
    hub: "ToolHub",
    tracer_provider: "TracerProvider | None" = None,
    meter_provider: "MeterProvider | None" = None,
) -> "Tracing":
    """Record spans and durations of a hub, in the given or the global providers. Call the returned object to stop.

        from toolhub import otel

        stop = otel.trace(hub)
        …
        stop()

    The span of a call is a child of the one that is current where the call is made. Raises `ImportError` without the extra
    `otel`, and `RuntimeError` for a hub that is traced already.
    """
    if hub._tracing is not None:
        raise RuntimeError("this hub is traced already; call what trace() returned before, to stop it")
    tracing = Tracing(hub, tracer_provider, meter_provider)
    hub._tracing = tracing
    return tracing


def attach(parent: str, state: str | None, baggage: str | None) -> None:
    """Make the span of a served call the current one. The core calls it in the context of the tool."""
    from opentelemetry import context

    from ._call_span import BAGGAGE, TRACE_CONTEXT

    given = {"traceparent": parent, "tracestate": state, "baggage": baggage}
    carrier = {key: text for key, text in given.items() if text is not None}
    context.attach(BAGGAGE.extract(carrier, TRACE_CONTEXT.extract(carrier)))


class Tracing:
    """The telemetry of one hub, made by `trace`. Call it to stop."""

    def __init__(
        self, hub: "ToolHub", tracer_provider: "TracerProvider | None", meter_provider: "MeterProvider | None"
    ) -> None:
        try:
            from opentelemetry import context, metrics
            from opentelemetry import trace as api

            from . import _call_span
        except ImportError as error:
            raise ImportError("tracing needs OpenTelemetry: pip install 'agent-toolhub[otel]'") from error
        self._api = api
        self._spans = _call_span
        self._nowhere = context.Context()
        self._kinds = {"client": api.SpanKind.CLIENT, "server": api.SpanKind.SERVER}
        self._hub = hub
        self._provider = tracer_provider
        meter = metrics.get_meter(_NAME, meter_provider=meter_provider)
        self._histograms = {
            side: meter.create_histogram(
                name, unit="s", description=about, explicit_bucket_boundaries_advisory=_BUCKETS
            )
            for side, (name, about) in _HISTOGRAMS.items()
        }
        self._calls: Any = None
        self._requests: Any = None
        self._ids = _call_span.GivenIds()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._queue = _core.TelemetryQueue(hub._core)
        self._thread = threading.Thread(target=self._export_all, name="toolhub-otel", daemon=True)
        self._thread.start()
        # Before the providers, which were made earlier, are shut down.
        atexit.register(self)

    def __call__(self) -> None:
        """Stop. What has ended is exported first; calling it again does nothing."""
        if self._hub._tracing is self:
            self._hub._tracing = None
        atexit.unregister(self)
        self._stopped.set()
        self._queue.close()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        self.flush()

    def flush(self) -> None:
        """Hand all that has ended to the providers now. They have a `force_flush` of their own."""
        # What ends meanwhile is left for the next time: there may always be more.
        for left in range(len(self._queue), 0, -_IN_A_ROW):
            with self._lock:
                self._export_some()
            if left > _IN_A_ROW:
                # Otherwise a call that ends now would wait until Python takes the GIL away.
                sleep(_PAUSE)

    def _export_some(self) -> None:
        spans, sessions, calls, dropped = cast("Any", self._queue.take(_IN_A_ROW))
        for span in spans:
            self._export(*span)
        for call in calls:
            call.export()
        for side, seconds, attributes in sessions:
            self._histograms[f"{side} session"].record(seconds, attributes)
        if dropped:
            _log.warning("dropped %d spans that ended faster than they could be exported", dropped)

    def _call(self, tool: Any, around: "Around") -> "TracedCall":
        """The span of a call; its context goes into the `meta` of what is around the call."""
        return self._spans.TracedCall(self, str(tool), around)

    def _call_tracer(self) -> Any:
        """What makes the spans of calls: a `CallTracer`, or a tracer that is none of the SDK."""
        if self._calls is None:
            tracer = self._api.get_tracer(_NAME, tracer_provider=self._provider)
            if not self._spans.is_of_sdk(tracer):
                return tracer
            self._calls = self._spans.CallTracer(tracer)
        return self._calls

    def _call_ended(self, span: Any, learnt: dict[str, str], status: Any) -> None:
        if not isinstance(span, self._spans.CallSpan):
            # All at once: each call of the SDK takes a lock and checks.
            span.set_attributes(learnt)
            if status is not None:
                span.set_status(status)
            span.end()
        elif span.is_recording():
            span.over(learnt, status)
            if span.is_used or not self._queue.add_call(span):
                span.export()

    def _export_all(self) -> None:
        while self._queue.wait():
            # Many at once: a thread that wakes up for each would take the GIL from the calls again and again.
            self._stopped.wait(_GATHERED)
            try:
                self.flush()
            except Exception:
                _log.exception("a span could not be exported")

    def _export(
        self,
        side: str,
        name: str,
        trace_id: int,
        span_id: int,
        parent_id: int | None,
        flags: int,
        state: str | None,
        begun: int,
        ended: int,
        attributes: dict[str, Any],
        measured: dict[str, Any],
        is_error: bool,
    ) -> None:
        # Most of the time is that of the SDK; what is ours makes no object twice.
        api, context = self._api, self._nowhere
        if parent_id is not None:
            parent = api.SpanContext(
                trace_id,
                parent_id,
                is_remote=side == "server",
                trace_flags=api.TraceFlags(flags),
                trace_state=None if state is None else api.TraceState.from_header([state]),
            )
            context = api.set_span_in_context(api.NonRecordingSpan(parent), context)
        self._ids.trace_id, self._ids.span_id = trace_id, span_id
        tracer = self._requests or self._request_tracer()
        span = tracer.start_span(
            name, context=context, kind=self._kinds[side], attributes=attributes, start_time=begun
        )
        if is_error:
            span.set_status(api.Status(api.StatusCode.ERROR))
        span.end(ended)
        # With the span, of which the SDK may keep an example.
        self._histograms[side].record(
            (ended - begun) / 1e9, measured, api.set_span_in_context(span, self._nowhere)
        )

    def _request_tracer(self) -> Any:
        """A tracer whose spans have the ids that the core has given them."""
        tracer: Any = self._api.get_tracer(_NAME, tracer_provider=self._provider)
        if self._spans.is_of_sdk(tracer):
            self._requests = tracer = self._spans.copy_of(tracer, self._ids)
        return tracer
