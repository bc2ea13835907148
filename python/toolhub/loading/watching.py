"""Folders that are loaded again when something in them changes. Needs the package `watchfiles`."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import weakref
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from .files import place_of

_log = logging.getLogger("toolhub")
_STOPPING = 5.0
_LOOK_MS = 500

_all: weakref.WeakSet[Watcher] = weakref.WeakSet()


def library() -> Any:
    """The package, or an error that says how to install it."""
    try:
        import watchfiles
    except ImportError:
        raise ImportError(
            "Watching a folder needs the package watchfiles: pip install 'agent-toolhub[watch]', or call hub.reload() yourself."
        ) from None
    return watchfiles


class Watcher:
    """A thread that calls `changed` after changes below a folder, until it is closed."""

    def __init__(self, folder: Path, changed: Callable[[], Any]) -> None:
        watchfiles = library()
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=_watch,
            args=(watchfiles, folder, changed, self._stop),
            name="toolhub-watch",
            daemon=True,
        )
        _all.add(self)
        self._thread.start()

    def close(self) -> None:
        """Stop watching; a running load is awaited for a bounded time."""
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join(_STOPPING)

    def __del__(self) -> None:
        self._stop.set()


def _watch(watchfiles: Any, folder: Path, changed: Callable[[], Any], stop: threading.Event) -> None:
    there, failures = True, 0
    while not stop.is_set():
        if os.path.isdir(folder):
            there = True
            try:
                _watch_one(watchfiles, folder, changed, stop)
                failures = 0
            except (OSError, RuntimeError) as error:
                failures += 1
                # A folder that was replaced while the watching began fails once.
                if os.path.isdir(folder) and failures > 1:
                    _log.warning("%s: it is not watched any more: %s", folder, error)
                    return
                stop.wait(_LOOK_MS / 1000)
        else:
            if there:
                _tell(changed)
            there = False
            stop.wait(_LOOK_MS / 1000)  # it may come back


def _watch_one(watchfiles: Any, folder: Path, changed: Callable[[], Any], stop: threading.Event) -> None:
    """Watch until it is another folder of the same name, or none: the library does not notice that."""
    with _kept(folder) as place:
        changes = watchfiles.watch(
            folder, stop_event=stop, raise_interrupt=False, yield_on_timeout=True, rust_timeout=_LOOK_MS
        )
        looked = False
        for changes_now in changes:
            # What changed before the watching had begun is seen at the first look.
            if (changes_now or not looked) and not stop.is_set():
                looked = True
                _tell(changed)
            if place_of(folder) != place:
                return


@contextlib.contextmanager
def _kept(folder: Path) -> Generator[tuple[int, int] | None]:
    """The identity of a folder that no new folder can get: the file system reuses the number of one that is gone, but not of
    one that is open. Windows opens no folders, and does not reuse the numbers.
    """
    if os.name == "nt":
        yield place_of(folder)
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield place_of(descriptor)
    finally:
        os.close(descriptor)


def _tell(changed: Callable[[], Any]) -> None:
    try:
        changed()
    except Exception:
        _log.exception("loading a folder again failed")


def _stop_all() -> None:
    # Before the interpreter goes: the library's thread must not come back to one that is gone.
    for watcher in list(_all):
        watcher.close()


atexit.register(_stop_all)
