"""Keeping: what the hub has learnt, in a file that outlives it."""

import logging
import os
from typing import Any, cast

from .. import _core
from ._base import HubPart
from ._numbers import check_whole

_log = logging.getLogger("toolhub")

# Longer than other processes keep the file locked.
_PATIENCE = 10.0


class Keeping(HubPart):
    """`flush`, and what the other parts need of the store."""

    _store: "_core.Store | None"

    def _open_store(self, path: Any, room: int) -> None:
        check_whole("store_results", room, 0)
        if not isinstance(path, str | os.PathLike | None):
            raise TypeError(f"store must be a path or None, got {type(path).__name__}")
        # SQLite's own word for a database that is no file; a hub without a store is just that.
        name = None if path is None else os.fsdecode(cast("str | os.PathLike[str]", path))
        place = None if name in (None, ":memory:") else os.path.expanduser(name)
        if place == "":
            raise ValueError("store must be a path or None, got an empty text")
        if place is not None and place.startswith("file:"):
            raise ValueError(
                f"store must be a path or None, got the URI {place!r}; give the path of the file alone"
            )
        self._store = None if place is None else _core.Store(self._core, place, room)
        self._tell_of_store()

    def flush(self) -> bool:
        """Write what the hub has learnt to its store now, instead of within a second; False when that cannot be done.

        It is False too when the file of the store cannot be used or not be written, and everything stays in memory. Without
        a store (`store=None`) nothing is to be written, so it is True. `close` writes too.

        >>> from toolhub import ToolHub
        >>> ToolHub().flush()
        True
        """
        if self._store is None:
            return True
        written = self._store.flush(_PATIENCE)
        self._tell_of_store()
        return written

    def _close_store(self) -> None:
        if self._store is not None:
            self._store.close(_PATIENCE)
            self._tell_of_store()

    def _tell_of_store(self) -> None:
        notices = [] if self._store is None else self._store.notices()
        for notice in notices:
            _log.warning("%s", notice)
