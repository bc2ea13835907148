"""Search: which tools match a query, by words and by the embedding that the user gave."""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction
from typing import Any

from .. import _core
from .._checks import check_whole

_log = logging.getLogger("toolhub.search")

Embed = Callable[[list[str]], Sequence[Any]]
"""Returns one vector per text: a list or array of numbers, or None to leave a text out."""

Vector = list[float] | None

_BATCH = 32
"""The texts passed to the embedding at once: what a slow model has done is kept, batch by batch."""

_MOST_TOOLS = 4096
"""The tools whose texts are held in memory at once."""

_MAX_LOGGED = 100

_PATIENCE = 2.0
"""Seconds that a search waits for vectors. After that it uses words, and vectors that come later serve the next search."""


class _Job(threading.Thread):
    """Embeds texts, batch after batch, on a thread of its own. It does not touch the core: it may end with the interpreter."""

    def __init__(self, embed: Embed, texts: list[str]) -> None:
        super().__init__(name="toolhub-callback", daemon=True)
        self.texts = texts
        self.vectors: list[Vector] = []
        self.error: BaseException | None = None
        self.seconds = 0.0
        self._embed = embed
        self._began = time.monotonic()
        self.start()

    def run(self) -> None:
        try:
            for start in range(0, len(self.texts), _BATCH):
                self.vectors += self._vectors(self.texts[start : start + _BATCH])
        except BaseException as error:
            self.error = error
        self.seconds = time.monotonic() - self._began

    def _vectors(self, texts: list[str]) -> list[Vector]:
        made = self._embed(texts)
        if len(made) != len(texts):
            raise ValueError(f"embed() must return one vector per text, got {len(made)} for {len(texts)}")
        return [None if one is None else [float(value) for value in one] for one in made]

    def is_done(self, ends: float) -> bool:
        """Wait until `ends`, but only while the job is young: a search does not wait for what another one gave up."""
        self.join(max(0.0, min(ends, self._began + _PATIENCE) - time.monotonic()))
        return not self.is_alive()


class Embedding:
    """Passes each tool to the user's function once, from the first search that needs it on, and each query."""

    def __init__(self, embed: Embed) -> None:
        if not callable(embed) or iscoroutinefunction(embed):
            raise TypeError(f"embed must be a plain function from texts to vectors, got {embed!r}")
        self._embed = embed
        self._logged: set[str] = set()
        self._lock = threading.Lock()
        self._tools: tuple[_Job, list[tuple[str, int]]] | None = None
        self._late: _Job | None = None
        """The last query, if its vector had not come in time: it serves the next search with the same query."""
        self._is_slow = False

    def of(self, query: str, core: "_core.Hub") -> Vector:
        """The vector of a query, when all tools have theirs; None if search has to use words only."""
        if not query.strip():
            return None
        ends = time.monotonic() + _PATIENCE
        try:
            return self._of_query(query, ends) if self._all_tools(core, ends) else None
        except Exception as error:
            # Log each message once: a broken embedding fails in every search.
            problem = f"{type(error).__name__}: {error}"
            if problem not in self._logged and len(self._logged) < _MAX_LOGGED:
                self._logged.add(problem)
                _log.warning("the embedding failed, so search uses words only: %s", problem)
            return None

    def _all_tools(self, core: "_core.Hub", ends: float) -> bool:
        """Whether all tools have their vectors."""
        while (job := self._tools_job(core)) is not None:
            if not job.is_done(ends):
                return False
            if (error := self._take(core, job)) is not None:
                raise error
        return True

    def _tools_job(self, core: "_core.Hub") -> _Job | None:
        with self._lock:
            if self._tools is None:
                unseen = _core.unembedded(core, _MOST_TOOLS)
                if not unseen:
                    return None
                job = _Job(self._embed, [text for _, _, text in unseen])
                self._tools = job, [(name, state) for name, state, _ in unseen]
            return self._tools[0]

    def _take(self, core: "_core.Hub", job: _Job) -> BaseException | None:
        """Give the vectors of a job that has ended to the core. What it made before an error counts."""
        with self._lock:
            if self._tools is None or self._tools[0] is not job:
                return job.error  # another search has taken them
            for (name, state), vector in zip(self._tools[1], job.vectors, strict=False):
                _core.embed(core, name, state, vector)
            self._tools = None
            return job.error

    def _of_query(self, query: str, ends: float) -> Vector:
        with self._lock:
            if (late := self._late) is not None:
                if late.is_alive():
                    return None
                self._late, self._is_slow = None, late.seconds > _PATIENCE
                if late.error is not None:
                    raise late.error
                if late.texts == [query]:
                    return late.vectors[0]
            job = _Job(self._embed, [query])
            if self._is_slow:
                # Nobody waits for it, but it shows whether the model is faster now.
                self._late = job
                return None
        if job.is_done(ends):
            if job.error is not None:
                raise job.error
            return job.vectors[0]
        with self._lock:
            self._late = self._late or job
        return None


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
