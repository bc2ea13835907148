"""Searching: which tools fit a user's words."""

from .. import _core
from ._base import HubPart
from ._embedding import Embedding
from ._numbers import check_whole


class Searching(HubPart):
    """`search` and `recommend`."""

    _embedding: Embedding | None

    def search(self, query: str, k: int = 10) -> "list[_core.Hit]":
        """The `k` tools that fit the words of a query best, best first.

        Looked at are names, descriptions, parameters, capabilities, categories and servers. Names may be written in any style
        (snake_case, camelCase), English words in any form, and Chinese needs no spaces; small typing errors are forgiven. A
        tool that has nothing of the query is no hit, so an empty query has none. With `ToolHub(embed=…)` what is near in
        meaning is a hit too.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="countLetters", description="Counts the letters of a word.")
        >>> _ = hub.register(str.upper, name="shout", description="Makes everything upper-case.")
        >>> hub.search("how many letters are counted?")[0].name
        'countLetters'
        """
        return _core.search(self._core, _checked(query, k), k, self._vector(query))

    def recommend(self, query: str, k: int = 10) -> "list[_core.Hit]":
        """`search`, weighed with what has worked.

        A tool that fails or is slow comes later, and one that was called with success after a similar query was searched or
        recommended comes earlier, even when it shares no word with this one. The memory of that is bounded; it
        is the hub's, and with a store it outlives it.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length", description="The length of a text.")
        >>> [hit.name for hit in hub.recommend("length of this text")]
        ['length']
        """
        return _core.recommend(self._core, _checked(query, k), k, self._vector(query))

    def _vector(self, query: str) -> list[float] | None:
        return None if self._embedding is None else self._embedding.of(query, self._core)


def _checked(query: str, k: int) -> str:
    check_whole("k", k, 0)
    if not isinstance(query, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"query must be text, got {type(query).__name__}")
    return query
