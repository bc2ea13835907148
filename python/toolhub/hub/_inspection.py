"""Inspection: the table of capabilities, statistics in the shapes that users want, lists that a notebook shows as tables."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .. import _core
from .._core import Hit, ToolInfo
from .._lazy import shown_as

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
