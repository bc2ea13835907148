"""The beginning and the end of the process: forks and interpreter exit.

Everything is stopped while the interpreter is still whole. What hangs is left behind after a bounded time; an exit is
never held up by a tool. A process that was asked to end within some seconds (`serve` and its `grace`) keeps to them: what still
runs then has ignored its cancellation already.

Loops and workers are Python modules that import asyncio or threading. They are looked up, not imported: `toolhub list` needs
neither, and nothing may be imported after a fork.
"""

import atexit
import os
import sys
import time

from . import _core

_PATIENCE = 1.0
_LEAST = 0.02
_PARTS = (f"{__package__}._background", f"{__package__}._pool")

_deadline: float | None = None


def end_within(seconds: float | None) -> None:
    """The process was asked to end within these seconds; None: it was not, or goes on."""
    global _deadline
    _deadline = None if seconds is None else time.monotonic() + seconds


def patience(seconds: float, share: float = 0.1) -> float:
    """How long a step of the end may take: at most these seconds, and a share of what is left if the process shall end."""
    if _deadline is None:
        return seconds
    return min(seconds, max(_LEAST, (_deadline - time.monotonic()) * share))


def _stop() -> None:
    for part in _PARTS:
        # A module that another thread is importing has no function yet, and nothing to stop.
        if (stop := getattr(sys.modules.get(part), "stop", None)) is not None:
            stop(patience(_PATIENCE))
    # It takes up to eight times that, if servers and stores hang.
    _core.shutdown_runtime(patience(_PATIENCE, 0.05))


def _before_fork() -> None:
    if (threads := sys.modules.get("threading")) and threads.active_count() > 1:
        # In the child, a module that another thread was importing stays locked. Such imports end first, and what a first call
        # imports is imported now. A copy of the names: those threads add modules meanwhile.
        ours = [name for name in list(sys.modules) if name.partition(".")[0] == __package__]
        for name in (*_PARTS, *ours):
            __import__(name)
    _core.before_fork()


def _forget_after_fork() -> None:
    # Nothing may be imported here: another thread may have been importing it, and does not exist any more.
    _core.after_fork_in_child()
    for part in _PARTS:
        if (forget := getattr(sys.modules.get(part), "forget", None)) is not None:
            forget()


def install() -> None:
    """Called once, when toolhub is imported."""
    atexit.register(_stop)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_before_fork, after_in_parent=_core.after_fork_in_parent, after_in_child=_forget_after_fork
        )
