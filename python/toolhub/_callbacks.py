"""Functions of the user that the core calls (for input, a completion, a token, a page to open), and reports of servers.

A small pool of threads answers, so that a user who thinks about one question holds up no other. Log lines and events have
a thread of their own. The loops of these threads are Python on purpose, as in `_pool`.
"""

import inspect
import logging
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from . import _background, _core
from ._lazy import asyncio
from ._to_plain import readable
from .principal import Principal

_log = logging.getLogger("toolhub.mcp")

Function = Callable[[str, Any], Any]


Owner = weakref.ref["Callbacks"]


class Callbacks:
    """Answers what the servers of one hub ask for, with the functions that its owner has given."""

    def __init__(
        self, functions: Mapping[str, Function], on_event: Function, report_store: Callable[[], None]
    ) -> None:
        self.queue = _core.CallbackQueue()
        self.tokens: dict[str, Callable[[], Any]] = {}
        """For servers whose token comes from a function."""
        self.headers: dict[str, Callable[[Principal | None], Any]] = {}
        """For servers whose headers come from a function."""
        self._functions: dict[str, Function] = {**functions, "token": self._token, "headers": self._headers}
        self.report = on_event
        """Passes on what happened to a connection."""
        self.report_store = report_store
        self._started = False

    def _token(self, server: str, _: Any) -> Any:
        return self.tokens[server]()

    def _headers(self, server: str, caller: Any) -> Any:
        return self.headers[server](None if caller is None else Principal(**caller))

    @property
    def known(self) -> list[str]:
        """The names of the functions that can be called."""
        return list(self._functions)

    def start(self) -> None:
        """Start serving; calls after the first do nothing."""
        if not self._started:
            self._started = True
            # The threads must not keep the hub alive, and end with it.
            weakref.finalize(self, self.queue.close).atexit = False
            self.queue.set_log_level(_level())
            me: Owner = weakref.ref(self)
            _start_worker(self.queue, me)
            _start("toolhub-notices", _report, self.queue, me)

    def stop(self) -> None:
        """Serve no more; requests that wait are refused."""
        self.queue.close()

    def answer(self, request: "_core.CallbackRequest") -> None:
        """Call the function that a request is for, and hand back what it returns."""
        try:
            answer = self._functions[request.function](request.server, request.params)
            if inspect.isawaitable(answer):
                answer = _background.run(_awaited(answer))
            request.answer(answer)
        except (Exception, asyncio.CancelledError) as error:
            request.refuse(f"{type(error).__name__}: {readable(error)}")


def _start(name: str, target: Callable[..., None], *args: Any) -> None:
    threading.Thread(target=target, args=args, name=name, daemon=True).start()


def _start_worker(queue: "_core.CallbackQueue", owner: Owner) -> None:
    """Start a worker when none is free."""
    if queue.needs_worker():
        try:
            _start("toolhub-callback", _serve, queue, owner)
        except RuntimeError:
            # No more threads: requests wait for the workers that exist.
            queue.worker_lost()


def _serve(queue: "_core.CallbackQueue", owner: Owner) -> None:
    while (request := queue.next()) is not None:
        _start_worker(queue, owner)
        callbacks = owner()
        if callbacks is None:
            request.refuse("the hub is gone")
        else:
            callbacks.answer(request)
        # A waiting worker must keep neither the hub nor the last request alive.
        del callbacks, request


def _report(queue: "_core.CallbackQueue", owner: Owner) -> None:
    while (notices := queue.next_notices()) is not None:
        events, lines, dropped = notices
        callbacks = owner()
        if callbacks is not None:
            callbacks.report_store()
            for server, event in events:
                callbacks.report(server, event)
        for server, level, text in lines:
            _log.log(level, "%s: %s", server, text)
        if dropped:
            _log.warning("dropped %d log lines that servers sent faster than they could be written", dropped)
        queue.set_log_level(_level())
        del callbacks, notices, events, lines


def _level() -> int:
    """The lowest level that the logger takes now."""
    return max(_log.getEffectiveLevel(), _log.manager.disable + 1)


async def _awaited(awaitable: Any) -> Any:
    return await awaitable
