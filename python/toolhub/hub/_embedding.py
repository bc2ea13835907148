"""An embedding of the user's: what it makes of tools and queries."""

import logging
from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction
from typing import Any

from .. import _core

_log = logging.getLogger("toolhub.search")

Embed = Callable[[list[str]], Sequence[Any]]
"""Gives a vector for each text: numbers in a list or an array, or None where it has no opinion."""

_BATCH = 256
"""So many tools are given to the embedding at once."""


class Embedding:
    """Gives each tool to the user's function once, when it is first searched for, and each query."""

    def __init__(self, embed: Embed) -> None:
        if not callable(embed) or iscoroutinefunction(embed):
            raise TypeError(f"embed must be a plain function from texts to vectors, got {embed!r}")
        self._embed = embed
        self._told: set[str] = set()

    def of(self, query: str, core: "_core.Hub") -> list[float] | None:
        """The vector of a query, once all tools have theirs; None when the embedding fails: then words alone decide."""
        if not query.strip():
            return None
        try:
            while unseen := _core.unembedded(core, _BATCH):
                vectors = self._vectors([text for _, _, text in unseen])
                for (name, state, _), vector in zip(unseen, vectors, strict=True):
                    _core.embed(core, name, state, vector)
            return self._vectors([query])[0]
        except Exception as error:
            # Every search would say the same.
            told = f"{type(error).__name__}: {error}"
            if told not in self._told and len(self._told) < 100:
                self._told.add(told)
                _log.warning("the embedding failed, so search goes by words alone: %s", told)
            return None

    def _vectors(self, texts: list[str]) -> list[list[float] | None]:
        made = self._embed(texts)
        if len(made) != len(texts):
            raise ValueError(f"embed() must give a vector for each text, got {len(made)} for {len(texts)}")
        return [None if one is None else [float(value) for value in one] for one in made]
