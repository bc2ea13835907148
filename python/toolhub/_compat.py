"""What existing orchestrators need of every hub: `ToolCandidate`, three methods, and two lists of words.

The public names are in `toolhub.compat`. The methods are part of every `ToolHub`, and the words are known to every one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from ._checks import check_mapping, if_given
from ._core import Candidate, Hub

if TYPE_CHECKING:
    from .hub._registration import Registration
    from .hub._servers import ListFetcher

__all__ = ["CORE_TOOLS", "SOURCE_ALIASES", "ToolCandidate"]

SOURCE_ALIASES: Mapping[str, str | None] = {"native": None, "appflowy": None}
"""Labels that models give as the source of a call and that mean any source. `hub.add_alias` adds others."""

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


def _fields(given: Any) -> dict[str, Any]:
    """The fields of a candidate of any class, since orchestrators have one of their own; or of a mapping."""
    if isinstance(given, Mapping):
        has = dict(cast("Mapping[str, Any]", given))
    else:
        names = ("name", "source", "tool", "priority", "meta")
        has = {name: getattr(given, name) for name in names if hasattr(given, name)}
    if not {"name", "tool"} <= has.keys():
        raise TypeError(
            f"register_candidate() takes ToolCandidate(name, source, tool), got {type(cast('Any', given)).__name__}; "
            f"for a function or an object, write hub.register(tool)"
        )
    return has


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
        has = _fields(candidate)
        meta = if_given(check_mapping, "the meta of a candidate", has.get("meta")) or {}
        options: Any = {key: meta.get(key) for key in ("capabilities", "parameters", "description", "server")}
        source, priority = has.get("source", "tools"), has.get("priority")
        return self._registration.register(
            has["tool"], name=has["name"], source=source, priority=priority, meta=meta, **options
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
        keys = ("source", "priority", "meta")
        return [
            {
                "name": tool.name,
                "candidates": [{key: getattr(one, key) for key in keys} for one in tool.candidates],
            }
            for tool in self._core.tools()
        ]
