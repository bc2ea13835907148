"""Which tools may be called: patterns of names, and approval for calls that may change something."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from . import _user_functions
from ._checks import check_seconds
from ._core import PatternList, event_error
from ._lazy import asyncio
from ._plain import readable

__all__ = ["Approval", "Approver", "Permissions"]

_log = logging.getLogger("toolhub.route")

PATIENCE = 300.0
"""Seconds that an approval may take."""


@dataclass(frozen=True, slots=True)
class Approval:
    """A call that may change something, to be approved."""

    name: str
    """The tool."""
    arguments: Mapping[str, Any]
    """The arguments that run if it is approved: checked and coerced."""
    id: str
    """The id of the call, as the model gave it or as it was numbered."""
    servers: tuple[str, ...]
    """The MCP servers that may be called."""
    description: str
    """What the tool says of itself; empty when it is not listed yet."""
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What is passed on to the server beside the arguments."""
    programs: tuple[str, ...] = ()
    """The program or the address of each server that may be called: `bank: python bank.py`."""


Approver = Callable[[Approval], Any] | Literal["ask"]
"""Who approves calls: a function that is called with an `Approval`, or `"ask"`, which keeps the question in the store."""


class Permissions:
    """Which tools may be called, and which only after approval.

    `allowed` holds patterns as for file names (`*`, `?`, `[a-z]`, `[!a-z]`): `read_*` matches any tool of such a name,
    `files/*` the tools and skills of the server `files`, `native/*` tools that belong to no server. A pattern that begins with
    `!` forbids, whatever else allows it. None allows everything, an empty list nothing. `approve` is called with an `Approval`
    before a tool runs that is not known to be harmless, or that no server has listed yet; only `True` within `timeout` seconds
    lets it run. `approve="ask"` keeps the question in the store instead: the call ends as `paused`, and runs when it is made
    again after `hub.approve`. Of a list of these, each has to approve; the store is asked last.

    >>> permissions = Permissions(["read_*", "files/*", "!*delete*"])
    >>> [permissions.allows(name, server) for name, server in
    ...  [("read_mail", None), ("write_file", "files"), ("write_file", None), ("delete_file", "files")]]
    [True, True, False, False]
    """

    def __init__(
        self,
        allowed: Iterable[str] | None = None,
        approve: Approver | Sequence[Approver] | None = None,
        timeout: float = PATIENCE,
    ) -> None:
        if isinstance(allowed, str):
            raise TypeError(f"allowed must be a list of patterns, got the text {allowed!r}")
        patterns: list[Any] = ["*"] if allowed is None else list(allowed)
        for pattern in patterns:
            if not isinstance(pattern, str):
                raise TypeError(
                    f"allowed must be a list of patterns of tool names, got {type(pattern).__name__} in it"
                )
        approvers: list[Any] = [] if approve is None else [approve]
        if isinstance(approve, (list, tuple)):
            approvers = list(cast("Sequence[Any]", approve))
        for approver in approvers:
            if isinstance(approver, str) and approver != "ask":
                raise ValueError(f"approve must be a function or 'ask', got {approver!r}")
            if not isinstance(approver, str) and not callable(approver):
                raise TypeError(f"approve must be callable, got {type(approver).__name__}")
        if approve is not None and not approvers:
            raise ValueError("approve must be a function or 'ask', got an empty list")
        self.asks_later = any(isinstance(approver, str) for approver in approvers)
        """Whether the question is kept in the store, and the call ends as paused."""
        self._approve = [approver for approver in approvers if not isinstance(approver, str)]
        self.patterns = PatternList(patterns)
        self.timeout = check_seconds("timeout", timeout, above_zero=True)
        # One question at a time, in the order of the calls.
        self._asking = asyncio.Lock()

    @property
    def asks(self) -> bool:
        """Whether an `approve` callback is set."""
        return bool(self._approve)

    @property
    def names_servers(self) -> bool:
        """Whether a pattern names a server."""
        return self.patterns.names_servers

    def may_allow(self, name: str) -> bool:
        """Whether a tool of this name may be called on some server."""
        return self.patterns.may_allow(name)

    def allows(self, name: str, server: str | None) -> bool:
        """Whether a tool of this name may be called on this server; None means a native tool or skill."""
        return self.patterns.allows(name, server)

    async def ask(self, approval: Approval, within: float | None = None) -> Any:
        """What `approve` answers; `TimeoutError` after `timeout` seconds, or `within` the time that the call has left.

        Of several functions the first answer that is not `True` counts. The store is asked by the core, not by this.
        """
        answer: Any = True
        try:
            async with asyncio.timeout(within), self._asking, asyncio.timeout(self.timeout):
                for approve in self._approve:
                    answer = await _user_functions.call(approve, approval)
                    if answer is not True:
                        break
                return answer
        except Exception as error:
            if not isinstance(error, TimeoutError):
                # The author of the callback has to know why; a model must not.
                why = event_error(f"{type(error).__name__}: {readable(error)}", approval.arguments)
                debug = _log.isEnabledFor(logging.DEBUG)
                _log.warning(
                    "asking for approval of %r failed: %s",
                    approval.name,
                    why,
                    exc_info=error if debug else None,
                )
            raise
