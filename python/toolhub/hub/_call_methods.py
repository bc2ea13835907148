"""The methods of `ToolHub` that call tools by name or capability. The core plans and runs every call."""

import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

from .. import _core
from .._background import blocking
from .._checks import check_callable, check_mapping, check_seconds, check_text, check_whole, if_given
from .._core import CallOptions as PlannedOptions
from .._core import Hub
from .._lazy import asyncio
from .._unknown_options import refuse_unknown
from .._user_functions import ProgressReports, unmissed
from ..events import EXECUTE, RESULTS, Events, Watched
from ..options import CallOptions, CapabilityOptions, Model, Progress
from ..permissions import Approve, Permissions, permissions_of
from ..result import ToolResult
from ._synthesis import check_llm

if TYPE_CHECKING:
    from ..otel import Tracing

T = TypeVar("T")

_INFO = logging.INFO


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "timeout": partial(check_seconds, above_zero=True),
    # What is left of a budget may be below zero.
    "deadline": partial(check_seconds, least=-math.inf),
    "hedge_after": check_seconds,
    "cache_ttl": check_seconds,
    "max_parallel": partial(check_whole, least=1),
    **dict.fromkeys(("strategy", "source", "server", "prefer", "run"), check_text),
}


def _checked_options(**options: Any) -> "_core.CallOptions":
    """The options of a call, checked."""
    checked: dict[str, Any] = {"strategy": "auto", **options}
    for what, check in _CHECKS.items():
        if checked.get(what) is not None:
            checked[what] = check(what, checked[what])
    return _core.CallOptions(**checked)


# Typed, because True == 1: an option of the wrong type must not find the options that were made for a right one.
_cached_options: "Callable[..., PlannedOptions]" = lru_cache(maxsize=256, typed=True)(_checked_options)

Around = tuple[
    ProgressReports | None, Mapping[str, Any] | None, Any, Any, dict[str, Any] | None, Permissions | None
]
"""What the core needs for a call in addition to its options: `progress`, `meta`, what reports about it, the model, values for
the tools that have parameters of these names, and who has to approve it."""


def call_options(**options: Any) -> "_core.CallOptions":
    """The options of a call. Most programs use a handful of combinations, so they are made once."""
    try:
        return _cached_options(**options)
    except TypeError:
        # Unhashable values cannot be looked up. They are not options either; the checks say which one is wrong.
        return _checked_options(**options)


_NO_OPTIONS = call_options()


