"""Names and words that existing orchestrators use, so that they switch to toolhub by changing an import.

`ToolCandidate` is here and at the top of the package; the methods are part of every `ToolHub`; the words are the defaults of
two of its options. New code does not need any of them: `docs/how-to/drop-in.md` has a table of the old and the new names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._core import Candidate, Hub

if TYPE_CHECKING:
    from .hub._listing import ListFetcher
    from .hub._registration import Registration

__all__ = ["CORE_TOOLS", "SOURCE_ALIASES", "ToolCandidate"]

SOURCE_ALIASES: Mapping[str, str | None] = {"native": None, "appflowy": None}
"""Labels that models give as the source of a call and that mean any source. The default of `ToolHub(source_aliases=…)`."""

CORE_TOOLS = ("none", "search_web", "calculate", "get_time", "get_conversation_history")
"""Tools that a prompt shows first if they are registered. The default of `ToolHub(core=…)`."""


@dataclass
class ToolCandidate:
    """A candidate in the shape that existing orchestrators have; `hub.register_candidate` takes it.

    >>> class Echo:
    ...     name, description = "echo", "Say it again"
    ...     def execute(self, input): return input
    >>> ToolCandidate("echo", "tools", Echo(), 0, {"capabilities": ["echo"]}).source
    'tools'
    """

    name: str
    source: str
    tool: Any
    priority: int | None = None
    meta: dict[str, Any] = field(default_factory=dict[str, Any])


class CompatMethods:
    """`register_candidate`, `has_tool` and `list_tools` of `ToolHub`."""

    _core: Hub
    _registration: "Registration"
    _lists: "ListFetcher"

    def register_candidate(self, candidate: ToolCandidate) -> Candidate:
        """Register a `ToolCandidate`. Its `meta` may hold `capabilities`, `description`, `parameters` and `server`.

        New code: `hub.register(tool, name=…, source=…)`.

        >>> from toolhub import ToolCandidate, ToolHub
        >>> ToolHub().register_candidate(ToolCandidate("length", "tools", len)).name
        'length'
        """
        meta = candidate.meta
        return self._registration.register(
            candidate.tool,
            name=candidate.name,
            source=candidate.source,
            priority=candidate.priority,
            capabilities=meta.get("capabilities"),
            parameters=meta.get("parameters"),
            description=meta.get("description"),
            server=meta.get("server"),
            meta=meta,
        )

    def has_tool(self, name: str) -> bool:
        """Whether a tool of that name is registered. New code: `name in hub`.

        >>> from toolhub import ToolHub
        >>> ToolHub().has_tool("length")
        False
        """
        return name in self._core

    def list_tools(self) -> list[dict[str, Any]]:
        """All tools as dicts: name, and candidates with source, priority and meta. New code: `hub.tools()`.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length", capabilities=["count"])
        >>> hub.list_tools()
        [{'name': 'length', 'candidates': [{'source': 'tools', 'priority': 0, 'meta': {'capabilities': ['count']}}]}]
        """
        self._lists.fetch_missing()
        return [
            {
                "name": tool.name,
                "candidates": [
                    {"source": candidate.source, "priority": candidate.priority, "meta": candidate.meta}
                    for candidate in tool.candidates
                ],
            }
            for tool in self._core.tools()
        ]
