"""`hub.pins`: the accepted definitions of the tools of servers."""

from typing import Any, cast

from .._unknown_options import explain_unknown_options
from ._servers import ServerManager
from ._state import HubState, Part

Rows = list[dict[str, Any]]  # inside the class, `list` is a method


@explain_unknown_options
class Pins(Part):
    """`hub.pins`: the tools of servers with `pin`, and the definitions that were accepted.

    The first definition is accepted; with a store, the first one ever. A tool whose definition has changed since (its
    `state` is `changed`) is in no list and no prompt, and calls of it are refused, until `accept`.
    """

    _shown_as = "hub.pins"
    _instead = "hub.pins.list()"

    def __init__(self, servers: ServerManager, state: HubState) -> None:
        self._servers = servers
        self._state = state

    def list(self) -> Rows:
        """The tools of servers with `pin`: the accepted definition, and the current one if it differs.

        >>> from toolhub import ToolHub
        >>> ToolHub().pins.list()
        []
        """
        servers = self._servers.named(None)
        return [] if servers is None else cast("Rows", servers.pins())

    def accept(self, server: str, tool: str | None = None) -> int:
        """Accept the changed definition of one tool, or of all tools of a server; returns how many had changed."""
        servers = self._servers.named(None)
        return 0 if servers is None else servers.accept_pin(server, tool)
