"""The beginning and the end of the process: forks and interpreter exit.

Everything is stopped while the interpreter is still whole. What hangs is left behind after a bounded time; an exit is
never held up by a tool.
"""

import atexit
import os
import sys

from . import _core

_PATIENCE = 1.0


def _loaded(name: str) -> object | None:
    return sys.modules.get(f"toolhub.{name}")


def _stop() -> None:
    # A module that was never imported has nothing to stop.
    if _loaded("_background"):
        from . import _background

        _background.stop(_PATIENCE)
    if _loaded("_pool"):
        from . import _pool

        _pool.stop(_PATIENCE)
    _core.shutdown_runtime(_PATIENCE)


def _forget_after_fork() -> None:
    _core.after_fork_in_child()
    if _loaded("_background"):
        from . import _background

        _background.forget()
    if _loaded("_pool"):
        from . import _pool

        _pool.forget()


def install() -> None:
    """Called once, when toolhub is imported."""
    atexit.register(_stop)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget_after_fork)
