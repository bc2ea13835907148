"""Calling: async methods and their blocking twins, which share one async body."""

import asyncio
import logging
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Unpack, cast

from .. import _background, _core
from ..events import CALL_ID, EXECUTE, Events, Watched
from ..exceptions import ErrorKind
from ..options import CallOptions, CapabilityOptions, Model, Prefer, Progress, Source, StrategyName
from ..result import ToolResult
from ._numbers import check_seconds, check_whole
from ._servers import Serving, not_asked
from ._sharing import Sharing
from ._synthesis import check_llm, synthesize

_Key = tuple[Any, ...]

# Most programs use a handful of combinations; one that makes up new ones for ever must not grow the cache.
_MAX_OPTIONS = 256

_INFO = logging.INFO

# What an option is that nobody mentions, from the timeout on.
_UNSAID = (None, None, None, None, None, None, True, True, None)


def _is_miss(result: ToolResult) -> bool:
    """Whether nobody is there who could have been called."""
    return result["_meta"]["strategy"] == "none" and result.kind in (
        ErrorKind.NOT_FOUND,
        ErrorKind.NO_CAPABILITY,
    )


class Calling(Serving):
    """`execute`, `execute_by_capability`, `execute_many` and the blocking `call`, `call_by_capability`, `call_many`."""

    _options: "dict[Hashable, _core.CallOptions]"
    _sharing: Sharing
    _events: Events
    _llm: Any
    _lookup_timeout: float

    async def execute(
        self,
        name: str,
        args: Any = None,
        *,
        strategy: StrategyName = "auto",
        timeout: float | None = None,
        deadline: float | None = None,
        max_parallel: int | None = None,
        hedge_after: float | None = None,
        source: Source | None = None,
        server: str | None = None,
        llm: Model | None = None,
        cache_ttl: float | None = None,
        single_flight: bool = False,
        validate: bool = True,
        coerce: bool = True,
        progress: Progress | None = None,
        meta: Mapping[str, Any] | None = None,
        llm_client: Model | None = None,
        prefer: Prefer | None = None,
    ) -> ToolResult:
        """Call a tool by its name and get a `ToolResult`; a failing tool is a result too, never an exception.

        `args` is a mapping of arguments; a bare value goes to the one argument that is required. `timeout` is for one
        candidate, `deadline` for the whole call, both in seconds. `hedge_after` starts the second candidate of a race
        only when the first has not answered by then. `cache_ttl` keeps the answer for so many seconds and `single_flight`
        lets identical concurrent calls share one execution, both never for tools with effects. When several answers are put
        together, `llm` (or the hub's own) is asked to make one of them; `llm_client` is another name for it. `prefer` says who
        comes first: `"priority"`, or `"mcps"` for the tools of MCP servers.

        A tool that nobody has is looked for on the servers that have not listed theirs yet, for at most `lookup_timeout` of
        the hub.

        `progress` is called with each progress report of a tool on an MCP server: `{"progress": 3, "total": 10, "message": …}`;
        `meta` is passed on to the server as `_meta`.

        >>> import asyncio
        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.tool
        ... async def greet(who: str) -> str:
        ...     return f"Hello {who}"
        >>> asyncio.run(hub.execute("greet", "world")).result
        'Hello world'
        """
        llm = llm or llm_client
        if llm is not None:
            check_llm(llm)
        # Most calls say no more than their strategy: looking that up is much quicker than a tuple of all options.
        if (
            timeout
            is deadline
            is max_parallel
            is hedge_after
            is source
            is server
            is prefer
            is cache_ttl
            is None
            and validate is coerce is True
            and not (single_flight or self._events.listeners or EXECUTE.isEnabledFor(_INFO))
        ):
            options = self._options.get(strategy) or self._make_options(strategy, (strategy, *_UNSAID))
            if self._closed:
                return _core.failed_result(name, ErrorKind.CLOSED, "The hub is closed; make a new ToolHub.")
            result: Any = await self._core.execute(name, args, options, progress, meta)
            llm = llm or self._llm
            if llm is not None and result["_meta"]["synthesized"]:
                return await self._synthesized(result, llm, args, deadline)
            if self._servers is None or not _is_miss(result):
                return result
        said = (timeout, deadline, max_parallel, hedge_after, source, server, validate, coerce, prefer)
        key, extras = (strategy, *said), (progress, meta)
        start = self._core.execute
        return await self._attended(start, name, args, key, extras, cache_ttl, single_flight, llm)

    async def execute_by_capability(
        self,
        capability: str,
        args: Any = None,
        max_parallel: int | None = None,
        *,
        strategy: StrategyName = "auto",
        timeout: float | None = None,
        deadline: float | None = None,
        hedge_after: float | None = None,
        source: Source | None = None,
        server: str | None = None,
        llm: Model | None = None,
        cache_ttl: float | None = None,
        single_flight: bool = False,
        validate: bool = True,
        coerce: bool = True,
        progress: Progress | None = None,
        meta: Mapping[str, Any] | None = None,
        llm_client: Model | None = None,
        prefer: Prefer | None = None,
    ) -> ToolResult:
        """Call whatever tools have a capability; candidates whose schema refuses the arguments are skipped."""
        said = (timeout, deadline, max_parallel, hedge_after, source, server, validate, coerce, prefer)
        key, extras = (strategy, *said), (progress, meta)
        start, llm = self._core.execute_by_capability, llm or llm_client
        if llm is not None:
            check_llm(llm)
        return await self._attended(start, capability, args, key, extras, cache_ttl, single_flight, llm)

    async def execute_many(
        self,
        calls: Iterable[tuple[str, Any] | str],
        concurrency: int = 16,
        **options: Unpack[CallOptions],
    ) -> list[ToolResult]:
        """Call many tools, `concurrency` at a time; the results come in the order of the calls.

        `options` are those of `execute` and hold for each call.

        >>> import asyncio
        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length")
        >>> results = asyncio.run(hub.execute_many([("length", {"obj": "ab"}), ("length", {"obj": "abc"})]))
        >>> [result.result for result in results]
        [2, 3]
        """
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, got {concurrency}")
        todo = [_as_call(call) for call in calls]
        results: list[ToolResult | None] = [None] * len(todo)
        queue = enumerate(todo)

        async def work(queue: Iterator[tuple[int, tuple[str, Any]]]) -> None:
            # All workers draw from one iterator, and each call runs inside its worker's task: no task for each call.
            for at, (name, args) in queue:
                results[at] = await self.execute(name, args, **options)

        if concurrency == 1 or len(todo) <= 1:
            await work(queue)
        else:
            try:
                async with asyncio.TaskGroup() as workers:
                    for _ in range(min(concurrency, len(todo))):
                        workers.create_task(work(queue))
            except BaseExceptionGroup as group:
                # Only a programming error raises in there; it is told as `execute` would tell it.
                raise group.exceptions[0] from None
        return [result for result in results if result is not None]

    def call(self, name: str, args: Any = None, **options: Unpack[CallOptions]) -> ToolResult:
        """`execute` for scripts and notebooks: blocks until the result is there, also inside a running event loop.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length")
        >>> hub.call("length", {"obj": "abc"}).result
        3
        """
        return self._block(self.execute(name, args, **options))

    def call_by_capability(
        self,
        capability: str,
        args: Any = None,
        max_parallel: int | None = None,
        **options: Unpack[CapabilityOptions],
    ) -> ToolResult:
        """`execute_by_capability`, blocking."""
        return self._block(self.execute_by_capability(capability, args, max_parallel, **options))

    def call_many(
        self,
        calls: Iterable[tuple[str, Any] | str],
        concurrency: int = 16,
        **options: Unpack[CallOptions],
    ) -> list[ToolResult]:
        """`execute_many`, blocking."""
        return self._block(self.execute_many(calls, concurrency, **options))

    async def _attended(
        self,
        start: Callable[..., Any],
        what: str,
        args: Any,
        key: "_Key",
        extras: tuple[Any, Any],
        cache_ttl: float | None,
        single_flight: bool,
        llm: Any,
    ) -> ToolResult:
        """A call with all that may go on around it. Apart from `execute`, so that the usual call pays for none of it."""
        options = self._options.get(key) or self._make_options(key, key)
        if self._closed:
            return _core.failed_result(what, ErrorKind.CLOSED, "The hub is closed; make a new ToolHub.")
        watch = None
        if self._events.listeners or EXECUTE.isEnabledFor(_INFO):
            watch = Watched(self._events, what, args)
        try:
            shared = (cache_ttl, single_flight) if cache_ttl is not None or single_flight else None
            result = await self._answered(start, what, args, key, options, extras, shared, watch)
            if self._servers is not None and _is_miss(result):
                result = await self._looked_for(start, what, args, key, extras, shared, watch)
            llm = llm or self._llm
            if llm is not None and result["_meta"]["synthesized"]:
                result = await self._synthesized(result, llm, args, key[2], watch)
        except BaseException as error:
            if watch is not None:
                watch.broken_off(error)
            raise
        if watch is not None:
            watch.finished(result)
        return result

    async def _answered(
        self,
        start: Callable[..., Any],
        what: str,
        args: Any,
        key: "_Key",
        options: "_core.CallOptions",
        extras: tuple[Any, Any],
        shared: tuple[float | None, bool] | None,
        watch: Watched | None,
    ) -> ToolResult:
        if shared is not None:
            return await self._shared(start, what, args, key, watch, *shared)
        return await start(what, args, options, *extras, watch)

    async def _looked_for(
        self,
        start: Callable[..., Any],
        what: str,
        args: Any,
        key: "_Key",
        extras: tuple[Any, Any],
        shared: tuple[float | None, bool] | None,
        watch: Watched | None,
    ) -> ToolResult:
        """The call again, after servers that have not listed their tools were asked for them."""
        _, timeout, deadline, _, _, source, server, *_ = key
        begun = time.perf_counter()
        patience = min(limit for limit in (self._lookup_timeout, timeout, deadline) if limit is not None)
        # A capability may be that of many tools, so all of them are asked.
        name = what if start.__name__ == "execute" else None
        failed = await self._ask_around(name, source, server, patience)
        late = time.perf_counter() - begun
        left = None if deadline is None else max(0.0, deadline - late)
        said: _Key = (*key[:2], left, *key[3:])
        result = await self._answered(
            start, what, args, said, _core.CallOptions(*said), extras, shared, watch
        )
        result["_meta"]["duration_ms"] += late * 1e3
        if failed and _is_miss(result):
            result["error"] = f"{result['error']} {not_asked(failed)}"
        return result

    async def _shared(
        self,
        start: Callable[..., Any],
        what: str,
        args: Any,
        key: "_Key",
        watch: Watched | None,
        cache_ttl: float | None,
        single_flight: bool,
    ) -> ToolResult:
        deadline: float | None = key[2]

        async def run(left: float | None) -> ToolResult:
            if left == deadline:
                options = self._options.get(key) or self._make_options(key, key)
            else:  # one of a kind: not worth keeping
                said: _Key = (*key[:2], left, *key[3:])
                options = _core.CallOptions(*said)
            return await start(what, args, options, None, None, watch)

        if cache_ttl is not None:
            check_seconds("cache_ttl", cache_ttl)
        by_name = start.__name__ == "execute"
        who = self._core.sharing_key(name=what) if by_name else self._core.sharing_key(capability=what)
        if who is None:  # one of them has effects, or nobody is there
            return await run(deadline)
        # Who would answer is part of what is the same: a tool that was replaced must not answer from what is kept.
        same = (what, start.__name__, who, key)
        return await self._sharing.execute(same, args, run, cache_ttl, single_flight, deadline)

    async def _synthesized(
        self, result: ToolResult, llm: Any, args: Any, deadline: float | None, watch: Watched | None = None
    ) -> ToolResult:
        begun = time.perf_counter()
        tool = self._core.get(result.meta["tool"])
        left = None if deadline is None else deadline - result.meta["duration_ms"] / 1e3
        result = await synthesize(result, llm, args, tool.capabilities if tool else [], left)
        took = (time.perf_counter() - begun) * 1e3
        result.meta["duration_ms"] += took
        method = result.meta["synthesis_method"]
        id = CALL_ID.get() if watch is None else watch.call_id
        self._events.emit(
            "synthesised", call_id=id, tool=result.meta["tool"], duration_ms=took, method=method
        )
        return result

    def _block(self, coroutine: Any) -> Any:
        return _background.run(coroutine)

    def _make_options(self, key: Hashable, said: "_Key") -> "_core.CallOptions":
        if len(self._options) >= _MAX_OPTIONS:
            self._options.clear()
        if (max_parallel := said[3]) is not None:
            check_whole("max_parallel", max_parallel, 1)
        options = self._options[key] = _core.CallOptions(*said)
        return options


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
