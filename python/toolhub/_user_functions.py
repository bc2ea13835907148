"""Calls of functions that the user has given to a hub, such as `approve` and `llm`; sync or async.

A plain function runs on a thread of ours. asyncio's own threads are not used: `asyncio.run` and the end of the interpreter
wait for them, so a function that hangs would hold up both.
"""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar, cast

from . import _core

_GRACE = 1.0
"""Seconds that an async function may go on after its caller was cancelled."""

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a plain function on a thread of ours, in a copy of this context. Cancelling leaves it behind."""
    return cast("T", await _core.in_thread(partial(function, *args, **kwargs)))


async def call(function: Callable[..., Any], *args: Any) -> Any:
    """What the function returns. Awaitables are awaited, also those that a plain function returns."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await alone(function(*args))
    answer = await in_thread(function, *args)
    return await alone(answer) if inspect.isawaitable(answer) else answer


async def alone(awaitable: Awaitable[T]) -> T:
    """Await in a task of its own, so that the caller's cancellation ends the wait even if the function swallows it."""
    task = asyncio.ensure_future(awaitable)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        task.add_done_callback(_forget)
        await asyncio.wait({task}, timeout=_GRACE)
        raise
    return task.result()


def _forget(task: "asyncio.Future[Any]") -> None:
    """Take the exception of a task that is not awaited, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


class BoundedCall:
    """Calls a plain function on a thread of ours, and waits for a limited time.

    While a call that was given up still runs, no other is started.
    """

    def __init__(self, function: Callable[..., Any], seconds: float) -> None:
        self._function = function
        self._seconds = seconds
        self._abandoned: threading.Thread | None = None

    def __call__(self, *args: Any) -> Any:
        """What the function returns or raises; `TimeoutError` when it takes too long."""
        if self._abandoned is not None and self._abandoned.is_alive():
            raise TimeoutError("an earlier call still runs")
        answer: list[Any] = []
        errors: list[BaseException] = []

        def run() -> None:
            try:
                answer.append(self._function(*args))
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=run, name="toolhub-callback", daemon=True)
        thread.start()
        thread.join(self._seconds)
        if thread.is_alive():
            self._abandoned = thread
            raise TimeoutError(f"no answer within {self._seconds:g} s")
        if errors:
            raise errors[0]
        return answer[0]
