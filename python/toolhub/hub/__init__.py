"""The hub: one object for every tool, composed of the parts in this package.

Each part owns its state and depends on the core and on other parts, never on the hub:

    Registration ← FolderLoader, LocalSkills    ToolSearch ← ToolPrompts    Callbacks ← ServerManager

`ToolHub` creates them and has the public methods, which hand over to a part. The methods are grouped by topic, one file each.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from .. import _background, _core
from .._callbacks import Callbacks
from .._checks import (
    check_callable,
    check_finite,
    check_mapping,
    check_path,
    check_seconds,
    check_text,
    check_whole,
)
from .._compat import CORE_TOOLS, SOURCE_ALIASES, CompatMethods
from .._unknown_options import explain_unknown_options
from .._user_functions import aend_waits, end_waits, in_thread
from ..events import Event, Events
from ..options import (
    DEFAULT,
    Default,
    Lang,
    Model,
    Prefer,
    Shadow,
    StrategyName,
)
from ._embedding import Embed
from ._folders import FolderLoader, each
from ._formatting import ResultFormatter
from ._inspection import CapabilityRules
from ._ledger_methods import LedgerMethods
from ._listing import ListFetcher
from ._local_skills import LocalSkills
from ._prompt_methods import PromptMethods
from ._prompts import ToolPrompts
from ._registration import Registration
from ._run_methods import RunMethods, RunOutcome
from ._sampling import sampler
from ._search import ToolSearch
from ._serve_methods import ServeMethods
from ._server_methods import ServerMethods
from ._servers import ServerManager
from ._source_methods import SourceMethods
from ._state import HubState
from ._store import HubStore
from ._synthesis import check_llm
from ._tool_methods import ToolMethods

if TYPE_CHECKING:
    from ..display._html import Bundle
    from .pins import Pins
    from .prompts import Prompts
    from .resources import Resources
    from .skills import Skills

__all__ = ["CapabilityRules", "RunOutcome", "ToolHub"]

Folder = str | os.PathLike[str]
McpConfig = str | os.PathLike[str] | Mapping[str, Any]

_CLOSING = 5.0
"""Seconds after which `close` waits for a locked store no longer."""

_LIMITED = ("hub", "tools", "skills", "mcps")


def _checked_limits(limits: Any) -> dict[str, int]:
    """The concurrency limits by `hub` and source."""
    if limits is None:
        return {}
    if not isinstance(limits, Mapping):
        raise TypeError(
            f"limits must be a mapping such as {{'hub': 100, 'mcps': 20}}, got {type(limits).__name__}"
        )
    given = dict(cast("Mapping[str, int]", limits))
    if unknown := [what for what in given if what not in _LIMITED]:
        raise ValueError(_core.unknown_options("limits", "key", list(map(str, unknown)), list(_LIMITED)))
    return {what: check_whole(f"the limit for {what!r}", limit, 1) for what, limit in given.items()}


@explain_unknown_options
class ToolHub(
    ToolMethods,
    RunMethods,
    PromptMethods,
    SourceMethods,
    ServerMethods,
    LedgerMethods,
    ServeMethods,
    CompatMethods,
):
    """Registers tools, selects among their candidates and calls them.

    Calls: `timeout` (seconds) applies to one candidate, `max_parallel` to the first batch of a race, and `cancel_grace`
    (seconds) is how long cancelled candidates are awaited. `limits` bounds concurrency for the hub and for sources, as in
    `{"hub": 100, "mcps": 20}`; calls beyond a limit queue, up to `max_waiting`. A candidate that fails `breaker_threshold`
    times in a row is suspended for `breaker_rest` seconds (threshold 0: never). `seed` makes the choice by capability
    repeatable. `prefer` decides which candidates of a name come first: those with the highest `"priority"`, or those of
    MCP servers (`"mcps"`); by default calls go by priority and routed calls (`dispatch`) to MCP servers first. `strategies`
    sets how the candidates of a name are used, by pattern: `{"search_*": "all", "weather": "first"}`; the most specific
    pattern counts, and a strategy of the tool (`@hub.tool(strategy=…)`) or of the call comes before it.

    Models: `llm` combines several answers into one: a sync or async callable, an object with `generate`, `generate_async`
    or `ainvoke`, or `toolhub.llm.OpenAI(...)`. Without it no model is ever asked. `core` names the tools that a prompt shows
    first. `embed` returns vectors for texts, from any model: a plain function from a list of texts to a list of vectors;
    `search` and `recommend` then use words and meaning, the latter with `embed_weight` (0 to 1) of the score.

    Results: `run` gives a model up to `result_limit` characters of each (at least 1,000). `result_limits` are the limits of
    `format` by kind of tool, as in `{"search": 800}`; the kinds are calculation, time, search, history and other. `lang`
    (`"en"`, `"zh"`) is the language of what the hub itself says.

    Sources: `tools` and `skills` are folders, one or several; see `load_tools` and `load_skills`. `mcp` is an `mcpServers`
    file, several of them, or such a mapping; see `load_mcp`. `shadow="deny"` forbids tools of servers that have the name of
    a native tool. `source_aliases` are the labels that routed calls may give as their source, see `add_alias`;
    `lookup_timeout` (seconds) limits how long servers are asked for a tool that none of them has listed.

    Requests of servers: `elicitation` is called with a server's id and its request when the server wants input from the
    user, and returns `{"action": "accept", "content": {…}}`, `decline` or `cancel`. `sampling` works likewise, for servers
    with `allow_sampling`; by default it uses `llm`. Requests without a function are refused. Logins open the user's browser,
    or call `open_url` with the server's id and the URL; tokens are kept in `token_file`, readable only by the user; the
    default is a file in the user's configuration folder, and None keeps them in memory.

    Memory: `store` is the path of a file that keeps what the hub learns over restarts: tool lists of servers, statistics,
    which tools were used for which query, full results that a prompt got only in part (at most
    `store_results_max_bytes`, 0 for none), and accepted definitions of tools. Several processes may share it. None (or
    `":memory:"`) keeps all in memory. With a store, calls that may have effects have a row in its ledger before anything is
    sent; if the row cannot be written they are refused, or made without one with `ledger="optional"` (`"off"`: no rows except
    in runs). An approval can be used for `approval_lifetime` seconds.

    >>> hub = ToolHub()
    >>> @hub.tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> hub.call("add", {"a": 1, "b": 2})["result"]
    3
    """

    _shown_as = "hub"
    # A call gives a result of kind `closed`; what is not a call raises it.
    _closed_too = frozenset(
        {
            "__init__",
            "call",
            "call_by_capability",
            "call_many",
            "execute_many",
            "dispatch_sync",
            "run",
            "run_sync",
        }
        | {"close", "aclose"}
    )

    def __init__(
        self,
        mcp: "McpConfig | Sequence[McpConfig] | None" = None,
        *,
        tools: "Folder | Sequence[Folder] | None" = None,
        skills: "Folder | Sequence[Folder] | None" = None,
        llm: Model | None = None,
        elicitation: Callable[[str, Any], Any] | None = None,
        sampling: Callable[[str, Any], Any] | None = None,
        open_url: Callable[[str, str], Any] | None = None,
        token_file: "str | os.PathLike[str] | Default | None" = DEFAULT,
        timeout: float = 30.0,
        max_parallel: int = 3,
        seed: int | None = None,
        cancel_grace: float = 1.0,
        limits: Mapping[str, int] | None = None,
        max_waiting: int = 10_000,
        breaker_threshold: int = 5,
        breaker_rest: float = 5.0,
        prefer: Prefer | None = None,
        strategies: Mapping[str, StrategyName] | None = None,
        shadow: Shadow = "report",
        source_aliases: Mapping[str, str | None] = SOURCE_ALIASES,
        core: Iterable[str] = CORE_TOOLS,
        lookup_timeout: float = 10.0,
        embed: Embed | None = None,
        embed_weight: float = 0.3,
        store: "str | os.PathLike[str] | None" = None,
        store_results_max_bytes: int = 32_000_000,
        lang: Lang = "en",
        result_limit: int = 4000,
        result_limits: Mapping[str, int] | None = None,
        ledger: Literal["required", "optional", "off"] = "required",
        approval_lifetime: float = 3600.0,
    ) -> None:
        limits = _checked_limits(limits)
        lookup_timeout = check_seconds("lookup_timeout", lookup_timeout)
        if seed is not None:
            check_whole("seed", seed, 0)
            seed %= 2**64  # of any length, as for `random.seed`
        for what, text in (("prefer", prefer), ("shadow", shadow), ("ledger", ledger)):
            if text is not None:
                check_text(what, text)
        if result_limits is not None:
            check_mapping("result_limits", result_limits)
        kind_limits = {
            kind: check_whole(f"result_limits[{kind!r}]", limit, 0)
            for kind, limit in (result_limits or {}).items()
        }
        if llm is not None:
            check_llm(llm)
        whole = limits.pop("hub", None)
        self._core = _core.Hub(
            timeout=check_seconds("timeout", timeout, above_zero=True),
            max_parallel=check_whole("max_parallel", max_parallel, 1),
            grace=check_seconds("cancel_grace", cancel_grace),
            seed=seed,
            max_concurrency=whole,
            source_concurrency=list(limits.items()),
            max_waiting=check_whole("max_waiting", max_waiting, 0),
            breaker_threshold=check_whole("breaker_threshold", breaker_threshold, 0, 2**32 - 1),
            breaker_rest=check_seconds("breaker_rest", breaker_rest),
            prefer=prefer,
            strategies=_pairs(strategies),
            shadow=shadow,
            lookup_timeout=lookup_timeout,
            lang=lang,
            result_limit=check_whole("result_limit", result_limit, _core.min_result_limit()),
            result_limits=list(kind_limits.items()),
            embed_weight=check_finite("embed_weight", embed_weight),
            ledger=ledger,
            approval_lifetime=check_seconds("approval_lifetime", approval_lifetime, above_zero=True),
        )
        self._state = HubState()
        self._gateways: set[_core.Gateway] = set()
        self._events = Events()
        self._store = HubStore(self._core, store, store_results_max_bytes)
        self._registration = Registration(self._core, self._events, self._state)
        self._search = ToolSearch(self._core, embed)
        self._prompts = ToolPrompts(self._core, self._search, core, lang)
        self._formatter = ResultFormatter(self._core, self._events)
        self._folders = FolderLoader(self._core, self._registration, self._state, lang)
        self._skills = LocalSkills(self._core, self._registration)
        self._add_aliases(source_aliases)
        self._llm = llm
        if sampling is None and llm is not None:
            sampling = sampler(llm)
        functions = {"elicitation": elicitation, "sampling": sampling, "open_url": open_url}
        answers = {what: ask for what, ask in functions.items() if ask is not None}
        for what, ask in answers.items():
            check_callable(what, ask)
        if token_file is not None and not isinstance(token_file, Default):
            check_path("token_file", token_file)
        callbacks = Callbacks(answers, self._events.emit_for_server, self._store.log_notices)
        self._servers = ServerManager(self._core, self._state, callbacks, token_file)
        self._lists = ListFetcher(self._servers, lookup_timeout)
        for folder in each(tools):
            self.load_tools(folder)
        for folder in each(skills):
            self.load_skills(folder)
        for config in each(mcp):
            self.load_mcp(config)

    @property
    def resources(self) -> "Resources":
        """The resources of the hub and of its MCP servers: `list`, `read`, `templates`, `add`, `remove`, `updated`."""
        from .resources import Resources  # most programs need none, and making its classes takes time

        return Resources(self._core, self._servers, self._state)

    @property
    def prompts(self) -> "Prompts":
        """The prompts of the hub and of its MCP servers: `list`, `get`, `complete`, `add`, `remove`."""
        from .prompts import Prompts

        return Prompts(self._core, self._servers, self._state)

    @property
    def skills(self) -> "Skills":
        """The files and scripts of skills: `read_file`, `run_script`."""
        from .skills import Skills

        return Skills(self._skills, self.execute, self._state)

    @property
    def pins(self) -> "Pins":
        """The accepted definitions of the tools of servers: `list`, `accept`."""
        from .pins import Pins

        return Pins(self._servers, self._state)

    def close(self) -> None:
        """Release all tools, end all calls in flight and all servers. Closing twice is fine.

        In a process that was forked after the hub was made it does nothing: everything belongs to the parent.
        Calls in flight, on any event loop or thread, are cancelled and get `cancel_grace` seconds to clean up; sync functions
        are abandoned. Each returns a failed result of kind `closed`. Calls made afterwards fail at once.
        A store that another process keeps locked is waited for until 5 seconds have passed in all.
        """
        if self._state.is_of_parent():
            return
        deadline = time.monotonic() + _CLOSING
        self._release()
        ending = _core.end_calls(self._core, blocking=True)
        end_waits(self._core)
        self._servers.close()
        if ending is not None:
            ending.wait()
        if self._tracing is not None:
            self._tracing()
        self._store.close(deadline)

    def on_event(self, listener: Callable[[Event], Any]) -> Callable[[], None]:
        """Call a plain function with every event; the returned function unsubscribes it. `toolhub.events` lists the events.

        It runs where the event happens: on the thread of a call's event loop, or on a thread of the hub for servers. It must
        be quick and must not block; exceptions are logged.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length")
        >>> seen = []
        >>> unsubscribe = hub.on_event(lambda event: seen.append((event.type, event.tool)))
        >>> hub.call("length", {"obj": "abc"}).result
        3
        >>> seen
        [('started', 'length'), ('finished', 'length')]
        >>> unsubscribe()
        """
        return self._events.subscribe(listener)

    async def aclose(self) -> None:
        """`close`, for async code."""
        if self._state.is_of_parent():
            return
        deadline = time.monotonic() + _CLOSING
        self._release()
        ending = _core.end_calls(self._core, blocking=False)
        await aend_waits(self._core)
        await self._servers.aclose()
        if ending is not None:
            await cast("Any", ending.wait_async())
        if self._tracing is not None:
            # An exporter may wait for its collector.
            await in_thread(self._tracing)
        if self._store.has_thread:
            # Another process may hold the lock of the file: do not block the event loop meanwhile.
            await in_thread(self._store.close, deadline)

    def _release(self) -> None:
        self._state.closed = True
        self._folders.close()
        for gateway in list(self._gateways):
            gateway.stop()
        self._core.close()
        _background.rest()

    def __enter__(self) -> Self:
        self._state.require_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        self._state.require_open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __reduce__(self) -> str:
        raise TypeError("a hub cannot be pickled; make one in each process")

    def __repr__(self) -> str:
        return f"<ToolHub with {len(self)} tools{', closed' if self._state.closed else ''}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> "Bundle":
        from ..display._views import of_hub

        return of_hub(self)


def _pairs(strategies: Any) -> list[tuple[str, str]]:
    if strategies is None:
        return []
    if not isinstance(strategies, Mapping):
        raise TypeError(f"strategies must map patterns to strategies, got {type(strategies).__name__}")
    pairs = list(cast("Mapping[Any, Any]", strategies).items())
    for pattern, strategy in pairs:
        if not isinstance(pattern, str):
            raise TypeError(
                f"strategies must have patterns of tool names as keys, got {type(pattern).__name__}"
            )
        if not isinstance(strategy, str):
            raise TypeError(
                f"the strategy for {pattern!r} must be 'auto', 'first', 'all' or 'fallback', "
                f"got {type(strategy).__name__}"
            )
    return pairs
