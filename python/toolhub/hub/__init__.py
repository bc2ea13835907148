"""The hub: one door to every tool, put together from its parts."""

import asyncio
import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, cast

from .. import _core
from .._asking import Asking
from ..events import Event, Events
from ..servers import Told
from ._embedding import Embed, Embedding
from ._keeping import Keeping
from ._loading import Loading
from ._looking import CapabilityRules, Looking
from ._numbers import check_whole
from ._registering import Registering, ToolCandidate
from ._routing import Routing
from ._running import Running, RunOutcome
from ._sampling import sampler
from ._searching import Searching
from ._shaping import Kept, Shaping
from ._sharing import Sharing
from ._synthesis import check_llm

__all__ = ["CapabilityRules", "RunOutcome", "ToolCandidate", "ToolHub"]


class ToolHub(Registering, Looking, Routing, Searching, Running, Shaping, Keeping, Loading):
    """Registers tools, chooses among their candidates and calls them.

    `timeout` (seconds) is for one candidate, `max_parallel` for the first batch of a race, `grace` for how long cancelled
    candidates are awaited. `limits` bounds how much runs at once, for the hub and for sources:
    `{"hub": 100, "mcps": 20}`; calls beyond it queue, up to `max_waiting`. A candidate that fails `breaker_threshold` times in
    a row is rested for `breaker_rest` seconds (0 failures: never). `seed` makes the choice by capability repeatable.
    `llm` is asked to make one answer of several: a sync or async callable, an object with `generate`, `generate_async` or
    `ainvoke`, or `toolhub.llm.OpenAI(...)`; without one no model is ever asked.

    `tools` and `skills` are folders, one or several; see `load_tools` and `load_skills`.
    `mcp` is an `mcpServers` file, several of them, or such a mapping; see `load_mcp`. `elicitation` is called with a server's
    id and its request when a server wants input from the user, and gives `{"action": "accept", "content": {…}}`, `decline` or
    `cancel`; `sampling` likewise, for servers with `allow_sampling`, by default with `llm`. What is not given is refused.
    Logins open the user's browser, or call `open_url` with the server's id and the page; their tokens are kept in the file
    `tokens`, readable by the user alone, or with None in memory only.

    `prefer` says who comes first among the candidates of a name: `"priority"`, or `"mcps"` for the tools of MCP servers; by
    default calls go by priority and routed ones (`dispatch`) to MCP servers first. `shadow="deny"` forbids tools of servers
    that have the name of a native one. `aliases` are more words that routed calls may give as their source, see `add_alias`;
    `lookup_timeout` (seconds) is for asking servers for a tool that none of them has listed.

    `embed` gives vectors for texts, from any model: a plain function from a list of texts to as many vectors. `search` and
    `recommend` then go by words and by meaning.

    `store` is the path of a file in which the hub keeps what it learns over restarts: tool lists of servers, statistics, what
    was used for which query, whole results of which a prompt got a part (`store_results` bytes at most, 0 for none), accepted
    definitions of tools. Several processes may share it. None (or `":memory:"`) keeps everything in memory.

    >>> hub = ToolHub()
    >>> @hub.tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> hub.call("add", {"a": 1, "b": 2})["result"]
    3
    """

    def __init__(
        self,
        *,
        mcp: Any = None,
        tools: Any = None,
        skills: Any = None,
        llm: Any = None,
        elicitation: Callable[[str, Any], Any] | None = None,
        sampling: Callable[[str, Any], Any] | None = None,
        open_url: Callable[[str, str], Any] | None = None,
        tokens: "str | os.PathLike[str] | None" = "usual",
        timeout: float = 30.0,
        max_parallel: int = 3,
        seed: int | None = None,
        grace: float = 1.0,
        limits: Mapping[str, int] | None = None,
        max_waiting: int = 10_000,
        breaker_threshold: int = 5,
        breaker_rest: float = 5.0,
        prefer: str | None = None,
        shadow: str = "report",
        aliases: Mapping[str, str | None] | None = None,
        lookup_timeout: float = 10.0,
        embed: Embed | None = None,
        store: "str | os.PathLike[str] | None" = None,
        store_results: int = 32_000_000,
    ) -> None:
        limits = dict(limits or {})
        for what, limit in limits.items():
            check_whole(f"the limit for {what!r}", limit, 1)
        check_whole("max_parallel", max_parallel, 1)
        check_whole("max_waiting", max_waiting, 0)
        check_whole("breaker_threshold", breaker_threshold, 0)
        if llm is not None:
            check_llm(llm)
        whole = limits.pop("hub", None)
        self._core = _core.Hub(
            timeout=timeout,
            max_parallel=max_parallel,
            grace=grace,
            seed=seed,
            max_concurrency=whole,
            source_concurrency=list(limits.items()),
            max_waiting=max_waiting,
            breaker_threshold=breaker_threshold,
            breaker_rest=breaker_rest,
            prefer=prefer,
            shadow=shadow,
        )
        self._open_store(store, store_results)
        self._set_up_routing(prefer, aliases, lookup_timeout)
        self._closed = False
        self._options = {}
        self._sharing = Sharing()
        self._events = Events()
        self._kept = Kept(self._store)
        self._restored = {}
        self._embedding = None if embed is None else Embedding(embed)
        self._llm = llm
        self._servers = None
        self._folders = None
        self._told = Told()
        self._runnable = {}
        self._script_tool = None
        # Managing servers takes as long as it takes: they have deadlines of their own.
        self._admin = _core.Hub(timeout=1e9, max_parallel=1, grace=0.0, breaker_threshold=0)
        if sampling is None and llm is not None:
            sampling = sampler(llm)
        functions = {"elicitation": elicitation, "sampling": sampling, "open_url": open_url}
        self._tokens = tokens
        answers = {what: ask for what, ask in functions.items() if ask is not None}
        self._asking = Asking({**answers, "event": self._events.of_server})
        for load, folders in ((self.load_tools, tools), (self.load_skills, skills)):
            if folders is not None:
                self._load_all(load, folders)
        if mcp is not None:
            configs: list[Any] = list(cast("list[Any]", mcp)) if isinstance(mcp, list | tuple) else [mcp]
            for config in configs:
                self.load_mcp(config)

    def close(self) -> None:
        """Let go of all tools and end all servers; a call after it fails at once. Closing twice is fine."""
        self._forget()
        self._close_servers_now()
        self._close_store()

    def on_event(self, listener: Callable[[Event], Any]) -> Callable[[], None]:
        """Call a plain function with every event; what comes back ends that. See `toolhub.events` for the events.

        It is called where the event happens: on the thread of a call's event loop, for servers on a thread of the hub. It must
        be quick and must not block; what it raises is logged.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length")
        >>> heard = []
        >>> unsubscribe = hub.on_event(lambda event: heard.append((event.type, event.tool)))
        >>> hub.call("length", {"obj": "abc"}).result
        3
        >>> heard
        [('started', 'length'), ('finished', 'length')]
        >>> unsubscribe()
        """
        return self._events.subscribe(listener)

    def _forget(self) -> None:
        self._closed = True
        self._close_folders()
        self._core.clear()
        self._sharing.clear()
        self._kept.clear()

    async def aclose(self) -> None:
        """`close`, for async code."""
        self._forget()
        await self._close_servers()
        if self._store is not None:
            # Another process may be writing: nobody else on this loop waits for it.
            await asyncio.to_thread(self._close_store)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __reduce__(self) -> str:
        raise TypeError("a hub cannot be pickled; make one in each process")

    def __repr__(self) -> str:
        return f"<ToolHub with {len(self)} tools{', closed' if self._closed else ''}>"
