"""What calls have done, and what waits for a decision: the rows that `hub.ledger`, `hub.resume` and `hub.pending` return."""

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from . import _core

if TYPE_CHECKING:
    from .hub import ToolHub

__all__ = ["Decision", "EffectState", "LedgerRow", "PendingApproval", "ResumedRun"]

T = TypeVar("T")
EffectState = Literal["started", "not_sent", "done", "failed", "unknown"]
"""What is known about an effect. `not_sent`: nothing was sent. `unknown`: it may have happened."""

Decision = Literal["done", "failed", "again"]
"""What somebody who has looked says about an effect."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One attempt of a call that may have had effects, written before anything was sent."""

    id: str
    run: str | None
    call: str
    """The attempts of one call have the same."""
    principal: str
    """The caller of a served hub; empty for the program itself."""
    tool: str
    source: str
    server: str | None
    definition: str
    """The hash of the tool's definition."""
    key: str | None
    """The digest of the key: equal for equal calls. None in a row that an older version has written."""
    arguments: str
    """The digest of the canonical arguments, which are not kept themselves."""
    state: EffectState
    error: str | None
    repeatable: bool
    """It failed in a way that proves that nothing happened: its run makes the call again."""
    started_at: float
    """Seconds since 1970."""
    ended_at: float | None
    result: Any = field(default=None)
    """What the call gave, if it belongs to a run."""

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A call that waits for `hub.approve(id)` or `hub.deny(id)`."""

    id: str
    principal: str
    run: str | None
    tool: str
    shown: str
    """The call as a reader sees it."""
    digest: str
    """Of all that the answer is bound to: tool, definition, canonical arguments, run and principal."""
    state: str
    reason: str | None
    asked_at: float
    expires_at: float

    def to_dict(self) -> dict[str, Any]:
        """The question as JSON."""
        return asdict(self)


class ResumedRun:
    """A run that this process has taken; other processes get an error until it is left. Returned by `hub.resume`."""

    def __init__(self, hub: "ToolHub", run: str) -> None:
        self._hub = hub
        self.run = run

    @property
    def rows(self) -> list[LedgerRow]:
        """What the run has done so far, oldest first."""
        return self._hub.ledger(self.run)

    @property
    def unknown(self) -> list[LedgerRow]:
        """What may have happened: `hub.settle` decides about each."""
        return self._hub.ledger(self.run, state="unknown")

    def release(self) -> None:
        """Let other processes have the run."""
        _core.release_run(self._hub._core, self.run)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<ResumedRun {self.run!r}>"


def typed(kind: type[T], found: list[dict[str, Any]]) -> list[T]:
    """What the core has found, as objects of their class."""
    return [kind(**row) for row in found]
