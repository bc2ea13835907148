"""What the hub decides and does, as it happens: structured events for callbacks, one readable line each for `logging`.

| type | when | in addition to `tool`, `source`, `server` |
|---|---|---|
| `parsed` | a model's text was read | `calls`, `format`, `repairs` |
| `routed` | a request was routed | `rule` |
| `refused` | a call is not allowed, or was not approved | `error` |
| `connecting`, `connected`, `connect_failed`, `disconnected` | a server | `duration_ms`, `era`, `version`, `error` |
| `started` | one candidate is tried | `attempt` |
| `retried` | it will be tried again | `tries`, `seconds`, `error` |
| `failed`, `cancelled` | one candidate gave no answer | `attempt`, `duration_ms`, `kind`, `error` |
| `finished` | the call is over | `duration_ms`, `success`, `kind`, `error` |
| `synthesised` | a model combined several answers | `duration_ms`, `method` |
| `version_changed` | a tool was registered again with another version | `before`, `after` |
| `truncated` | a result was cut for a prompt | `shown`, `total`, `handle` |
"""

import _thread
import inspect
import logging
import os
import time
from collections.abc import Callable
from itertools import count
from typing import Any

from . import _core
from ._lazy import asyncio
from ._to_plain import readable, shown

__all__ = ["Event"]

EXECUTE = logging.getLogger("toolhub.execute")
ROUTE = logging.getLogger("toolhub.route")
RESULTS = logging.getLogger("toolhub.results")
_MCP = logging.getLogger("toolhub.mcp")
_LOGGERS = {
    "parsed": logging.getLogger("toolhub.parse"),
    "routed": ROUTE,
    "refused": ROUTE,
    "connecting": _MCP,
    "connected": _MCP,
    "connect_failed": _MCP,
    "disconnected": _MCP,
    "synthesised": RESULTS,
    "version_changed": logging.getLogger("toolhub.registry"),
    "truncated": RESULTS,
}
_TROUBLE = logging.getLogger("toolhub")
# Longer texts are shortened, whatever they hold.
_SHORT = 100
_ABOUT = ("type", "time", "execution_id", "call_id", "tool", "source", "server")

# Unique in this process, and not equal to those of another process whose events end in the same place.
_PROCESS = os.urandom(4).hex()
_numbers = count(1)


def new_execution_id() -> str:
    """An id that no other call has."""
    return f"{_PROCESS}-{next(_numbers)}"


class Event(dict[str, Any]):
    """One event: a dict with `type`, `time` (seconds since 1970), `execution_id`, `call_id`, `tool`, `source`, `server`, and
    more that depends on its type.

    All events of one call have the same `execution_id`, which no other call has. `call_id` is the id that the model gave to
    the call; models give the same ids again and again.

    >>> event = Event(type="finished", call_id="call_1", tool="add", duration_ms=0.4, success=True)
    >>> event["tool"], event.type, event.server
    ('add', 'finished', None)
    >>> str(event)
    'finished add [call_1]: duration_ms=0.4 success=True'
    """

    def __getattr__(self, name: str) -> Any:
        if name in self or name in _ABOUT:
            return self.get(name)
        raise AttributeError(f"an event of type {self.get('type')!r} has no {name!r}")

    def __str__(self) -> str:
        place = f" on {self['server']}" if self.get("server") and self.get("tool") else ""
        what = self.get("tool") or self.get("server") or ""
        call = f" [{self['call_id']}]" if self.get("call_id") else ""
        more = " ".join(
            f"{key}={value:.1f}" if isinstance(value, float) else f"{key}={value}"
            for key, value in self.items()
            if key not in _ABOUT and value is not None
        )
        return f"{self['type']} {what}{place}{call}".rstrip() + (f": {more}" if more else "")


class Events:
    """The listeners of a hub. A listener that fails is logged and never breaks a call; `KeyboardInterrupt` and `SystemExit` in
    one end the call that it heard of."""

    def __init__(self) -> None:
        # dict set/pop are atomic under the GIL. A lock here could deadlock: the garbage collector may run a finalizer that
        # emits an event while the lock is held.
        self.listeners: dict[object, Callable[[Event], Any]] = {}

    def subscribe(self, listener: Callable[[Event], Any]) -> Callable[[], None]:
        """Add a listener; the returned function removes it."""
        if not callable(listener):
            raise TypeError(f"a listener must be callable, got {type(listener).__name__}")
        if inspect.iscoroutinefunction(listener):
            raise TypeError("a listener for events must be a plain function, not an async one")

        key = object()  # the same listener may be added twice
        self.listeners[key] = listener

        def unsubscribe() -> None:
            self.listeners.pop(key, None)

        return unsubscribe

    def emit(self, type: str, **details: Any) -> None:
        """Log an event and pass it to all listeners."""
        logger = _LOGGERS.get(type, EXECUTE)
        wanted = logger.isEnabledFor(logging.INFO)
        if not wanted and not self.listeners:
            return
        event = Event(dict.fromkeys(_ABOUT), type=type, time=time.time())
        event.update({key: _clean(key, value) for key, value in details.items()})
        if wanted:
            logger.info("%s", event)
        for listener in self.listeners.copy().values():
            try:
                answer = listener(event)
                if hasattr(answer, "__await__"):
                    answer.close()
                    raise TypeError("a listener for events must be a plain function, not an async one")
            except Exception:
                _TROUBLE.exception("a listener failed at the event %r", type)

    def watch(self, tool: str, args: Any, call_id: str | None, is_readable: bool) -> "Watched":
        """The reporter of one call. One that is not readable is a model's text in which no call could be read."""
        return Watched(self, tool, args, call_id, is_readable)

    def emit_for_server(self, server: str, event: dict[str, Any]) -> None:
        """Emit an event of a connection, as the core reports it on a thread of its own."""
        try:
            self.emit(event["type"], server=server, **event["details"])
        except KeyboardInterrupt:
            # Nothing can be raised here; the interpreter raises it in the main thread.
            _thread.interrupt_main()
        except SystemExit:
            _TROUBLE.exception("a listener asked for the exit of a thread of the hub")


