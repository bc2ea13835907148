"""Which tools may be called: patterns of names, and approval for calls that may change something."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from . import _user_functions
from ._checks import check_seconds
from ._core import PatternList, event_error
from ._lazy import asyncio
from ._to_plain import readable

__all__ = ["Approval", "Approve", "Approver", "Permissions"]

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
    id: str | None
    """The id of the call, as the model gave it or as it was numbered; None for a call of the program."""
    servers: tuple[str, ...]
    """The MCP servers that may be called."""
    description: str
    """What the tool says of itself; empty when it is not listed yet."""
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What is passed on to the server beside the arguments."""
    programs: tuple[str, ...] = ()
    """The program or the address of each server that may be called: `bank: python bank.py`."""
    sentence: str | None = None
    """The sentence around a call that may not have been meant, because other text stands around it; None for a sure call."""


Approver = Callable[[Approval], Any] | Literal["ask"]
"""Who is asked about calls: a function that answers an `Approval` with `True` (go), `False` (refuse) or None (ask the next), or
`"ask"`, a person: the question is kept in the store."""

Approve = Approver | Sequence[Approver]
"""`approve=` of a call: one who is asked, or several, one after another until one of them decides."""


class EachApproves(list[Any]):
    """Several `approve=`, each of which has to approve: those of an agent and of the agents around it."""

    heeds_answers = False
    """Whether answers in the store count too, though nobody is asked anew: the agent goes on with a paused state."""


class Permissions:
    """Which tools may be called, and which only after approval.

    `allowed` holds patterns as for file names (`*`, `?`, `[a-z]`, `[!a-z]`): `read_*` matches any tool of such a name,
    `files/*` the tools and skills of the server `files`, `native/*` tools that belong to no server. A pattern that begins with
    `!` forbids, whatever else allows it. None allows everything, an empty list nothing.

    `approve` is asked before a tool runs that is not known to be harmless, or that no server has listed yet. A function is
    called with an `Approval` and answers `True` (go), `False` (refuse) or None (ask the next); an answer of another kind, an
    exception, or no answer within `timeout` seconds refuses. `"ask"` keeps the question in the store: the call ends as
    `paused`, and runs when it is made again after `hub.approve`. The end of a list refuses.

    >>> permissions = Permissions(["read_*", "files/*", "!*delete*"])
    >>> [permissions.allows(name, server) for name, server in
    ...  [("read_mail", None), ("write_file", "files"), ("write_file", None), ("delete_file", "files")]]
    [True, True, False, False]
    """

    def __init__(
        self, allowed: Iterable[str] | None = None, approve: Approve | None = None, timeout: float = PATIENCE
    ) -> None:
        if isinstance(allowed, str):
            raise TypeError(f"allowed must be a list of patterns, got the text {allowed!r}")
        patterns: list[Any] = ["*"] if allowed is None else list(allowed)
        for pattern in patterns:
            if not isinstance(pattern, str):
                raise TypeError(
                    f"allowed must be a list of patterns of tool names, got {type(pattern).__name__} in it"
                )
        lists = approve if isinstance(approve, EachApproves) else [] if approve is None else [approve]
        self._functions: list[Callable[[Approval], Any]] = []
        self.approvers: list[list[int | None]] = [self._checked(one) for one in lists]
        """Lists, each of which has to approve: the number of a function, or None for a person."""
        self.heeds_answers = isinstance(approve, EachApproves) and approve.heeds_answers
        self.patterns = PatternList(patterns)
        self.timeout = check_seconds("timeout", timeout, above_zero=True)
        # One question at a time, in the order of the calls.
        self._asking = asyncio.Lock()

    def _checked(self, approve: Any) -> list[int | None]:
        approvers = list(cast("Sequence[Any]", approve)) if isinstance(approve, (list, tuple)) else [approve]
        if not approvers:
            raise ValueError("approve must be a function or 'ask', got an empty list")
        numbers: list[int | None] = []
        for approver in approvers:
            if isinstance(approver, str):
                if approver != "ask":
                    raise ValueError(f"approve must be a function or 'ask', got {approver!r}")
                numbers.append(None)
                continue
            if not callable(approver):
                raise TypeError(f"approve must be callable, got {type(approver).__name__}")
            numbers.append(len(self._functions))
            self._functions.append(approver)
        return numbers

    @property
    def asked(self) -> list[str]:
        """The names of those who are asked, in their order."""
        numbers = (number for one in self.approvers for number in one)
        return [_name("ask" if number is None else self._functions[number]) for number in numbers]

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

    async def ask(self, number: int, approval: Approval, within: float | None = None) -> Any:
        """What a function answers; `TimeoutError` after `timeout` seconds, or `within` the time that the call has left.

        The core decides what the answer means, and asks the store.
        """
        try:
            async with asyncio.timeout(within), self._asking, asyncio.timeout(self.timeout):
                return await _user_functions.call(self._functions[number], approval)
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


def permissions_of(approve: "Approve | Permissions | None") -> Permissions | None:
    """The permissions of a call with this `approve=`; None if nobody is asked."""
    return approve if approve is None or isinstance(approve, Permissions) else Permissions(None, approve)


def _name(approver: Any) -> str:
    return "'ask'" if approver == "ask" else str(getattr(approver, "__name__", type(approver).__name__))
