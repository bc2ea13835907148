"""The span `execute_tool NAME` of one call, for `toolhub.otel`, which alone imports this.

A call that is traced leaves the SDK alone: it draws the ids, asks the sampler, and notes when it began and ended. The span of
the SDK is made from that afterwards, together with those of other calls, on the thread that exports. Between two requests to a
server, all that the SDK touches would have to come into the caches of the processor again, which costs several times what it
costs in a row. Whoever uses the span while the call runs, to set an attribute for example, gets that of the SDK at once.
"""

import copy
import threading
from collections.abc import Mapping
from time import time_ns
from typing import TYPE_CHECKING, Any, Self

from opentelemetry import baggage, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from . import _core
from .events import new_execution_id

if TYPE_CHECKING:
    from .hub._call_methods import Around
    from .otel import Tracing
    from .result import ToolResult

# The attribute of the span of a call, and where `_meta` of its result has it.
_OF_RESULT = (("gen_ai.tool.call.id", "call_id"), ("toolhub.source", "source"), ("toolhub.server", "server"))
# Older versions of the API do not know it.
_RANDOM = getattr(trace.TraceFlags, "RANDOM_TRACE_ID", 0)
_INTERNAL = trace.SpanKind.INTERNAL
TRACE_CONTEXT, BAGGAGE = TraceContextTextMapPropagator(), W3CBaggagePropagator()


class GivenIds(threading.local):
    """Gives a span the ids that it has already, and decides on it as was decided when it began.

    Has the methods of the SDK's `IdGenerator` and `Sampler`. Each thread has values of its own.
    """

    trace_id = 0
    span_id = 0
    is_random = True
    decided: Any = None

    def generate_trace_id(self) -> int:
        return self.trace_id

    def generate_span_id(self) -> int:
        return self.span_id

    def is_trace_id_random(self) -> bool:
        return self.is_random

    def should_sample(self, *_: Any, **__: Any) -> Any:
        return self.decided


def copy_of(tracer: Any, ids: GivenIds) -> Any:
    """A tracer like one of the SDK, whose spans have the ids that they are given, because they were sent already.

    It is a copy because the SDK gives the same tracer to all that ask by the same name.
    """
    own = copy.copy(tracer)
    own.id_generator = ids
    return own


def is_of_sdk(tracer: Any) -> bool:
    """Whether spans can be made later, with given ids. Otherwise there is no SDK, none yet, or another one."""
    return hasattr(tracer, "id_generator") and hasattr(tracer, "sampler")


class CallTracer:
    """Makes the spans of calls, from a tracer of the SDK."""

    def __init__(self, tracer: Any) -> None:
        self.sampler, self.ids = tracer.sampler, tracer.id_generator
        is_random = getattr(self.ids, "is_trace_id_random", None)
        self.is_random = is_random is not None and bool(is_random())
        self._given = GivenIds()
        self._tracer = copy_of(tracer, self._given)
        self._tracer.sampler = self._given

    def start(self, span: "CallSpan") -> Any:
        """The span of the SDK for one of ours."""
        given = self._given
        (given.trace_id, given.span_id), given.is_random = span.ids, self.is_random
        given.decided = span.sampled
        return self._tracer.start_span(span.name, context=span.around, start_time=span.begun)


def _passed_on(name: str) -> Any:
    """A method that the span of the SDK has."""

    def method(self: "CallSpan", *args: Any, **options: Any) -> None:
        getattr(self._used(), name)(*args, **options)

    return method


