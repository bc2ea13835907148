"""The explanation of what would happen to a call."""

from dataclasses import dataclass

from ._core import Candidate
from ._lazy import shown_as

__all__ = ["Explanation"]


@dataclass(frozen=True)
class Explanation:
    """What a call would do, and why; nothing was called for it.

    `rule` says where the call goes: `auto`, `alias`, `server`, `source`, or `name` for a call by name; `unknown` if its source
    is unknown, `unreadable` if it is not a call at all. `candidates` are in order, `strategy` is how they are called
    (`none` if there are none), `refreshes` are the servers that would be asked for their tools first, and `text` says all
    of it.
    """

    rule: str
    candidates: list[Candidate]
    strategy: str
    text: str
    refreshes: list[str]

    def __str__(self) -> str:
        return self.text

    _repr_mimebundle_ = shown_as("of_explanation")
