"""The options of serving in configuration files, applied again while the hub is served."""

import logging
from collections.abc import Callable
from typing import Any

from .. import _background
from .._core import Gateway
from ._serve_options import gateway_options

_log = logging.getLogger("toolhub.serving")

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
