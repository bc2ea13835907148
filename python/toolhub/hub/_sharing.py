"""Sharing one execution: a cache with a time to live, and single flight for identical concurrent calls.

Both are asked for by the caller and never used for tools with effects. Callers may sit on different event loops and
threads, so the flights are thread-safe futures.
"""

import asyncio
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from types import NoneType
from typing import Any, cast

from .. import _core
from ..exceptions import ErrorKind
from ..result import ToolResult

_MAX_CACHED = 1024


class Sharing:
    """What is in the air and what is kept.

    Values are copied before the lock is taken and let go after it: both may run code of the user, which may call the hub.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Any, Future[ToolResult | None]] = {}
        self._cache: OrderedDict[Any, tuple[float, ToolResult]] = OrderedDict()

    async def execute(
        self,
        what: tuple[Any, ...],
        args: Any,
        run: Callable[[float | None], Awaitable[ToolResult]],
        cache_ttl: float | None,
        single_flight: bool,
        deadline: float | None,
    ) -> ToolResult:
        """Give the cached answer, the answer of an identical call in the air, or that of a call of our own.

        `run` is told how many seconds of the deadline are left to it.
        """
        try:
            key = (what, json.dumps(_comparable(args), sort_keys=True))
        except (TypeError, ValueError, RecursionError):
            return await run(deadline)  # arguments that cannot be compared are not shared
        if cache_ttl is not None and (kept := self._kept(key)) is not None:
            return kept
        result = await (self._fly(key, what[0], run, deadline) if single_flight else run(deadline))
        if cache_ttl is not None and result.success:
            self._keep(key, cache_ttl, result)
        return result

    def clear(self) -> None:
        """Forget all kept answers."""
        with self._lock:
            forgotten, self._cache = self._cache, OrderedDict()
        forgotten.clear()

    def _kept(self, key: Any) -> ToolResult | None:
        with self._lock:
            entry = self._cache.get(key)
            if entry is None or entry[0] < time.monotonic():
                self._cache.pop(key, None)
                return None
            self._cache.move_to_end(key)
        copy = _core.copy_result(entry[1])
        copy.meta["cached"] = True
        return copy

    def _keep(self, key: Any, ttl: float, result: ToolResult) -> None:
        entry = (time.monotonic() + ttl, _core.copy_result(result))
        with self._lock:
            gone = [self._cache.pop(key, None)]
            self._cache[key] = entry
            if len(self._cache) > _MAX_CACHED:
                gone.append(self._cache.popitem(last=False)[1])
        gone.clear()

    async def _fly(
        self,
        key: Any,
        tool: str,
        run: Callable[[float | None], Awaitable[ToolResult]],
        deadline: float | None,
    ) -> ToolResult:
        left, begun = deadline, time.monotonic()
        while True:
            with self._lock:
                flight = self._flights.get(key)
                if flight is None:
                    mine = self._flights[key] = Future[ToolResult | None]()
                    break
            # Only the waiting ends with the waiter: the flight belongs to all who wait.
            try:
                async with asyncio.timeout(left):
                    result = await asyncio.shield(asyncio.wrap_future(flight))
            except TimeoutError:
                sentence = (
                    f"'{tool}' did not end within its deadline of {deadline} s (it may still have run)."
                )
                return _core.failed_result(tool, ErrorKind.TIMEOUT, sentence)
            if result is not None:
                return _core.copy_result(result)
            # The leader was cancelled; somebody else has to fly, in the time that is left.
            if deadline is not None:
                left = max(0.0, deadline - (time.monotonic() - begun))
        shared = None
        try:
            result = await run(left)
            shared = _core.copy_result(result)
            return result
        finally:
            with self._lock:
                del self._flights[key]
            mine.set_result(shared)


def _comparable(value: Any) -> Any:
    """The value itself when it is JSON; json would take a tuple for a list and the key 1 for "1"."""
    kind = cast("type[Any]", type(value))
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise TypeError("not JSON")
            _comparable(item)
    elif kind is list:
        for item in value:
            _comparable(item)
    elif kind not in (str, int, float, bool, NoneType):
        raise TypeError("not JSON")
    return value
