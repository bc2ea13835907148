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
        self._has_file = place is not None
        if place is not None:
            _log_all(_core.open_store(core, place, results_bytes))

    @property
    def has_thread(self) -> bool:
        """Whether closing may take a while."""
        return self._has_file or _core.has_ledger(self._core)

    def flush(self) -> bool:
        """See `ToolHub.flush`."""
        if not self._has_file:
            return True
        written = _core.flush_store(self._core, _TIMEOUT)
        self.log_notices()
        return written

    def close(self, deadline: float) -> None:
        """Write everything and release the file, until the clock shows `deadline`."""
        end = max(deadline, time.monotonic() + _LEAST)
        _core.close_ledger(self._core, _until(end))
        _core.close_store(self._core, _until(end))
        self.log_notices()

    def log_notices(self) -> None:
        """Log what the store has to report; from any thread."""
        # A hub that was closed has logged everything, unless a handler of the program blocks another thread.
        is_alone = self._logging.acquire(timeout=_LOG_TIMEOUT)
        try:
            _log_all(_core.store_notices(self._core))
        finally:
            if is_alone:
                self._logging.release()


def _log_all(notices: list[str]) -> None:
    for notice in notices:
        _log.warning("%s", notice)


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
