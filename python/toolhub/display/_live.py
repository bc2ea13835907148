"""A view that follows a hub while servers connect and calls run.

Events come on any thread and only change the data; a thread of the view draws it at most ten times a second.
"""

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from .._checks import check_whole
from ..events import Event
from ._html import Bundle, bundle, heading, marked, milliseconds, short, table
from ._views import server_table

if TYPE_CHECKING:
    from ..hub import ToolHub

_PAUSE = 0.1
"""Seconds between two drawings."""


@dataclass(slots=True)
class _Call:
    tool: str
    origin: str = ""
    state: str = "running"
    kind: str = "wait"
    ms: float | None = None
    error: str = ""


class LiveView:
    """The servers of a hub and its last calls, as they are now. Made by `live`."""

    def __init__(self, hub: "ToolHub", limit: int = 20) -> None:
        self._hub = hub
        self._limit = check_whole("limit", limit, 1)
        self._calls: OrderedDict[str, _Call] = OrderedDict()
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._closed = threading.Event()
        self._handle: Any = None
        self._thread: threading.Thread | None = None
        self._unsubscribe = hub.on_event(self._on_event)

    def close(self) -> None:
        """Draw it a last time and follow the hub no more. What is shown stays."""
        if self._closed.is_set():
            return
        self._unsubscribe()
        self._closed.set()
        self._changed.set()
        if self._thread is not None:
            self._thread.join()
        if self._handle is not None:
            self._handle.update(self)

    def _start(self, handle: Any) -> None:
        self._handle = handle
        self._thread = threading.Thread(target=self._draw, name="toolhub-live", daemon=True)
        self._thread.start()

    def _draw(self) -> None:
        while not self._closed.is_set():
            self._changed.wait()
            self._changed.clear()
            if not self._closed.is_set():
                self._handle.update(self)
                self._closed.wait(_PAUSE)

    def _on_event(self, event: Event) -> None:
        with self._lock:
            if event.execution_id is not None:
                self._on_call(event)
        self._changed.set()

    def _on_call(self, event: Event) -> None:
        call = self._calls.get(event.execution_id)
        if call is None:
            call = self._calls[event.execution_id] = _Call(str(event.tool))
            while len(self._calls) > self._limit:
                self._calls.popitem(last=False)
        if event.server or event.source:
            call.origin = str(event.server or event.source)
        if event.type == "finished":
            call.state = "done" if event.success else str(event.get("kind") or "failed")
            call.kind = "good" if event.success else "bad"
            call.ms, call.error = event.get("duration_ms"), str(event.get("error") or "")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        servers = self._hub.servers()
        with self._lock:
            rows = [
                [
                    marked("b", short(call.tool)),
                    short(call.origin, 60),
                    marked("span", call.state, call.kind),
                    milliseconds(call.ms),
                    short(call.error, 200),
                ]
                for call in reversed(self._calls.values())
            ]
        head = ["tool", "from", "state", "time", "error"]
        clock = marked("span", time.strftime("%H:%M:%S"), "quiet")
        return bundle(
            heading(marked("b", "ToolHub"), clock),
            server_table(servers) if servers else None,
            table(head, rows) if rows else None,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def live(hub: "ToolHub", *, limit: int = 20) -> LiveView:
    """Show in a notebook how servers connect and calls run, with the last `limit` calls, until `close()` or the end of `with`.

        with toolhub.display.live(hub):
            await hub.connect()
            await hub.execute_many(calls)

    Raises `ImportError` without IPython, which every notebook has.
    """
    try:
        notebook: Any = import_module("IPython.display")
    except ImportError as error:
        raise ImportError("a live view needs a notebook: IPython is not installed") from error
    view = LiveView(hub, limit)
    shown = notebook.display(view, display_id=True)
    if shown is not None:
        view._start(shown)
    return view