def _clean(key: str, value: Any) -> Any:
    """Texts of models, tools and servers as one line without commands to a terminal."""
    # Other scripts have letters without a shape, which are printable.
    if not isinstance(value, str) or (value.isascii() and value.isprintable() and len(value) <= _SHORT):
        return value
    return _core.event_error(value) if key == "error" else _core.event_name(value)


class Watched:
    """Reports what happens to one call. The core calls its methods, and itself for each candidate."""

    __slots__ = ("_args", "_begun", "_events", "_ids", "_tool")

    def __init__(self, events: Events, tool: str, args: Any, call_id: str | None, is_readable: bool) -> None:
        self._events, self._tool, self._begun = events, tool, time.perf_counter()
        # None: the arguments are not known, so an error about them may quote anything.
        self._args: Any = None if not is_readable else {} if args is None else args
        execution_id = new_execution_id()
        self._ids = {"execution_id": execution_id, "call_id": call_id or execution_id}
        if EXECUTE.isEnabledFor(logging.DEBUG):
            EXECUTE.debug("arguments of %s: %s", self._named(), shown(args))

    def __call__(
        self,
        what: str,
        attempt: int,
        tool: str,
        source: str,
        server: str | None,
        seconds: float | None,
        kind: str | None,
        more: Any,
    ) -> None:
        """Report an attempt. `more` holds the details of a retry, or the error of a failure."""
        details: dict[str, Any] = {"attempt": attempt}
        if what == "retried":
            details.update(more)
            details["error"] = self._error(details.get("error"), None)
        elif what != "started":
            details.update(
                duration_ms=None if seconds is None else seconds * 1e3,
                kind=kind,
                error=self._error(more, kind),
            )
        self._emit(what, tool=tool, source=source, server=server, **details)

    @property
    def execution_id(self) -> str:
        """The id of the call in all its events."""
        return self._ids["execution_id"]

    def _emit(self, what: str, **details: Any) -> None:
        self._events.emit(what, **self._ids, **details)

    def routed(self, rule: str, source: str | None, server: str | None) -> None:
        """The request was routed."""
        self._emit("routed", tool=self._tool, source=source, server=server, rule=rule)

    def refused(self, result: Any) -> None:
        """Permissions forbid the call."""
        self._emit("refused", tool=self._tool, error=self._error(result["error"], None))

    def synthesised(self, result: Any, duration_ms: float) -> None:
        """A model has combined several answers."""
        meta = result["_meta"]
        method = meta["synthesis_method"]
        self._emit("synthesised", tool=meta["tool"], duration_ms=duration_ms, method=method)

    def finished(self, result: Any) -> None:
        """The call has a result."""
        meta = result["_meta"]
        failed: dict[str, Any] = {}
        if not result["success"]:
            kind = meta["error"]["kind"]
            failed = {"kind": kind, "error": self._error(result["error"], kind)}
        self._ended(result["success"], source=meta["source"], server=meta["server"], more=failed)
        if EXECUTE.isEnabledFor(logging.DEBUG):
            EXECUTE.debug("result of %s: %s", self._named(), shown(result["result"]))

    def broken_off(self, error: BaseException) -> None:
        """The call ended without a result: cancelled, interrupted, or a programming error."""
        kind = "cancelled" if isinstance(error, asyncio.CancelledError) else None
        said = self._error(f"{type(error).__name__}: {readable(error)}", kind)
        self._ended(False, more={"kind": kind, "error": said})

    def _ended(self, success: bool, *, more: dict[str, Any], **place: Any) -> None:
        took = (time.perf_counter() - self._begun) * 1e3
        self._emit("finished", tool=self._tool, **place, duration_ms=took, success=success, **more)

    def _named(self) -> str:
        return f"{_core.event_name(self._tool)} [{_core.event_name(self._ids['call_id'])}]"

    def _error(self, text: Any, kind: str | None) -> str | None:
        """The text of an error without the values of the arguments, which it may quote."""
        if not issubclass(type(text), str):
            return None
        return _core.event_error(text, self._args, kind, debug=EXECUTE.isEnabledFor(logging.DEBUG))
