"""Calling: async methods and their blocking twins, which share one async body."""

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from .. import _core
from ..exceptions import ErrorKind
from ..result import ToolResult
from ._base import HubPart
from ._sharing import Sharing

_Key = tuple[Any, ...]

# Most programs use a handful of combinations; one that makes up new ones for ever must not grow the cache.
_MAX_OPTIONS = 256


class Calling(HubPart):
    """`execute`, `execute_by_capability`, `execute_many` and the blocking `call`, `call_by_capability`, `call_many`."""

    _options: "dict[_Key, _core.CallOptions]"
    _sharing: Sharing

    async def execute(
        self,
        name: str,
        args: Any = None,
        *,
        strategy: str = "auto",
        timeout: float | None = None,
        deadline: float | None = None,
        max_parallel: int | None = None,
        hedge_after: float | None = None,
        source: str | None = None,
        server: str | None = None,
        cache_ttl: float | None = None,
        single_flight: bool = False,
        validate: bool = True,
        coerce: bool = True,
    ) -> ToolResult:
        """Call a tool by its name and get a `ToolResult`; a failing tool is a result too, never an exception.

        `args` is a mapping of arguments; a bare value goes to the one argument that is required. `timeout` is for one
        candidate, `deadline` for the whole call, both in seconds. `hedge_after` starts the second candidate of a race
        only when the first has not answered by then. `cache_ttl` keeps the answer for so many seconds and `single_flight`
        lets identical concurrent calls share one execution, both never for tools with effects.

        >>> import asyncio
        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.tool
        ... async def greet(who: str) -> str:
        ...     return f"Hello {who}"
        >>> asyncio.run(hub.execute("greet", "world")).result
        'Hello world'
        """
        key = (strategy, timeout, deadline, max_parallel, hedge_after, source, server, validate, coerce)
        options = self._options.get(key) or self._make_options(key)
        if self._closed:
            return ToolResult.failed(name, ErrorKind.CLOSED, "The hub is closed; make a new ToolHub.")
        if cache_ttl is not None or single_flight:
            return await self._execute_shared(name, args, key, cache_ttl, single_flight)
        return await self._core.execute(name, args, options)

    async def execute_by_capability(
        self,
        capability: str,
        args: Any = None,
        max_parallel: int | None = None,
        *,
        strategy: str = "auto",
        timeout: float | None = None,
        deadline: float | None = None,
        hedge_after: float | None = None,
        source: str | None = None,
        server: str | None = None,
        validate: bool = True,
        coerce: bool = True,
    ) -> ToolResult:
        """Call whatever tools have a capability; candidates whose schema refuses the arguments are skipped."""
        key = (strategy, timeout, deadline, max_parallel, hedge_after, source, server, validate, coerce)
        options = self._options.get(key) or self._make_options(key)
        if self._closed:
            return ToolResult.failed(capability, ErrorKind.CLOSED, "The hub is closed; make a new ToolHub.")
        return await self._core.execute_by_capability(capability, args, options)

    async def execute_many(
        self, calls: Iterable[tuple[str, Any] | str], concurrency: int = 16, **options: Any
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
        todo = [(call, None) if isinstance(call, str) else (call[0], call[1]) for call in calls]
        results: list[ToolResult | None] = [None] * len(todo)
        queue = enumerate(todo)

        async def work(queue: Iterator[tuple[int, tuple[str, Any]]]) -> None:
            # All workers draw from one iterator, and each call runs inside its worker's task: no task for each call.
            for at, (name, args) in queue:
                results[at] = await self.execute(name, args, **options)

        if concurrency == 1 or len(todo) <= 1:
            await work(queue)
        else:
            async with asyncio.TaskGroup() as workers:
                for _ in range(min(concurrency, len(todo))):
                    workers.create_task(work(queue))
        return [result for result in results if result is not None]

    def call(self, name: str, args: Any = None, **options: Any) -> ToolResult:
        """`execute` for scripts and notebooks: blocks until the result is there, also inside a running event loop.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length")
        >>> hub.call("length", {"obj": "abc"}).result
        3
        """
        return self._block(self.execute(name, args, **options))

    def call_by_capability(self, capability: str, args: Any = None, **options: Any) -> ToolResult:
        """`execute_by_capability`, blocking."""
        return self._block(self.execute_by_capability(capability, args, **options))

    def call_many(
        self, calls: Iterable[tuple[str, Any] | str], concurrency: int = 16, **options: Any
    ) -> list[ToolResult]:
        """`execute_many`, blocking."""
        return self._block(self.execute_many(calls, concurrency, **options))

    async def _execute_shared(
        self, name: str, args: Any, key: "_Key", cache_ttl: float | None, single_flight: bool
    ) -> ToolResult:
        # Apart from `execute`, so that the usual call pays for no closure.
        async def run() -> ToolResult:
            return await self._core.execute(name, args, self._options.get(key) or self._make_options(key))

        if self._core.has_effects(name):
            return await run()
        deadline: float | None = key[2]
        return await self._sharing.execute((name, key), args, run, cache_ttl, single_flight, deadline)

    def _block(self, coroutine: Any) -> Any:
        from .. import _background

        return _background.run(coroutine)

    def _make_options(self, key: "_Key") -> "_core.CallOptions":
        if len(self._options) >= _MAX_OPTIONS:
            self._options.clear()
        options = self._options[key] = _core.CallOptions(*key)
        return options
