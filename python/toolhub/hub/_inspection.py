"""Inspection: the table of capabilities, and statistics in the shapes that users want."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .. import _core

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
