"""The methods of `ToolHub` that register, inspect and find tools. Each hands over to the part that does the work."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Literal, TypeVar, Unpack, overload

from .. import _core
from .._checks import check_text, if_given
from .._core import Candidate, Hit, Hub, ToolInfo
from .._decorator import DecoratorOptions, with_checked_numbers, with_name
from .._lazy import shown_as
from .._unknown_options import known_options, unknown_options
from ..options import RegisterOptions, Source
from ._registration import Registration
from ._search import ToolSearch
from ._servers import ListFetcher

StatsRow = dict[str, Any]


def flat(by_tool: Mapping[str, list[StatsRow]]) -> list[StatsRow]:
    """The rows of all tools with the same columns: the number of failures, and a column for each kind that occurred.

    >>> flat({"add": [{"failures": {"timeout": 2}}], "sub": [{"failures": {}}]})
    [{'failures': 2, 'failures.timeout': 2}, {'failures': 0, 'failures.timeout': 0}]
    """
    rows = [dict(row) for rows in by_tool.values() for row in rows]
    kinds = sorted({kind for row in rows for kind in row["failures"]})
    for row in rows:
        counts = row["failures"]
        row["failures"] = sum(counts.values())
        row.update({f"failures.{kind}": counts.get(kind, 0) for kind in kinds})
    return rows


class CapabilityRules(Mapping[str, list[str]]):
    """The table from which capabilities are extracted: tag → words. A change applies to tools registered after it.

    >>> from toolhub import ToolHub
    >>> hub = ToolHub()
    >>> hub.capability_rules.add("astronomy", ["telescope", "望远镜"])
    >>> hub.register(len, name="point_telescope", description="").capabilities
    ['astronomy']
    """

    def __init__(self, core: _core.Hub) -> None:
        self._core = core

    def add(self, tag: str, words: Iterable[str]) -> None:
        """Add words, in any language, that indicate the tag. An unknown tag is created."""
        if isinstance(words, str):
            raise TypeError("words must be a list of words, got one string")
        self._core.add_capability_words(tag, list(words))

    def remove(self, tag: str) -> bool:
        """Remove a tag from the table; False if it was not there."""
        return self._core.remove_capability(tag)

    def extract(self, name: str, description: str = "") -> list[str]:
        """The tags that this table finds for a tool."""
        return self._core.extract_capabilities(name, description)

    def __getitem__(self, tag: str) -> list[str]:
        return dict(self._core.capability_rules())[tag]

    def __iter__(self) -> Iterator[str]:
        return (tag for tag, _ in self._core.capability_rules())

    def __len__(self) -> int:
        return len(self._core.capability_rules())


class ToolList(list[ToolInfo]):
    """Tools."""

    _repr_mimebundle_ = shown_as("of_tools")


class HitList(list[Hit]):
    """The hits of a search."""

    _repr_mimebundle_ = shown_as("of_hits")


class StatsList(list[StatsRow]):
    """Statistics, one row for each candidate."""

    _repr_mimebundle_ = shown_as("of_stats")


class StatsByTool(dict[str, list[StatsRow]]):
    """Statistics by the name of the tool."""

    _repr_mimebundle_ = shown_as("of_stats_by_tool")


F = TypeVar("F", bound=Callable[..., Any])


class ToolMethods:
    """`tool`, `register`, `unregister`, `tools`, `get`, `search` and their like."""

    _core: Hub
    _registration: Registration
    _search: ToolSearch
    _lists: ListFetcher

    @overload
    def tool(
        self, function: str | None = None, /, **options: Unpack[DecoratorOptions]
    ) -> Callable[[F], F]: ...

    @overload
    def tool(self, function: F, /) -> F: ...

    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Register the decorated function. The function itself is returned unchanged.

        `@hub.tool`, `@hub.tool("name")` and `@hub.tool(name=…, …)` all work. The options are those of `register`.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.tool(capabilities=["calculate"])
        ... def add(a: int, b: int) -> int:
        ...     "Add two numbers."
        ...     return a + b
        >>> hub.call("add", {"a": 2, "b": 3}).result
        5
        """
        known = known_options(ToolMethods.register) or {}
        if unknown := [key for key in options if key not in known]:
            raise unknown_options(self, "tool", unknown, [key for key in known if key != "obj"])
        if isinstance(function, str):
            function, options = None, with_name(function, options)
        if function is None:
            return partial(self.tool, **with_checked_numbers(options))
        self._registration.register(function, **options)
        return function

    def register(
        self,
        obj: Any,
        name: str | None = None,
        source: Source = "tools",
        priority: int | None = None,
        capabilities: Iterable[str] | None = None,
        parameters: Mapping[str, Any] | None = None,
        *,
        server: str | None = None,
        meta: Mapping[str, Any] | None = None,
        replace: bool = False,
        **options: Unpack[RegisterOptions],
    ) -> Candidate:
        """Register a callable, or an object with `name`, `description` and `execute(input)`.

        Several candidates of one name and source stand side by side. The same object, or a new definition with the same
        qualified name (a notebook cell that was run again, a reloaded module), replaces the one before; `replace=True`
        replaces all candidates of this name, source and server. If the `version` of a replaced one differs, the event
        `version_changed` is sent. `parameters` is a JSON Schema that replaces the one from the signature. Raises `TypeError`
        or `ValueError` for an object that cannot be a tool, and `ToolError` of kind `closed` if the hub is closed.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> hub.register(len, name="length", description="Count the items").name
        'length'
        """
        return self._registration.register(
            obj,
            source=source,
            priority=priority,
            name=name,
            capabilities=capabilities,
            parameters=parameters,
            server=server,
            meta=meta,
            replace=replace,
            **options,
        )

    def unregister(self, name: str, source: Source | None = None, server: str | None = None) -> int:
        """Remove the candidates of a name, or only those of a source or server; returns how many were removed.

        `server__name` means the tool of that server. If the name means different tools of several servers, `ToolError` names
        them and nothing is removed. Calls in progress are not affected.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length")
        >>> hub.unregister("length")
        1
        """
        return self._registration.unregister(name, source, server)

    def tools(
        self,
        source: Source | None = None,
        server: str | None = None,
        capability: str | None = None,
        category: str | None = None,
    ) -> list[ToolInfo]:
        """The registered tools in order of registration; each filter narrows the list. An unknown server raises `ToolError`.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length", category="text")
        >>> [tool.name for tool in hub.tools(category="text")]
        ['length']
        """
        if server is not None:
            self._core.require_server(server)
        self._lists.fetch_missing()
        return ToolList(self._core.tools(source, server, capability, category))

    def get(self, name: str) -> ToolInfo | None:
        """One tool by its name; None if there is none."""
        return self._core.get(name)

    def find_by_capability(self, capability: str) -> list[Candidate]:
        """All candidates with a capability, in order of priority."""
        self._lists.fetch_missing()
        return self._core.find_by_capability(capability)

    def capabilities(self) -> dict[str, int]:
        """All capabilities of the registered tools, with the number of candidates of each."""
        self._lists.fetch_missing()
        return self._core.capabilities()

    @property
    def capability_rules(self) -> CapabilityRules:
        """The table from which capabilities are extracted; extend it with `.add`."""
        return CapabilityRules(self._core)

    @property
    def version(self) -> int:
        """A number that increases with every change of the registered tools, so that callers can cache."""
        return self._core.version

    @overload
    def stats(self, name: str | None = None, *, caller: str | None = None) -> dict[str, list[StatsRow]]: ...

    @overload
    def stats(
        self, name: str | None = None, *, rows: Literal[True], caller: str | None = None
    ) -> list[StatsRow]: ...

    def stats(
        self, name: str | None = None, *, rows: bool = False, caller: str | None = None
    ) -> dict[str, list[StatsRow]] | list[StatsRow]:
        """Statistics of past calls: for each tool name, one row per candidate. A store adds those of earlier processes.

        With `rows` the result is one flat list, ready for a table (`pandas.DataFrame(hub.stats(rows=True))`): `failures` is
        their number, and each kind that occurred has its own column, such as `failures.timeout`.

        `caller` is the id of a `toolhub.Principal`: only the calls of this caller of a served hub, in this process. A tool
        that runs for a caller gets the statistics of that caller, unless it asks for all of them with `caller="*"`.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length")
        >>> _ = hub.call("length", {"obj": "abc"})
        >>> hub.stats("length")["length"][0]["successes"]
        1
        >>> [(row["tool"], row["calls"], row["failures"]) for row in hub.stats(rows=True)]
        [('length', 1, 0)]
        """
        if_given(check_text, "caller", caller)
        by_tool = self._core.stats(name, caller)
        if rows:
            return StatsList(flat(by_tool))
        return StatsByTool(by_tool)

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The `k` tools that match a query best, best first.

        The search covers names, descriptions, parameters, capabilities, categories and servers. Names may be written in any
        style (snake_case, camelCase), English words in any form, and Chinese needs no spaces; small typing errors are
        forgiven. A tool that shares nothing with the query is not a hit, so an empty query has none. With
        `ToolHub(embed=…)`, tools that are close in meaning are hits too.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="countLetters", description="Counts the letters of a word.")
        >>> _ = hub.register(str.upper, name="shout", description="Makes everything upper-case.")
        >>> hub.search("how many letters are counted?")[0].name
        'countLetters'
        """
        self._lists.fetch_missing()
        return HitList(self._search.search(query, k))

    def recommend(self, query: str, k: int = 10) -> list[Hit]:
        """`search`, weighted by what has worked before.

        A tool that fails or is slow ranks lower. A tool that was called with success after a similar query was searched or
        recommended ranks higher, even if it shares no word with this query. That memory is bounded; with a store it
        survives a restart.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length", description="The length of a text.")
        >>> [hit.name for hit in hub.recommend("length of this text")]
        ['length']
        """
        self._lists.fetch_missing()
        return HitList(self._search.search(query, k, learnt=True))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._core

    def __len__(self) -> int:
        return len(self._core)

    def __bool__(self) -> bool:
        # `__len__` must not make an empty hub falsy.
        return True
