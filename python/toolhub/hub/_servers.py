"""The MCP servers of a hub: configuration, connections, and the lists that none has sent yet."""

import contextlib
import inspect
import logging
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from .. import _background, _core, _lifecycle
from .._callbacks import Callbacks
from .._checks import check_callable, check_mapping, check_path, check_seconds, check_texts, if_given
from .._lazy import asyncio
from .._progress_line import ProgressLine
from ..exceptions import ToolError
from ..options import Default
from ..result import ToolResult
from ..servers import ConnectReport, LoadReport, LogOnce
from ._state import HubState

_log = logging.getLogger("toolhub.servers")

NATIVE = "native"
"""Names the hub itself among the servers."""

_CLOSE_TIMEOUT = 10.0
"""Seconds; longer than any server may take to end."""


class ServerManager:
    """Creates the servers of the core when the first one is needed, and ends them."""

    def __init__(
        self,
        core: _core.Hub,
        state: HubState,
        callbacks: Callbacks,
        token_file: "str | os.PathLike[str] | Default | None",
    ) -> None:
        self._core = core
        self._state = state
        self._callbacks = callbacks
        self._token_file = token_file
        self._log_once = LogOnce()
        self._servers: _core.Servers | None = None

    def load(self, config: str | os.PathLike[str] | Mapping[str, Any]) -> LoadReport:
        """See `ToolHub.load_mcp`."""
        if isinstance(config, Mapping):
            report: Any = self.open().load_value(config)
        else:
            check_path("mcp", config, "; register functions with hub.register")
            report = self.open().load_file(os.path.expanduser(config))
        return self._log_once.log(LoadReport(**report))

    def reload_files(
        self, only_changed: bool, first: Callable[[], None] | None = None
    ) -> list[tuple[str, LoadReport]]:
        """Load the configuration files again, or those that have changed. An error changes nothing.

        `first` is called when there is none, before any server changes; nothing does if it raises.
        """
        if self._servers is None:
            return []
        reports = cast("list[tuple[Any, Any]]", self._servers.reload_files(only_changed, first))
        return [(os.fspath(path), LoadReport(**report)) for path, report in reports]

    def add(self, id: str, entry: Mapping[str, Any], auth: Any, options: Mapping[str, Any]) -> list[str]:
        """Add a server from the keys of a configuration file; see `ToolHub.add_server`."""
        given: dict[str, Any] = {**entry, "toolhub": dict(options) or None}
        asks_for = "token" if callable(auth) else None
        if callable(headers := given["headers"]):
            if auth is not None:
                raise ValueError("headers is a function, so it also returns Authorization: leave out auth")
            self._callbacks.headers[id], given["headers"], asks_for = headers, None, "headers"
        if isinstance(args := given["args"], Iterable) and not isinstance(args, str | bytes):
            texts = cast("Iterable[Any]", args)
            given["args"] = [os.fspath(one) if hasattr(one, "__fspath__") else one for one in texts]
        for key, checked in (("args", check_texts), ("env", check_mapping), ("headers", check_mapping)):
            if given[key] is not None:
                given[key] = checked(key, given[key])
        if given["cwd"] is not None:
            given["cwd"] = os.fspath(given["cwd"])
        known = {key: value for key, value in given.items() if value is not None}
        if callable(auth):
            self._callbacks.tokens[id] = auth
        elif auth is not None:
            known["auth"] = auth
        return self.open().add(id, known, asks_for)

    def host(self, id: str, mcp: Any, options: Mapping[str, Any]) -> list[str]:
        """Add a server that is an object of this process; see `ToolHub.add_fastmcp`."""
        from ._hosted import HostedServer

        entry = {"toolhub": dict(options)} if options else {}
        host, warnings = _core.add_in_process(self.open(), id, entry)
        HostedServer(mcp, host).start()
        return warnings

    def remove(self, id: str) -> bool:
        """See `ToolHub.remove_server`."""
        if self._servers is not None and self._servers.remove(id):
            return True
        _log.warning("%s", self._core.unknown_server(id))
        return False

    def rows(self) -> list[dict[str, Any]]:
        """All servers, as the core has them."""
        return [] if self._servers is None else self._servers.rows()

    async def connect(
        self,
        ids: Iterable[str] | None,
        timeout: float | None,
        progress: Callable[[str, ToolError | None], Any] | None,
        at_once: int = 16,
        refresh: bool = False,
    ) -> ConnectReport:
        """See `ToolHub.connect`, and `ToolHub.refresh`."""
        timeout = if_given(check_seconds, "timeout", timeout)
        if_given(check_callable, "progress", progress)
        servers = self.named(ids)
        if servers is None:
            return ConnectReport()
        report = ConnectReport()
        # Without someone who watches, they are in the given order.
        outcomes: Any = servers.connect(as_ids(ids), timeout, refresh, None if progress is None else at_once)
        try:
            async for id, error in outcomes:
                if error is None:
                    report.connected.append(id)
                else:
                    report.failed[id] = error
                reported = None if progress is None else progress(id, error)
                if inspect.isawaitable(reported):
                    await reported
        finally:
            outcomes.close()
        return report

    def take_never_listed(self) -> list[str]:
        """The servers that have never listed their tools; each is returned once."""
        return [] if self._servers is None else self._servers.take_never_listed()

    async def catch_up(self, results: Iterable[ToolResult]) -> None:
        """Wait until changes that were announced during these calls are in the lists of their servers."""
        if self._servers is None:
            return
        attempts = (attempt for result in results for attempt in result.meta.get("attempts") or ())
        ids = [id for id in dict.fromkeys(attempt.get("server") for attempt in attempts) if id is not None]
        if ids:
            await cast("Any", self._servers.catch_up(ids))

    def close(self) -> None:
        """End all servers and wait for it."""
        servers, self._servers = self._servers, None
        if servers is not None:
            servers.close(_lifecycle.patience(_CLOSE_TIMEOUT, 0.5))
        self._callbacks.stop()

    async def aclose(self) -> None:
        """`close`, for async code."""
        servers, self._servers = self._servers, None
        if servers is not None:
            await servers.aclose(_lifecycle.patience(_CLOSE_TIMEOUT, 0.5))
        self._callbacks.stop()

    def named(self, ids: Iterable[str] | None) -> "_core.Servers | None":
        """The servers of the core; None if there are none and the caller names none."""
        self._state.require_open()
        return None if self._servers is None and ids is None else self.open()

    def open(self) -> "_core.Servers":
        """The servers of the core, with the threads that answer them."""
        self._state.require_open()
        self._callbacks.start()
        return self.made()

    def made(self) -> "_core.Servers":
        """The servers of the core, perhaps none yet."""
        if self._servers is None:
            given = self._token_file
            path = _core.usual_token_file() if isinstance(given, Default) else given
            self._servers = _core.Servers(
                self._core,
                self._callbacks.queue,
                self._callbacks.known,
                None if path is None else os.path.expanduser(path),
            )
        return self._servers


def as_ids(ids: Iterable[str] | None) -> list[str] | None:
    """The ids that a caller names: None for all, one as a text, or several."""
    if ids is None:
        return None
    return [ids] if isinstance(ids, str) else list(ids)


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
                _log.warning("The tools of server %r are missing: %s", id, error)

        show()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._timeout):
                    await self._servers.connect(ids, None, progress, at_once=len(ids))
        finally:
            line.clear()
        if waiting:
            names = ", ".join(repr(id) for id in waiting)
            _log.warning("Still waiting for the tools of %s after %g s.", names, self._timeout)
