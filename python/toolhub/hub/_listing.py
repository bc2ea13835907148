"""The tool lists that no server has sent yet, fetched when a program looks at the tools of a hub."""

import contextlib
import logging
import sys
import warnings

from .. import _background
from .._lazy import asyncio
from ..exceptions import ToolError
from ._servers import ServerManager

_LOG = logging.getLogger("toolhub.servers")


class ListFetcher:
    """Fetches missing lists where the caller may wait, and says how to fetch them where it may not."""

    def __init__(self, servers: ServerManager, lookup_timeout: float) -> None:
        self._servers = servers
        self._timeout = lookup_timeout

    def fetch_missing(self) -> None:
        """Fetch the lists of servers that have never sent one, each server once; inside a running loop, warn instead."""
        ids = self._servers.take_never_listed()
        if not ids:
            return
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            _background.run(self._fetch(ids))
            return
        names = ", ".join(repr(id) for id in ids)
        what = f"the server {names} has" if len(ids) == 1 else f"the servers {names} have"
        warnings.warn(
            f"{what} not listed any tools yet, so they are missing here; call `await hub.connect()` first.",
            RuntimeWarning,
            stacklevel=4,
        )

    async def _fetch(self, ids: list[str]) -> None:
        """Connect all servers at once; those that need longer than `lookup_timeout` go on connecting."""
        waiting = dict.fromkeys(ids)
        line = _ProgressLine(len(ids))

        def progress(id: str, error: ToolError | None) -> None:
            waiting.pop(id, None)
            line.show(list(waiting))
            if error is not None:
                _LOG.warning("The tools of server %r are missing: %s", id, error)

        line.show(ids)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._timeout):
                    await self._servers.connect(ids, None, progress, at_once=len(ids))
        finally:
            line.clear()
        if waiting:
            names = ", ".join(repr(id) for id in waiting)
            _LOG.warning("Still waiting for the tools of %s after %g s.", names, self._timeout)


class _ProgressLine:
    """One line on a terminal that is overwritten; nothing elsewhere."""

    def __init__(self, total: int) -> None:
        stream = sys.stderr
        self._stream = stream if stream is not None and stream.isatty() else None
        self._total = total

    def show(self, waiting: list[str]) -> None:
        if self._stream is not None and waiting:
            done = self._total - len(waiting)
            text = f"Listing tools: {done} of {self._total} servers, waiting for {', '.join(waiting)}"
            self._write(text[:78])

    def clear(self) -> None:
        if self._stream is not None:
            self._write("")

    def _write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(f"\r\x1b[2K{text}")
            self._stream.flush()
