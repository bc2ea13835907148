"""The store: a file that keeps what the hub has learnt over restarts."""

import logging
import os
import threading
import time
from typing import Any, cast

from .. import _core

_log = logging.getLogger("toolhub")

_TIMEOUT = 10.0
"""Seconds that a write may take; other processes hold the lock of the file for less."""

_LEAST = 0.25
"""Seconds for the last write when all other steps of the end have taken their time."""

_LOG_TIMEOUT = 1.0
"""Seconds to wait for a thread that is logging."""


class HubStore:
    """The file of one hub, or nothing when the hub keeps everything in memory."""

    def __init__(self, core: _core.Hub, path: Any, results_bytes: int) -> None:
        place = _checked_path(path)
        self._core = core
        self._logging = threading.RLock()
        self.file = None if place is None else _core.Store(core, place, results_bytes)
        self.log_notices()

    @property
    def has_thread(self) -> bool:
        """Whether closing may take a while."""
        return self.file is not None or _core.has_ledger(self._core)

    def flush(self) -> bool:
        """See `ToolHub.flush`."""
        if self.file is None:
            return True
        written = self.file.flush(_TIMEOUT)
        self.log_notices()
        return written

    def close(self, deadline: float) -> None:
        """Write everything and release the file, until the clock shows `deadline`."""
        end = max(deadline, time.monotonic() + _LEAST)
        if self.file is not None:
            self.file.close(0.0)  # so that both write at the same time
        _core.close_ledger(self._core, _until(end))
        if self.file is not None:
            self.file.close(_until(end))
            self.log_notices()

    def log_notices(self) -> None:
        """Log what the store has to report; from any thread."""
        if self.file is None:
            return
        # A hub that was closed has logged everything, unless a handler of the program blocks another thread.
        is_alone = self._logging.acquire(timeout=_LOG_TIMEOUT)
        try:
            for notice in self.file.notices():
                _log.warning("%s", notice)
        finally:
            if is_alone:
                self._logging.release()


def _until(end: float) -> float:
    return max(end - time.monotonic(), 0.0)


def _checked_path(path: Any) -> str | None:
    if not isinstance(path, str | os.PathLike | None):
        raise TypeError(f"store must be a path or None, got {type(path).__name__}")
    name = None if path is None else os.fsdecode(cast("str | os.PathLike[str]", path))
    # SQLite's name for a database without a file; a hub without a store behaves the same.
    place = None if name in (None, ":memory:") else os.path.expanduser(name)
    if place == "":
        raise ValueError("store must be a path or None, got an empty text")
    if place is not None and place.startswith("file:"):
        raise ValueError(f"store must be a path or None, got the URI {place!r}; pass the path of the file")
    return place
