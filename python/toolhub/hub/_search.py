"""Search: which tools match a query."""

import os

from .. import _core
from .._checks import check_whole
from ._embedding import Embed, Embedding

# They have licences of their own, so they are files of their own. The core reads each when a search first needs it.
_DATA = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data")
_core.use_search_data(os.path.join(_DATA, "zh_en.txt.gz"), os.path.join(_DATA, "words_en.bin.gz"))


class ToolSearch:
    """Searches the index of the core, by words and, if the user gave an embedding, by meaning."""

    def __init__(self, core: _core.Hub, embed: Embed | None) -> None:
        self._core = core
        self._embedding = None if embed is None else Embedding(embed)

    def search(self, query: str, k: int, learnt: bool = False) -> list[_core.Hit]:
        """See `ToolHub.search`, and `ToolHub.recommend` for what was `learnt`."""
        if not isinstance(query, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"query must be text, got {type(query).__name__}")
        k = check_whole("k", k, 0)
        vector = None if self._embedding is None else self._embedding.of(query, self._core)
        return _core.search(self._core, query, k, vector, learnt)
