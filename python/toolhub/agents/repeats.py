"""Models that go in circles: the same calls in the same order, with the same results."""

import hashlib
from collections.abc import Iterable
from typing import Any

_LONGEST = 4
"""The number of calls in the longest circle that is recognised."""

_KEPT = 100
"""The number of the last calls that are remembered."""


class RepeatedCalls:
    """The last calls of a run, and how often they went in a circle. A polling loop is none, as long as its results change.

    >>> calls = RepeatedCalls()
    >>> for call in "ABABAB":
    ...     calls.add(call)
    >>> calls.circle("A"), calls.circle("C")
    ((2, 2), (0, 0))
    """

    def __init__(self, kept: Iterable[Any] = ()) -> None:
        self.entries: list[list[str | None]] = [list(entry) for entry in kept]

    def add(self, call: str) -> None:
        """A call is made; its result is not known yet."""
        self.entries.append([call, None])
        del self.entries[:-_KEPT]

    def refused(self) -> None:
        """The last call is not made, so it has no result to compare."""
        self.entries[-1][1] = ""

    def ended(self, call: str, result: str) -> None:
        """The first call of this kind without a result has this one."""
        for entry in self.entries:
            if entry == [call, None]:
                entry[1] = hashlib.sha256(result.encode("utf-8", "replace")).hexdigest()[:16]
                return

    def circle(self, call: str) -> tuple[int, int]:
        """How often the calls before this one repeat themselves with it, and how many they are; (0, 0) if they do not."""
        row = [*self.entries, [call, None]]
        best = (0, 0)
        for length in range(2, _LONGEST + 1):
            if len({entry[0] for entry in row[-length:]}) > 1:
                rounds = _alike(row, length) // length
                best = max(best, (rounds, length)) if rounds else best
        return best


def _alike(row: list[list[str | None]], length: int) -> int:
    """How many of the last calls are those that were made `length` calls before them, with the same results."""
    for count, at in enumerate(range(len(row) - 1, length - 1, -1)):
        (call, result), (before, known) = row[at], row[at - length]
        if call != before or (result and known and result != known):
            return count
    return max(0, len(row) - length)
