"""The catalogue: every fault, how it is triggered and what a correct client must do.

``correct`` is the contract; the scenario checks it.  Hard checks (HANG, CRASH,
LEAK, WRONG) decide pass or fail.  Soft checks (VAGUE) only say that the error
does not tell the caller what happened.

``tier``: ``core`` is what any client must survive; ``hub`` is what a hub that
calls itself reliable should also do, though a bare client may not promise it.
"""

from __future__ import annotations

from . import lifecycle, pipes, messages, results, sessions, http, eras  # noqa: F401, I001  the catalogue is in this order
from .catalogue import CASES, SECRET, Case

__all__ = ["CASES", "SECRET", "Case", "select"]


def select(patterns: list[str] | None) -> list[Case]:
    if not patterns:
        return CASES
    return [c for c in CASES if any(p in c.key or p == c.group for p in patterns)]


assert len({c.key for c in CASES}) == len(CASES), "duplicate case"
assert all(c.outcome and c.bound for c in CASES), [c.id for c in CASES if not (c.outcome and c.bound)]