class CallMethods:
    """`execute`, `execute_by_capability`, `execute_many` and the blocking `call`, `call_by_capability`, `call_many`."""

    _core: Hub
    _events: Events
    _llm: Any
    _tracing: "Tracing | None" = None

    async def execute(self, name: str, args: Any = None, **options: Unpack[CallOptions]) -> ToolResult:
        """Call a tool by its name and get a `ToolResult`; a failing tool is a result too, never an exception.

        `args` is a mapping of arguments; a bare value is passed to the only required parameter. `timeout` applies to one
        candidate, `deadline` to the whole call, both in seconds. `hedge_after` (seconds) delays the second candidate of a
        race until the first has had that long to answer. `cache_ttl` (seconds) caches the answer, and `single_flight` lets
        identical concurrent calls share one execution; both apply to harmless tools only. `llm` (default: the hub's)
        combines several answers into one; `llm_client` is another name for it. `prefer` decides which candidates come
        first: `"priority"`, or `"mcps"` for MCP servers.

        A tool that is not registered is looked up on the servers that have not listed their tools yet, for at most the hub's
        `lookup_timeout`.

        `approve` is asked before a call that is not known to be harmless: a function that gets a
        `toolhub.permissions.Approval` and answers `True` (go), `False` (refuse) or None (ask the next), `"ask"` (the call ends
        as `paused` until `hub.approve`), or a list of them. Without it the call is made unasked.

        `run` is the name of a run that the call is a part of: a program that is started again with the same run gets the
        results of calls that are over, and does not make them again; see `resume`.

        `progress` is called with each progress report of the tool (of one in Python: `current_call().report_progress`):
        `{"progress": 3, "total": 10, "message": …}`.
        A plain function runs on a thread of the hub, an async one on this event loop; one report after another, and a
        function that hangs does not hold up the call. `meta` is passed on to the server as `_meta`.

        >>> import asyncio
        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.tool
        ... async def greet(who: str) -> str:
        ...     return f"Hello {who}"
        >>> asyncio.run(hub.execute("greet", "world")).result
        'Hello world'
        """
        if not (self._events.listeners or EXECUTE.isEnabledFor(_INFO)):
            # The short way of most calls. A TypeError means that there is more to this one, or that an option is wrong.
            try:
                planned = _cached_options(**options) if options else _NO_OPTIONS
            except TypeError:
                pass
            else:
                if self._tracing is None:
                    around = None if self._llm is None else (None, None, None, self._llm, None, None)
                    return await _core.execute(self._core, name, args, planned, around)
                with self._tracing._call(name, (None, None, None, self._llm, None, None)) as call:
                    return call.ended(await _core.execute(self._core, name, args, planned, call.around))
        refuse_unknown(self, CallMethods.execute, options, name, args)
        planned, around = self._planned_options(EXECUTE, **options)
        return await self._made(
            name, args, around, lambda around: _core.execute(self._core, name, args, planned, around)
        )

    call = blocking(execute, "call")
    """`execute`, blocking, for scripts and notebooks: it works inside a running event loop too.

    >>> from toolhub import ToolHub
    >>> hub = ToolHub()
    >>> _ = hub.register(len, name="length")
    >>> hub.call("length", {"obj": "abc"}).result
    3
    """

    async def execute_by_capability(
        self,
        capability: str,
        args: Any = None,
        max_parallel: int | None = None,
        **options: Unpack[CapabilityOptions],
    ) -> ToolResult:
        """Call whatever tools have a capability; candidates whose schema refuses the arguments are skipped.

        `options` are those of `execute`.
        """
        refuse_unknown(self, CallMethods.execute_by_capability, options)
        planned, around = self._planned_options(EXECUTE, max_parallel=max_parallel, **options)
        return await self._made(
            capability,
            args,
            around,
            lambda around: _core.execute(self._core, capability, args, planned, around, by_capability=True),
        )

    call_by_capability = blocking(execute_by_capability, "call_by_capability")
    """`execute_by_capability`, blocking."""

    async def execute_many(
        self, calls: Iterable[tuple[str, Any] | str], concurrency: int = 16, **options: Unpack[CallOptions]
    ) -> list[ToolResult]:
        """Call many tools concurrently, `concurrency` at a time; the results come in the order of the calls.

        The calls are begun in their order and do not wait for each other, whatever they do. Where the order matters, use
        `concurrency=1`; `run` keeps the order of a model's message.

        `options` are those of `execute` and hold for each call.

        >>> import asyncio
        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length")
        >>> results = asyncio.run(hub.execute_many([("length", {"obj": "ab"}), ("length", {"obj": "abc"})]))
        >>> [result.result for result in results]
        [2, 3]
        """
        concurrency = check_whole("concurrency", concurrency, 1)
        if isinstance(calls, (str, Mapping)):
            given = f"the text {calls!r}" if isinstance(calls, str) else "a mapping"
            raise TypeError(f"calls must be a list of names or pairs (name, arguments), got {given}")
        if approve := options.get("approve"):
            options["approve"] = permissions_of(approve)  # one question at a time
        self._planned_options(EXECUTE, **options)  # a wrong option is an error without any calls too
        todo = [_as_call(call) for call in calls]
        return await carry_out(todo, concurrency, lambda _, call: self.execute(*call, **options))

    call_many = blocking(execute_many, "call_many")
    """`execute_many`, blocking."""

    def _planned_options(
        self,
        logger: logging.Logger,
        *,
        llm: Model | None = None,
        llm_client: Model | None = None,
        progress: Progress | None = None,
        meta: Mapping[str, Any] | None = None,
        passed_on: dict[str, Any] | None = None,
        approve: "Approve | Permissions | None" = None,
        **options: Any,
    ) -> "tuple[PlannedOptions, Around]":
        """The options of a call and what surrounds it, as the core takes them."""
        llm = llm or llm_client
        if llm is not None:
            check_llm(llm)
        if_given(check_callable, "progress", progress)
        if_given(check_mapping, "meta", meta)
        planned = call_options(**options)
        reports = None if progress is None else ProgressReports(progress, options.get("deadline"))
        llm = llm or self._llm
        return planned, (reports, meta, self._watch(logger, llm), llm, passed_on, permissions_of(approve))

    async def _made(
        self, tool: Any, args: Any, around: "Around", make: "Callable[[Around], Awaitable[ToolResult]]"
    ) -> ToolResult:
        """The result of a call; if the hub is traced, the call is a span."""
        if self._tracing is None:
            return await settled(make(around), around)
        with self._tracing._call(tool, around) as call:
            return call.ended(await settled(make(call.around), call.around))

    def _watch(
        self, logger: logging.Logger, llm: Any
    ) -> "Callable[[str, Any, str | None, bool], Watched] | None":
        """What makes the reporter of a call; None if nothing listens."""
        listens = self._events.listeners or logger.isEnabledFor(_INFO) or EXECUTE.isEnabledFor(_INFO)
        synthesises = llm is not None and RESULTS.isEnabledFor(_INFO)
        return self._events.watch if listens or synthesises else None


async def settled(awaitable: Awaitable[ToolResult], around: Around) -> ToolResult:
    """The result of a call, after `progress` has seen the last reports."""
    reports = around[0]
    if reports is None:
        return await awaitable
    scope: Any = _core.enter_call_scope(reports)  # for tools in Python; servers report through the core
    try:
        result = await awaitable
    finally:
        _core.leave_call_scope(scope)
    await reports.settle()
    return result


def _as_call(call: Any) -> tuple[str, Any]:
    """One of many calls: a name alone, or with its arguments."""
    if isinstance(call, str):
        return call, None
    given = type(call).__name__
    if isinstance(call, tuple | list):
        parts = cast("list[Any]", call)
        if len(parts) == 2:
            return parts[0], parts[1]
        given += f" of {len(parts)}"
    raise TypeError(f"a call must be a name or a pair (name, arguments), got {given}")


async def carry_out(
    calls: Sequence[T], concurrency: int, answer: Callable[[int, T], Awaitable[ToolResult]]
) -> list[ToolResult]:
    """The answers of all calls, begun in their order, `concurrency` at a time."""
    results: list[ToolResult | None] = [None] * len(calls)
    queue = enumerate(calls)
    raised: list[BaseException] = []

    async def work() -> None:
        # All workers draw from one iterator, and each call runs inside its worker's task: no task for each call.
        for place, call in queue:
            results[place] = await answer(place, call)

    async def worker() -> None:
        try:
            await work()
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            # Raised again below, in the caller's task: an interrupt would leave the loop from this task too.
            raised.append(error)
            raise _Raised from None

    workers = min(concurrency, len(calls))
    if workers <= 1:
        await work()
        return cast("list[ToolResult]", results)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                unmissed(group.create_task(worker()))
    except* _Raised:
        # Only a programming error or an interrupt raises in there; it is raised as a single call would raise it.
        pass
    if raised:
        raise raised[0]
    return cast("list[ToolResult]", results)


class _Raised(Exception):
    """Ends the other workers."""
