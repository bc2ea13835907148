"""The beginning and the end of the process: forks and interpreter exit.

Everything is stopped while the interpreter is still whole. What hangs is left behind after a bounded time; an exit is
never held up by a tool.

Loops and workers are Python modules that import asyncio or threading. They are looked up, not imported: `toolhub list` needs
neither, and nothing may be imported after a fork.
"""

import atexit
import os
import sys

from . import _core

_PATIENCE = 1.0
_PARTS = (f"{__package__}._background", f"{__package__}._pool")


def _stop() -> None:
    for part in _PARTS:
        # A module that another thread is importing has no function yet, and nothing to stop.
        if (stop := getattr(sys.modules.get(part), "stop", None)) is not None:
            stop(_PATIENCE)
    _core.shutdown_runtime(_PATIENCE)


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
            before=_core.before_fork,
            after_in_parent=_core.after_fork_in_parent,
            after_in_child=_forget_after_fork,
        )
