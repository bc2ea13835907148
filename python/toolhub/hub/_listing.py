"""The tool lists that no server has sent yet, fetched when a program looks at the tools of a hub."""

import contextlib
import logging
import warnings

from .. import _background
from .._lazy import asyncio
from .._progress_line import ProgressLine
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
        line = ProgressLine()

        def show() -> None:
            done = len(ids) - len(waiting)
            line.show(f"Listing tools: {done} of {len(ids)} servers, waiting for {', '.join(waiting)}")

        def progress(id: str, error: ToolError | None) -> None:
            waiting.pop(id, None)
            show()
            if error is not None:
                _LOG.warning("The tools of server %r are missing: %s", id, error)

        show()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._timeout):
                    await self._servers.connect(ids, None, progress, at_once=len(ids))
        finally:
            line.clear()
        if waiting:
            names = ", ".join(repr(id) for id in waiting)
            _LOG.warning("Still waiting for the tools of %s after %g s.", names, self._timeout)
