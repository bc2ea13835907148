"""The hub: one object for every tool, composed of the parts in this package.

Each part owns its state and depends on the core and on other parts, never on the hub:

    Registration ← FolderLoader, LocalSkills    Callbacks ← ServerManager

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
    check_seconds,
    check_text,
    check_whole,
)
from .._compat import CORE_TOOLS, SOURCE_ALIASES, CompatMethods
from .._unknown_options import explain_unknown_options
from .._user_functions import aend_waits, end_waits, in_thread
from ..events import Event, Events
from ..options import (
    Lang,
    Limits,
    Login,
    Model,
    Prefer,
    Shadow,
    StrategyName,
)
from ._embedding import Embed
from ._folders import FolderLoader, each
from ._inspection import CapabilityRules
from ._ledger_methods import LedgerMethods
from ._limits import MOVED, checked_limits, checked_login
from ._listing import ListFetcher
from ._local_skills import LocalSkills
from ._prompt_methods import PromptMethods
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

    Calls: `timeout` (seconds) applies to one candidate, `max_parallel` to the first batch of a race. `seed` makes the choice
    by capability repeatable. `prefer` decides which candidates of a name come first: those with the highest `"priority"`, or
    those of MCP servers (`"mcps"`); by default calls go by priority and routed calls (`dispatch`) to MCP servers first.
    `strategies` sets how the candidates of a name are used, by pattern: `{"search_*": "all", "weather": "first"}`; the most
    specific pattern counts, and a strategy of the tool (`@hub.tool(strategy=…)`) or of the call comes before it. `limits` are
    the numbers that few programs change, see `toolhub.options.Limits`.

    Models: `llm` combines several answers into one: a sync or async callable, an object with `generate`, `generate_async`
    or `ainvoke`, or `toolhub.llm.OpenAI(...)`. Without it no model is ever asked. `core` names the tools that a prompt shows
    first. `embed` returns vectors for texts, from any model: a plain function from a list of texts to a list of vectors;
    `search` and `recommend` then use words and meaning. `run` gives a model up to `result_limit` characters of each result
    (at least 1,000). `lang` (`"en"`, `"zh"`) is the language of what the hub itself says.

    Sources: `tools` and `skills` are folders, one or several; see `load_tools` and `load_skills`. `mcp` is an `mcpServers`
    file, several of them, or such a mapping; see `load_mcp`. `shadow="deny"` forbids tools of servers that have the name of
    a native tool.

    Requests of servers: `elicitation` is called with a server's id and its request when the server wants input from the
    user, and returns `{"action": "accept", "content": {…}}`, `decline` or `cancel`. `sampling` works likewise, for servers
    with `allow_sampling`; by default it uses `llm`. Requests without a function are refused. Logins open the user's browser
    and keep tokens in a file of the user's; `login` changes both, see `toolhub.options.Login`.

    Memory: `store` is the path of a file that keeps what the hub learns over restarts: tool lists of servers, statistics,
    which tools were used for which query, full results that a prompt got only in part, and accepted definitions of tools.
    Several processes may share it. None (or `":memory:"`) keeps all in memory. With a store, calls that may have effects have
    a row in its ledger before anything is sent; if the row cannot be written they are refused, or made without one with
    `ledger="optional"` (`"off"`: no rows except in runs).

    >>> hub = ToolHub()
    >>> @hub.tool
    ... def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> hub.call("add", {"a": 1, "b": 2})["result"]
    3
    """

    _shown_as = "hub"
    _moved = MOVED
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
        timeout: float = 30.0,
        max_parallel: int = 3,
        seed: int | None = None,
        prefer: Prefer | None = None,
        strategies: Mapping[str, StrategyName] | None = None,
        shadow: Shadow = "report",
        core: Iterable[str] = CORE_TOOLS,
        embed: Embed | None = None,
        store: "str | os.PathLike[str] | None" = None,
        lang: Lang = "en",
        result_limit: int = 4000,
        ledger: Literal["required", "optional", "off"] = "required",
        limits: Limits | None = None,
        login: Login | None = None,
    ) -> None:
        numbers, concurrency = checked_limits(limits)
        token_file, open_url = checked_login(login)
        if seed is not None:
            check_whole("seed", seed, 0)
            seed %= 2**64  # of any length, as for `random.seed`
        for what, text in (("prefer", prefer), ("shadow", shadow), ("ledger", ledger)):
            if text is not None:
                check_text(what, text)
        if llm is not None:
            check_llm(llm)
        self._core = _core.Hub(
            timeout=check_seconds("timeout", timeout, above_zero=True),
            max_parallel=check_whole("max_parallel", max_parallel, 1),
            grace=numbers["cancel_grace"],
            seed=seed,
            max_concurrency=concurrency.pop("hub", None),
            source_concurrency=list(concurrency.items()),
            max_waiting=numbers["max_waiting"],
            breaker_threshold=numbers["breaker_threshold"],
            breaker_rest=numbers["breaker_rest"],
            prefer=prefer,
            strategies=_pairs(strategies),
            shadow=shadow,
            lookup_timeout=numbers["lookup_timeout"],
            lang=lang,
            result_limit=check_whole("result_limit", result_limit, _core.min_result_limit()),
            result_limits=numbers["result_limits"],
            embed_weight=numbers["embed_weight"],
            ledger=ledger,
            approval_lifetime=numbers["approval_lifetime"],
        )
        self._state = HubState()
        self._gateways: set[_core.Gateway] = set()
        self._events = Events()
        self._store = HubStore(self._core, store, numbers["store_results_max_bytes"])
        self._registration = Registration(self._core, self._events, self._state)
        self._search = ToolSearch(self._core, embed)
        if isinstance(core, str):
            raise TypeError(f"core must be a list of names, got the text {core!r}")
        self._always_shown = list(core)
        self._lang: Lang = lang
        self._folders = FolderLoader(self._core, self._registration, self._state, lang)
        self._skills = LocalSkills(self._core, self._registration)
        for label, target in SOURCE_ALIASES.items():
            self.add_alias(label, target)
        self._llm = llm
        if sampling is None and llm is not None:
            sampling = sampler(llm)
        functions = {"elicitation": elicitation, "sampling": sampling, "open_url": open_url}
        answers = {what: ask for what, ask in functions.items() if ask is not None}
        for what, ask in answers.items():
            check_callable(what, ask)
        callbacks = Callbacks(answers, self._events.emit_for_server, self._store.log_notices)
        self._servers = ServerManager(self._core, self._state, callbacks, token_file)
        self._lists = ListFetcher(self._servers, numbers["lookup_timeout"])
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
