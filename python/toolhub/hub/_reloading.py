"""Reloads the configuration of a hub that is served: when a file has changed, and on request."""

import logging
import queue
import threading
from collections.abc import Callable
from typing import Any

from .. import _background, _lifecycle
from .._core import Gateway
from ..exceptions import ToolError
from ..servers import LoadReport
from ._serve_options import gateway_options
from ._servers import ServerManager

_log = logging.getLogger("toolhub.serving")

_LOOK = 0.5
"""Seconds between two looks at the files. A change is loaded when it is seen twice."""
_END = 5.0
"""Seconds that a running reload gets when serving ends."""


class Reloader:
    """A thread that keeps a served hub in step with its configuration files."""

    def __init__(
        self,
        gateway: Gateway,
        servers: ServerManager,
        reload_folders: Callable[[], LoadReport],
        apply_options: Callable[[], None] | None,
    ) -> None:
        self._gateway = gateway
        self._servers = servers
        self._reload_folders = reload_folders
        self._apply_options = apply_options
        # Signal handlers put into it; unlike an Event, it cannot deadlock there.
        self._requests: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="toolhub-reload", daemon=True)

    def __enter__(self) -> "Reloader":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._requests.put(None)
        self._thread.join(_lifecycle.patience(_END))

    def request(self) -> None:
        """Load all files and folders again and open the audit log again, soon. May be called in a signal handler."""
        self._requests.put(self._reload)

    def say(self, text: str) -> None:
        """Log a text, soon. A signal handler must not: the thread that it interrupts may be writing to the same stream."""
        self._requests.put(lambda: _log.info("%s", text))

    def _run(self) -> None:
        while True:
            try:
                request = self._requests.get(timeout=_LOOK)
            except queue.Empty:
                self._guarded(self._files, True)
                continue
            if request is None:
                return
            request()

    def _reload(self) -> None:
        self._guarded(self._gateway.reopen_audit)
        self._guarded(self._files, False)
        self._guarded(self._reload_folders)

    def _files(self, only_changed: bool) -> None:
        try:
            # The options count before the servers: a caller that is let in no more does not see the new ones.
            reports = self._servers.reload_files(only_changed, self._apply_options)
        except (OSError, TypeError, ValueError, ToolError) as error:
            _log.error("the configuration was not reloaded, the old one stays: serve: %s", error)
            return
        for path, report in reports:
            for error in report.errors:
                _log.error("the configuration was not reloaded, the old one stays: %s", error)
            for warning in report.warnings:
                _log.warning("%s", warning)
            if report:
                removed = f", removed {', '.join(report.removed)}" if report.removed else ""
                _log.info("reloaded %s: %d servers%s", path, len(report.loaded), removed)
        if reports:
            self._gateway.list_new_servers()

    @staticmethod
    def _guarded(step: Callable[..., Any], *arguments: Any) -> None:
        """One step that fails must not end the thread; a hub that was closed has nothing to reload."""
        try:
            step(*arguments)
        except ToolError as error:
            _log.error("%s", error)
        except RuntimeError as error:
            _log.debug("%s", error)
        except Exception:
            _log.exception("reloading failed")


_APPLIED = frozenset(
    (
        *("token", "metrics_token", "jwt", "authenticate_timeout", "resource_metadata"),
        *("views", "search_mode", "core"),
        *("max_connections", "max_in_flight", "max_streams", "max_headers", "max_buffered"),
        *("header_timeout", "body_timeout", "write_timeout"),
    )
)
"""Options that a running gateway takes over."""


class ConfiguredOptions:
    """The options of a gateway that come from files."""

    def __init__(
        self, gateway: Gateway, read: Callable[[], dict[str, Any]], begun_with: dict[str, Any]
    ) -> None:
        self._gateway = gateway
        self._read = read
        self._begun_with = begun_with
        self._warned: list[str] = []

    def apply(self) -> None:
        """Read the options again and hand them to the gateway. Raises for a mistake, and then nothing has changed."""
        options = self._read()
        _background.run(self._reload(gateway_options(self._begun_with["path"], options)))
        self._warn(options)

    async def _reload(self, given: dict[str, Any]) -> None:
        reloaded: Any = self._gateway.reload(given)
        await reloaded

    def _warn(self, options: dict[str, Any]) -> None:
        """Name the options that differ from those of the start and need a restart."""
        begun = self._begun_with
        fixed = (options.keys() | begun.keys()) - _APPLIED
        changed = sorted(key for key in fixed if options.get(key) != begun.get(key))
        if changed and changed != self._warned:
            _log.warning("restart to apply the changes of serve: %s", ", ".join(changed))
        self._warned = changed