class CallSpan(trace.Span):
    """The current span while a call runs. That of the SDK is made when this one is used, or when it is exported."""

    def __init__(self, tracer: CallTracer, name: str, attributes: Mapping[str, Any], around: Context) -> None:
        self.begun = time_ns()
        self.name, self.around, self._tracer = name, around, tracer
        parent = trace.get_current_span(around).get_span_context()
        if parent.is_valid:
            trace_id, flags = parent.trace_id, parent.trace_flags & _RANDOM
        else:
            trace_id, flags = tracer.ids.generate_trace_id(), _RANDOM if tracer.is_random else 0
        self.ids = ids = trace_id, tracer.ids.generate_span_id()
        self.sampled = sampled = tracer.sampler.should_sample(
            around, trace_id, name, _INTERNAL, attributes, ()
        )
        if sampled.decision.is_sampled():
            flags |= trace.TraceFlags.SAMPLED
        self._context = trace.SpanContext(*ids, False, trace.TraceFlags(flags), sampled.trace_state)
        self._lock = threading.RLock()
        self._sdk_span: Any = None
        self._learnt: Mapping[str, Any] = {}
        self._status: Any = None
        self._ended: int | None = None

    @property
    def is_used(self) -> bool:
        """Whether the span of the SDK was made."""
        return self._sdk_span is not None

    def over(self, learnt: Mapping[str, Any], status: Any) -> None:
        """The call has ended."""
        self._learnt, self._status, self._ended = learnt, status, time_ns()

    def export(self) -> None:
        """Hand it to the SDK; the call has ended."""
        span = self._used()
        span.set_attributes(self._learnt)
        if self._status is not None:
            span.set_status(self._status)
        span.end(self._ended)

    def _used(self) -> Any:
        with self._lock:
            if self._sdk_span is None:
                # For a processor that asks for the current span while this one begins.
                self._sdk_span = trace.NonRecordingSpan(self._context)
                self._sdk_span = self._tracer.start(self)
            return self._sdk_span

    def get_span_context(self) -> trace.SpanContext:
        return self._context

    def is_recording(self) -> bool:
        return self._ended is None and self.sampled.decision.is_recording()

    set_attributes = _passed_on("set_attributes")
    set_attribute = _passed_on("set_attribute")
    add_event = _passed_on("add_event")
    add_link = _passed_on("add_link")
    update_name = _passed_on("update_name")
    set_status = _passed_on("set_status")
    record_exception = _passed_on("record_exception")
    end = _passed_on("end")

    def __getattr__(self, name: str) -> Any:
        # What only the spans of the SDK have, such as `attributes`.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._used(), name)


class TracedCall:
    """One call that is traced: its span is current while it runs."""

    __slots__ = ("_execution_id", "_learnt", "_span", "_status", "_token", "_tool", "_tracing", "around")

    def __init__(self, tracing: "Tracing", tool: str, around: "Around") -> None:
        self._tracing, self._tool, self.around = tracing, tool, around
        self._execution_id: str | None = None
        self._learnt: dict[str, str] = {}
        self._status: Any = None

    def __enter__(self) -> Self:
        tool = _core.event_name(self._tool)
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.type": "function",
        }
        name, current = f"execute_tool {tool}", get_current()
        tracer = self._tracing._call_tracer()
        if isinstance(tracer, CallTracer):
            self._span: trace.Span = CallSpan(tracer, name, attributes, current)
        else:
            self._span = tracer.start_span(name, attributes=attributes)
        inside = trace.set_span_in_context(self._span, current)
        self._token = attach(inside)
        # What the caller has put into `_meta` itself is meant to go out as it is.
        progress, meta, watch, llm, passed_on, permissions = self.around
        meta = _carried(self._span, inside) | dict(meta or {})
        self.around = progress, meta, watch and self._watching(watch), llm, passed_on, permissions
        return self

    def _watching(self, watch: Any) -> Any:
        """Makes the reporter of the call, and takes over the id that its events have."""

        def watching(*call: Any) -> Any:
            watched = watch(*call)
            self._execution_id = watched.execution_id
            return watched

        return watching

    def ended(self, result: "ToolResult") -> "ToolResult":
        """The call has a result."""
        meta: Mapping[str, Any] = result.get("_meta") or {}
        for attribute, key in _OF_RESULT:
            value = meta.get(key)
            if isinstance(value, str):
                self._learnt[attribute] = value
        if not result.success:
            self._failed("tool_error" if result.kind is None else result.kind.value)
        return result

    def _failed(self, kind: str) -> None:
        """Without the message: it is what a tool or a server says, and may quote arguments and results in its own words."""
        self._learnt["error.type"] = kind
        self._status = trace.Status(trace.StatusCode.ERROR)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            from asyncio import CancelledError

            is_cancelled = isinstance(error, CancelledError | GeneratorExit)
            self._failed("cancelled" if is_cancelled else type(error).__name__)
        detach(self._token)
        self._learnt["toolhub.execution.id"] = self._execution_id or new_execution_id()
        self._tracing._call_ended(self._span, self._learnt, self._status)


def _carried(span: trace.Span, inside: Context) -> dict[str, Any]:
    """What a request inside of a span carries, as the propagators write it, which take four times as long for the usual one."""
    carrier: dict[str, Any] = {}
    own = span.get_span_context()
    if own.trace_state or not own.is_valid:
        TRACE_CONTEXT.inject(carrier, inside)
    else:
        carrier["traceparent"] = f"00-{own.trace_id:032x}-{own.span_id:016x}-{own.trace_flags:02x}"
    if baggage.get_all(inside):
        BAGGAGE.inject(carrier, inside)
    return carrier
