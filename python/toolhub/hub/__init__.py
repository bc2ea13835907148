"""The hub: one object for every tool, composed of the parts in this package.

Each part owns its state and depends on the core and on other parts, never on the hub:

    Registration ← Folders, LocalSkills    Callbacks ← ServerManager

`ToolHub` creates them. It loads folders and adds servers; the methods that do more than hand over are grouped by topic, one
file each, and what belongs together is an attribute: `resources`, `prompts`, `skills`, `pins`.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, cast

from .. import _background, _core
from .._background import blocking
from .._callbacks import Callbacks
from .._checks import (
    check_callable,
    check_mapping,
    check_seconds,
    check_switch,
    check_text,
    check_whole,
    if_given,
)
from .._compat import CORE_TOOLS, SOURCE_ALIASES, CompatMethods
from .._lazy import shown_as
from .._unknown_options import explain_unknown_options
from .._user_functions import aend_waits, end_waits, in_thread
from ..events import Event, Events
from ..exceptions import ToolError
from ..options import (
    HeaderFunction,
    Lang,
    Limits,
    Login,
    Model,
    Prefer,
    ServerOptions,
    Shadow,
    StrategyName,
    Transport,
)
from ..servers import ConnectReport, LoadReport, ServerInfo, as_info
from ._ledger_methods import LedgerMethods
from ._limits import MOVED, checked_limits, checked_login
from ._local_skills import LocalSkills
from ._prompt_methods import PromptMethods
from ._registration import Registration
from ._run_methods import RunMethods, RunOutcome
from ._search import Embed, ToolSearch
from ._serve_methods import ServeMethods
from ._servers import ListFetcher, ServerManager
from ._state import HubState
from ._store import HubStore
from ._synthesis import check_llm, sampler
from ._tool_methods import CapabilityRules, ToolMethods

if TYPE_CHECKING:
    from ..loading.folders import Folders
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
class ToolHub(ToolMethods, RunMethods, PromptMethods, LedgerMethods, ServeMethods, CompatMethods):
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
        {"call", "call_by_capability", "call_many", "execute_many", "dispatch_sync", "run", "run_sync"}
        | {"__init__", "close", "aclose"}
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
        results_bytes = numbers.pop("store_results_max_bytes")
        token_file, open_url = checked_login(login)
        if seed is not None:
            check_whole("seed", seed, 0)
            seed %= 2**64  # of any length, as for `random.seed`
        for what, text in (("prefer", prefer), ("shadow", shadow), ("ledger", ledger)):
            if_given(check_text, what, text)
        if llm is not None:
            check_llm(llm)
        options = {
            **numbers,
            "timeout": check_seconds("timeout", timeout, above_zero=True),
            "max_parallel": check_whole("max_parallel", max_parallel, 1),
            "seed": seed,
            "max_concurrency": concurrency.pop("hub", None),
            "source_concurrency": list(concurrency.items()),
            "prefer": prefer,
            "strategies": _pairs(strategies),
            "shadow": shadow,
            "lang": lang,
            "result_limit": check_whole("result_limit", result_limit, _core.min_result_limit()),
            "ledger": ledger,
        }
        self._core = _core.Hub(options)
        self._state = HubState()
        self._gateways: set[_core.Gateway] = set()
        self._events = Events()
        self._store = HubStore(self._core, store, results_bytes)
        self._registration = Registration(self._core, self._events, self._state)
        self._search = ToolSearch(self._core, embed)
        if isinstance(core, str):
            raise TypeError(f"core must be a list of names, got the text {core!r}")
        self._always_shown = list(core)
        self._lang: Lang = lang
        self._loaded: Folders | None = None
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
        for folder in _each(tools):
            self.load_tools(folder)
        for folder in _each(skills):
            self.load_skills(folder)
        for config in _each(mcp):
            self.load_mcp(config)

    def load_tools(self, folder: Folder) -> LoadReport:
        """Import the modules of a folder and register their tools: functions marked with `@toolhub.tool`, and objects and
        classes with `name`, `description` and `execute(input)`.

        Modules are imported under private names and may import each other relatively. A broken module is reported and
        logged; the others still load. Loading a folder again applies the difference, see `reload`. Importing blocks:
        in async code, write `await asyncio.to_thread(hub.load_tools, folder)`.
        """
        return self._folders().load("tools", folder)

    def load_skills(self, folder: Folder, *, python: bool = True, allow_scripts: bool = False) -> LoadReport:
        """Register the skills of a folder: every subfolder with a `SKILL.md` of the Agent Skills format, and the skill classes
        in its Python modules (with `python=False` no module is imported).

        Only the front matter of a `SKILL.md` is read. Calling the skill returns its instructions, its folder and the files
        in it; with `{"file": path}` it returns one of the files. Nothing is run unless you pass `allow_scripts`: then the
        tool `run_skill_script` can run the scripts of these skills. The latest call for a folder decides.
        """
        for what, given in (("python", python), ("allow_scripts", allow_scripts)):
            check_switch(what, given)
        report = self._folders().load("skills", folder, python)
        self._skills.permit_scripts(folder, allow_scripts)
        return report

    def _folders(self) -> "Folders":
        if self._loaded is None:
            from ..loading.folders import Folders  # most programs have none

            self._loaded = Folders(self._core, self._registration)
        return self._loaded

    def reload(self) -> LoadReport:
        """Load all folders again: one in which a file has changed is imported again as a whole.

        Calls in progress finish with the old code. A module that is broken now keeps its tools; a skill that is broken now
        stays listed, but a call reads the file as it is. Both are in the report.
        """
        return self._folders().reload()

    def load_mcp(self, config: McpConfig) -> LoadReport:
        """Add the servers of an `mcpServers` file, or of a mapping like it. No server is started yet.

        Loading a file again applies the difference: new servers are added, changed ones replaced, missing ones removed. A
        wrong entry is an error that names file, server and key, in the report and once in the log; the others still load.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> hub.load_mcp({"mcpServers": {"files": {"command": "files-server"}, "bad": {"args": 5}}}).loaded
        ['files']
        """
        return self._servers.load(config)

    def add_server(
        self,
        id: str,
        *,
        command: str | None = None,
        args: Iterable[str | os.PathLike[str]] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        url: str | None = None,
        headers: Mapping[str, str] | HeaderFunction | None = None,
        transport: Transport | None = None,
        auth: Any = None,
        disabled: bool = False,
        **options: Unpack[ServerOptions],
    ) -> list[str]:
        """Add one MCP server: a program (`command`, `args`, `env`, `cwd`) or a `url` with `headers`.

        `transport` is `http` or `sse`; without it the hub detects the transport. `options` are those of the key `toolhub` in
        a file, see `toolhub.options.ServerOptions`. `auth` is a bearer token, a function that returns one (sync or async,
        called for each request), `"oauth"` for a login in the browser, or a mapping with its details. A server with the same
        id is replaced. Returns warnings about the configuration.

        `headers` may differ by caller of a served hub: with placeholders such as `{principal.token}`, or as a function of the
        `toolhub.Principal`, sync or async, which is called for each request and returns the headers. It gets None where
        there is no caller: for lists of tools, and for calls outside of a served hub. A caller for whom it raises or returns
        None is refused, and so is a header with the caller's own token. It has 10 s.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> hub.add_server("files", command="files-server", args=["--root", "/tmp"], startup_timeout=10)
        []
        >>> [server.state for server in hub.servers()]
        ['disconnected']
        """
        entry = {
            "command": command,
            "args": args,
            "env": env,
            "cwd": cwd,
            "url": url,
            "headers": headers,
            "transport": transport,
            "disabled": disabled or None,
        }
        return self._servers.add(id, entry, auth, options)

    def add_fastmcp(self, mcp: Any, id: str | None = None, **options: Unpack[ServerOptions]) -> list[str]:
        """Add the tools of a FastMCP server, or of an `MCPServer` of the MCP SDK, that is an object of this process.

        The hub is a client of the server, without a socket or a child process, so everything works as with other servers:
        effects, errors, progress, cancellation, resources, prompts. Its tools are known at once, and so are changes. `id`
        is the server's name by default, `options` are those of `add_server`, which also tells what is returned.

        The server runs on the running event loop, otherwise on a thread of its own. A blocking call such as `hub.call(...)`
        stops the loop of its thread, so the server goes on in a thread of its own from the first one on. Its calls that are
        under way then fail.

            mcp = FastMCP("Notes")
            hub.add_fastmcp(mcp)
        """
        from ._hosted import check_server

        check_server(mcp)
        return self._servers.host(str(mcp.name) if id is None else id, mcp, options)

    def remove_server(self, id: str) -> bool:
        """Remove a server and its tools; False, and a warning in the log, if there is none with that id."""
        return self._servers.remove(id)

    def servers(self) -> list[ServerInfo]:
        """All servers, in the order in which they were added."""
        return [as_info(row) for row in self._servers.rows()]

    async def connect(
        self,
        ids: Iterable[str] | None = None,
        *,
        timeout: float | None = None,
        progress: Callable[[str, ToolError | None], Any] | None = None,
    ) -> ConnectReport:
        """Connect servers now, all of them or those named, up to 16 concurrently. Failures are reported per server.

        `progress` is called (and awaited, if it is async) with the id of each server as soon as it is connected, or with
        the error if it failed. An exception it raises ends `connect`.
        """
        return await self._servers.connect(ids, timeout, progress)

    connect_sync = blocking(connect)
    """`connect`, blocking. `progress` is called on a thread of the hub."""

    async def refresh(
        self, ids: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> ConnectReport:
        """List the tools of servers again, connecting them if needed."""
        return await self._servers.connect(ids, timeout, None, refresh=True)

    refresh_sync = blocking(refresh)
    """`refresh`, blocking."""

    def flush(self) -> bool:
        """Write what the hub has learnt to its store now instead of within a second; False if it could not be written.

        Without a store there is nothing to write, and the result is True. `close` writes too.

        >>> from toolhub import ToolHub
        >>> ToolHub().flush()
        True
        """
        return self._store.flush()

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
        A store that another process keeps locked is waited for until 5 seconds have passed in all. What could not be written
        then is lost, and a warning says how much that is.
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
            await cast("Any", ending)
        if self._tracing is not None:
            # An exporter may wait for its collector.
            await in_thread(self._tracing)
        if self._store.has_thread:
            # Another process may hold the lock of the file: do not block the event loop meanwhile.
            await in_thread(self._store.close, deadline)

    def _release(self) -> None:
        self._state.closed = True
        if self._loaded is not None:
            self._loaded.close()
        for gateway in list(self._gateways):
            gateway.stop()
        self._core.close()
        _background.rest()

    def __enter__(self) -> Self:
        self._state.require_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        self._state.require_open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __reduce__(self) -> str:
        raise TypeError("a hub cannot be pickled; make one in each process")

    def __repr__(self) -> str:
        return f"<ToolHub with {len(self)} tools{', closed' if self._state.closed else ''}>"

    _repr_mimebundle_ = shown_as("of_hub")


def _each(given: Any) -> list[Any]:
    """What a constructor argument names: nothing, one thing or several.

    >>> _each(None), _each("tools"), _each(["tools", "more_tools"])
    ([], ['tools'], ['tools', 'more_tools'])
    """
    if given is None:
        return []
    return list(cast("list[Any]", given)) if isinstance(given, list | tuple) else [given]


def _pairs(strategies: Any) -> list[tuple[str, str]]:
    given = {} if strategies is None else check_mapping("strategies", strategies)
    return [
        (check_text("each pattern of strategies", pattern), check_text(f"strategies[{pattern!r}]", strategy))
        for pattern, strategy in given.items()
    ]
