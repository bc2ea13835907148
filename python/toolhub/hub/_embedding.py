"""Embeddings: vectors of tools and queries, computed by a function of the user."""

import logging
import time
from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction
from typing import Any

from .. import _core
from .._user_functions import BoundedCall

_log = logging.getLogger("toolhub.search")

Embed = Callable[[list[str]], Sequence[Any]]
"""Returns one vector per text: a list or array of numbers, or None to leave a text out."""

_BATCH = 256
"""The number of tools passed to the embedding at once."""

_MAX_LOGGED = 100

_PATIENCE = 20.0
"""Seconds that a search waits for the embedding, for all batches together. After that it uses words only, and the next search
continues with the tools that have no vector yet."""


class Embedding:
    """Passes each tool to the user's function once, before the first search that needs it, and each query."""

    def __init__(self, embed: Embed) -> None:
        if not callable(embed) or iscoroutinefunction(embed):
            raise TypeError(f"embed must be a plain function from texts to vectors, got {embed!r}")
        self._embed = BoundedCall(embed)
        self._logged: set[str] = set()

    def of(self, query: str, core: "_core.Hub") -> list[float] | None:
        """The vector of a query, after all tools have theirs; None if the embedding fails, and search uses words only."""
        if not query.strip():
            return None
        ends = time.monotonic() + _PATIENCE
        try:
            while unseen := _core.unembedded(core, _BATCH):
                vectors = self._vectors([text for _, _, text in unseen], ends)
                for (name, state, _), vector in zip(unseen, vectors, strict=True):
                    _core.embed(core, name, state, vector)
            return self._vectors([query], ends)[0]
        except Exception as error:
            # Log each message once: a broken embedding fails in every search.
            problem = f"{type(error).__name__}: {error}"
            if problem not in self._logged and len(self._logged) < _MAX_LOGGED:
                self._logged.add(problem)
                _log.warning("the embedding failed, so search uses words only: %s", problem)
            return None

    def _vectors(self, texts: list[str], ends: float) -> list[list[float] | None]:
        made = self._embed(max(0.0, ends - time.monotonic()), texts)
        if len(made) != len(texts):
            raise ValueError(f"embed() must return one vector per text, got {len(made)} for {len(texts)}")
        return [None if one is None else [float(value) for value in one] for one in made]
