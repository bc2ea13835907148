"""Events as OpenTelemetry spans, named by the GenAI and MCP conventions. Needs the extra: `pip install agent-toolhub[otel]`.

A call is one span `execute_tool NAME`, with `gen_ai.operation.name`, `gen_ai.tool.name`, `gen_ai.tool.call.id` (the model's id)
and `toolhub.execution.id` (unique). Each try on an MCP server is a client span `tools/call NAME` inside it, with
`mcp.method.name`. Arguments and results are never recorded.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .events import Event

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider

    from .hub import ToolHub

__all__ = ["trace"]


def trace(hub: "ToolHub", tracer_provider: "TracerProvider | None" = None) -> Callable[[], None]:
    """Record a span for every call of a hub, in the given or the global provider. Call the returned function to stop.

    The span is a child of the one that is current where the call is made.
    """
    return hub.on_event(_Spans(tracer_provider))


class _Call:
    """The spans of one call: its own, and one for each try on a server."""

    __slots__ = ("span", "tries")

    def __init__(self, span: "Span") -> None:
        self.span = span
        self.tries: dict[int, Span] = {}


class _Spans:
    """Turns events into spans. Every started call ends with `finished`, so no span stays open."""

    def __init__(self, provider: "TracerProvider | None") -> None:
        try:
            from opentelemetry import trace as api
        except ImportError as error:
            raise ImportError("tracing needs OpenTelemetry: pip install 'agent-toolhub[otel]'") from error
        self._api = api
        self._tracer = api.get_tracer("toolhub", tracer_provider=provider)
        self._calls: dict[str, _Call] = {}

    def __call__(self, event: Event) -> None:
        if event.execution_id is None:
            return
        match event.type:
            case "started":
                self._started(event)
            case "retried":
                self._call(event).span.add_event("retried", {"error.message": str(event.error)})
            case "failed" | "cancelled":
                self._try_ended(event)
            case "finished":
                self._finished(event)
            case _:
                pass

    def _call(self, event: Event) -> _Call:
        known = self._calls.get(event.execution_id)
        if known is None:
            begun = event.time - (event.get("duration_ms") or 0.0) / 1e3
            span = self._tracer.start_span(
                f"execute_tool {event.tool}",
                start_time=_nanoseconds(begun),
                attributes={
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": str(event.tool),
                    "gen_ai.tool.call.id": event.call_id,
                    "toolhub.execution.id": event.execution_id,
                    "gen_ai.tool.type": "function",
                },
            )
            known = self._calls[event.execution_id] = _Call(span)
        return known

    def _started(self, event: Event) -> None:
        call = self._call(event)
        if event.server is None:
            call.span.add_event("started", {"toolhub.source": str(event.source)})
            return
        call.tries[event.attempt] = self._tracer.start_span(
            f"tools/call {event.tool}",
            context=self._api.set_span_in_context(call.span),
            kind=self._api.SpanKind.CLIENT,
            start_time=_nanoseconds(event.time),
            attributes={
                "mcp.method.name": "tools/call",
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": str(event.tool),
                "toolhub.server": event.server,
            },
        )

    def _try_ended(self, event: Event) -> None:
        call = self._call(event)
        span = call.tries.pop(event.attempt, None)
        if span is None:
            call.span.add_event(
                event.type, {"error.type": str(event.kind), "error.message": str(event.error)}
            )
        else:
            self._end(span, event, failed=True)

    def _finished(self, event: Event) -> None:
        call = self._call(event)
        del self._calls[event.execution_id]
        for span in call.tries.values():
            self._end(span, event, failed=False)
        call.span.set_attribute("toolhub.source", str(event.source))
        self._end(call.span, event, failed=not event.success)

    def _end(self, span: "Span", event: Event, *, failed: bool) -> None:
        if failed:
            span.set_attribute("error.type", str(event.get("kind") or "error"))
            description: Any = event.get("error")
            span.set_status(self._api.Status(self._api.StatusCode.ERROR, description))
        span.end(_nanoseconds(event.time))


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)
