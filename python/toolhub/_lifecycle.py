"""The beginning and the end of the process: forks and interpreter exit.

Everything is stopped while the interpreter is still whole. What hangs is left behind after a bounded time; an exit is
never held up by a tool.
"""

import atexit
import os

from . import _background, _core, _pool

_PATIENCE = 1.0


def _stop() -> None:
    _background.stop(_PATIENCE)
    _pool.stop(_PATIENCE)
    _core.shutdown_runtime(_PATIENCE)


def _forget_after_fork() -> None:
    # Nothing may be imported here: another thread may have been importing it, and does not exist any more.
    _core.after_fork_in_child()
    _background.forget()
    _pool.forget()


def install() -> None:
    """Called once, when toolhub is imported."""
    atexit.register(_stop)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_core.before_fork,
            after_in_parent=_core.after_fork_in_parent,
            after_in_child=_forget_after_fork,
        )
