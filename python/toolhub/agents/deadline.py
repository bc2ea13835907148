"""The deadline of a run, and of the runs inside it."""

import time


class Deadline:
    """The seconds that a run may take, and what is left of them. With a `parent` never more than it has left.

    >>> inner = Deadline(60, Deadline(10))
    >>> inner.left(), Deadline(None).left()
    (10, None)
    """

    def __init__(self, seconds: float | None, parent: "Deadline | None" = None) -> None:
        self._seconds = seconds
        self._parent = parent
        self._ends: float | None = None
        """When the run ends that is going on; None without one, or without a limit."""
        self._running = 0

    def start(self, seconds: float | None = None) -> None:
        """A run begins: from now on its time counts, within that of the parent. `seconds`: what a paused run had left."""
        limit = _least(self._seconds, seconds, self._above())
        self._ends = None if limit is None else time.monotonic() + limit
        self._running += 1

    def finish(self) -> None:
        """A run has ended: the next one has all of the time again."""
        self._running -= 1
        if self._running == 0:
            self._ends = None

    def left(self) -> float | None:
        """The seconds that are left, at least 0; all of them while nothing runs. None without a limit."""
        own = self._seconds if self._ends is None else max(0.0, self._ends - time.monotonic())
        return _least(own, self._above())

    def _above(self) -> float | None:
        return None if self._parent is None else self._parent.left()


def _least(*limits: float | None) -> float | None:
    return min((one for one in limits if one is not None), default=None)
