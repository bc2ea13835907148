"""Calls of functions that the user has given to a hub, such as `approve`, `llm` and `progress`; sync or async.

A plain function runs on a thread of ours. asyncio's own threads are not used: `asyncio.run` and the end of the interpreter
wait for them, so a function that hangs would hold up both.
"""

import inspect
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from . import _core
from ._lazy import asyncio

if TYPE_CHECKING:
    import asyncio


_log = logging.getLogger("toolhub")

_GRACE = 1.0
"""Seconds that an async function may go on after its caller was cancelled, and that a call waits for `progress` at its end."""

P = ParamSpec("P")
T = TypeVar("T")


def unmissed(task: "asyncio.Future[T]") -> "asyncio.Future[T]":
    """A task that asyncio drops in silence, as it does with those of `gather`.

    If a loop ends by an exception while calls are pending, "Task was destroyed but it is pending!" would tell the user of a
    task that is not theirs.
    """
    own: Any = task
    own._log_destroy_pending = False
    return task


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a plain function on a thread of ours, in a copy of this context. Cancelling leaves it behind."""
    return cast("T", await _core.in_thread(partial(function, *args, **kwargs)))


async def call(function: Callable[..., Any], *args: Any) -> Any:
    """What the function returns. Awaitables are awaited, also those that a plain function returns."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await in_own_task(function(*args))
    answer = await in_thread(function, *args)
    return await in_own_task(answer) if inspect.isawaitable(answer) else answer


async def in_own_task(awaitable: Awaitable[T]) -> T:
    """Await in a task of its own, so that the caller's cancellation ends the wait even if the function swallows it."""
    task = unmissed(asyncio.ensure_future(_caught(awaitable)))
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        await _cancel(task)
        raise
    value, error = task.result()
    if error is not None:
        raise error
    return cast("T", value)


async def _caught(awaitable: Awaitable[T]) -> tuple[T | None, BaseException | None]:
    # Raised out of a task, these would end the loop of the program.
    try:
        return await awaitable, None
    except (SystemExit, KeyboardInterrupt) as error:
        return None, error


class _Wait:
    """A call of a hub that waits for a function of the user."""

    def __init__(self, hub: object) -> None:
        self.hub = hub
        self.loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[None] = self.loop.create_future()
        self.ended: Future[None] = Future()

    def close(self) -> None:
        """End the wait, from any thread."""
        try:
            self.loop.call_soon_threadsafe(self._close)
        except RuntimeError:  # its loop is closed, and so the wait is over
            self.end()

    def _close(self) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    def end(self) -> None:
        """The wait is over."""
        _waits.discard(self)
        if not self.ended.done():
            self.ended.set_result(None)


_waits: set[_Wait] = set()
_inside: ContextVar[tuple[_Wait, ...]] = ContextVar("toolhub_waits", default=())
_CLOSING = 2.0
"""Seconds that closing a hub waits for the calls that it has ended here."""


class HubClosedError(Exception):
    """The hub was closed while one of its calls waited for a function of the user."""


async def cancel_on_close(hub: object, question: Awaitable[T]) -> T:
    """Await an answer of the user's function, but only while the hub is open; afterwards `HubClosedError`."""
    wait = _Wait(hub)
    token = _inside.set((*_inside.get(), wait))
    task = unmissed(asyncio.ensure_future(question))
    _inside.reset(token)
    _waits.add(wait)
    try:
        await asyncio.wait({task, wait.closed}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        await _cancel(task)
        raise HubClosedError
    except asyncio.CancelledError:
        if not task.done():
            await _cancel(task)
        raise
    finally:
        wait.closed.cancel()
        wait.end()


async def _cancel(task: "asyncio.Future[Any]") -> None:
    task.cancel()
    task.add_done_callback(take_exception)
    await asyncio.wait({task}, timeout=_GRACE)


def _end_waits(hub: object) -> list[_Wait]:
    """End the waits of a hub, except those inside which it is closed."""
    ending = [wait for wait in list(_waits) if wait.hub is hub and wait not in _inside.get()]
    for wait in ending:
        wait.close()
    return ending


def end_waits(hub: object) -> None:
    """End the calls of a hub that wait for a function of the user, and wait a bounded time for their end."""
    ending = _end_waits(hub)
    if not ending:
        return
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    # Calls on the loop of this thread cannot end while it is blocked.
    wait_for([wait.ended for wait in ending if wait.loop is not here], timeout=_CLOSING)


async def aend_waits(hub: object) -> None:
    """`end_waits`, for async code."""
    ending = [asyncio.wrap_future(wait.ended) for wait in _end_waits(hub)]
    if ending:
        await asyncio.wait(ending, timeout=_CLOSING)


def take_exception(task: "asyncio.Future[Any]") -> None:
    """Take the exception of a task that is not awaited, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


_running: set["asyncio.Task[None]"] = set()


class ProgressReports:
    """Calls `progress` with each report, one after another, beside the call that the reports are about."""

    _MOST = 10_000
    """Reports that wait for a slow function; older ones are dropped."""

    def __init__(self, function: Callable[..., Any], deadline: float | None) -> None:
        self._function = function
        self._waiting: deque[Any] = deque(maxlen=self._MOST)
        self._calls: asyncio.Task[None] | None = None
        # A number beyond what a clock holds means no limit.
        self._ends = None if deadline is None else time.monotonic() + float(min(deadline, 1e9))

    def __call__(self, report: Any) -> None:
        """Called by the core on the event loop."""
        self._waiting.append(report)
        if self._calls is None:
            self._calls = asyncio.ensure_future(self._call_all())
            unmissed(self._calls)
            # asyncio itself holds tasks only weakly.
            _running.add(self._calls)
            self._calls.add_done_callback(_running.discard)

    async def _call_all(self) -> None:
        try:
            while self._waiting:
                try:
                    await call(self._function, self._waiting.popleft())
                except Exception:
                    _log.exception("the function given as 'progress' failed")
        finally:
            self._calls = None

    async def settle(self) -> None:
        """Wait until the function has seen all reports, for a moment and within the deadline of the call."""
        left = _GRACE if self._ends is None else min(_GRACE, self._ends - time.monotonic())
        if self._calls is not None and left > 0:
            await asyncio.wait({self._calls}, timeout=left)
