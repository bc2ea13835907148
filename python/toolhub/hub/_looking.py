"""Looking: what is in the hub."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, cast, overload

from .. import _core
from ._base import HubPart


class CapabilityRules(Mapping[str, list[str]]):
    """The table from which capabilities are extracted: tag → words, for tools registered from now on.

    >>> from toolhub import ToolHub
    >>> hub = ToolHub()
    >>> hub.capability_rules.add("astronomy", ["telescope", "望远镜"])
    >>> hub.register(len, name="point_telescope", description="").capabilities
    ['astronomy']
    """

    def __init__(self, core: _core.Hub) -> None:
        self._core = core

    def add(self, tag: str, words: Iterable[str]) -> None:
        """Add words, in any language, that mean the tag; a new tag is made."""
        if isinstance(words, str):
            raise TypeError("words must be a list of words, got one string")
        self._core.add_capability_words(tag, list(words))

    def remove(self, tag: str) -> bool:
        """Take a tag out of the table; False when it was not there."""
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


class Looking(HubPart):
    """`tools`, `get`, `find_by_capability`, `capabilities`, `stats` and the drop-in `has_tool`, `list_tools`."""

    def tools(
        self,
        source: str | None = None,
        server: str | None = None,
        capability: str | None = None,
        category: str | None = None,
    ) -> list[_core.ToolInfo]:
        """The tools that are there, in the order of registration; each filter narrows the list."""
        return self._core.tools(source, server, capability, category)

    def get(self, name: str) -> _core.ToolInfo | None:
        """One tool by its name."""
        return self._core.get(name)

    def find_by_capability(self, capability: str) -> list[_core.Candidate]:
        """Every candidate with that capability, by priority."""
        return self._core.find_by_capability(capability.lower())

    def capabilities(self) -> dict[str, int]:
        """The capabilities that are there, with the number of candidates of each."""
        return cast("dict[str, int]", self._core.capabilities())

    @property
    def capability_rules(self) -> CapabilityRules:
        """The table from which capabilities are extracted; extend it with `.add`."""
        return CapabilityRules(self._core)

    @property
    def version(self) -> int:
        """Increases with every change of what is registered, so that callers can cache."""
        return self._core.version

    @overload
    def stats(self, name: str | None = None) -> dict[str, list[dict[str, Any]]]: ...

    @overload
    def stats(self, name: str | None = None, *, rows: Literal[True]) -> list[dict[str, Any]]: ...

    def stats(
        self, name: str | None = None, *, rows: bool = False
    ) -> dict[str, list[dict[str, Any]]] | list[dict[str, Any]]:
        """What calls have shown so far: for each tool name one row a candidate. With a store, earlier processes count too.

        With `rows` one flat list, as a table takes it (`pandas.DataFrame(hub.stats(rows=True))`): `failures` is their number,
        and each kind that was seen has a column of its own, such as `failures.timeout`.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length")
        >>> _ = hub.call("length", {"obj": "abc"})
        >>> hub.stats("length")["length"][0]["successes"]
        1
        >>> [(row["tool"], row["calls"], row["failures"]) for row in hub.stats(rows=True)]
        [('length', 1, 0)]
        """
        candidates = cast("list[dict[str, Any]]", self._core.stats(name))
        if rows:
            return _flat(candidates)
        by_name: dict[str, list[dict[str, Any]]] = {}
        for row in candidates:
            by_name.setdefault(row["tool"], []).append(row)
        return by_name

    def has_tool(self, name: str) -> bool:
        """Whether a tool of that name is registered."""
        return name in self._core

    def list_tools(self) -> list[dict[str, Any]]:
        """The tools in the drop-in shape: name and candidates with source, priority and meta."""
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

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._core

    def __len__(self) -> int:
        return len(self._core)

    def __bool__(self) -> bool:
        """A hub is a hub, also while it is empty."""
        return True


def _flat(candidates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with the same columns, and nothing but plain values in them."""
    kinds = sorted({kind for row in candidates for kind in row["failures"]})
    return [
        {**row, "failures": sum(row["failures"].values())}
        | {f"failures.{kind}": row["failures"].get(kind, 0) for kind in kinds}
        for row in candidates
    ]
