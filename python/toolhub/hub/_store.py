"""The store: a file that keeps what the hub has learnt over restarts."""

import logging
import os
from typing import Any, cast

from .. import _core
from .._checks import check_whole

_log = logging.getLogger("toolhub")

_TIMEOUT = 10.0
"""Seconds that a write may take; other processes hold the lock of the file for less."""


class HubStore:
    """The file of one hub, or nothing when the hub keeps everything in memory."""

    def __init__(self, core: _core.Hub, path: Any, results_bytes: int) -> None:
        results_bytes = check_whole("store_results_max_bytes", results_bytes, 0)
        place = _checked_path(path)
        self.file = None if place is None else _core.Store(core, place, results_bytes)
        self._log_notices()

    def flush(self) -> bool:
        """See `ToolHub.flush`."""
        if self.file is None:
            return True
        written = self.file.flush(_TIMEOUT)
        self._log_notices()
        return written

    def close(self) -> None:
        """Write everything and release the file."""
        if self.file is not None:
            self.file.close(_TIMEOUT)
            self._log_notices()

    def _log_notices(self) -> None:
        for notice in [] if self.file is None else self.file.notices():
            _log.warning("%s", notice)


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
