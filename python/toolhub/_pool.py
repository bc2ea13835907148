"""The threads in which sync tools run.

The loop of a worker is Python on purpose: CPython up to 3.13 ends daemon threads at exit by unwinding their stack, and
through Rust frames that would abort the process.
"""

import threading
import time
from typing import Any, cast

from . import _core

_threads: set[threading.Thread] = set()


def _work() -> None:
    value: Any
    while (job := cast("Any", _core.next_job())) is not None:
        (run, *call), kwargs, end = job
        try:
            value = run(*call, **kwargs)
        except BaseException as error:
            # Keep this frame out of the tool's traceback.
            error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
            end.raised(error)
        else:
            end.returned(value)
        # An idle worker must not keep the last call's objects alive.
        job = run = call = kwargs = end = value = None
    _threads.discard(threading.current_thread())


def start_worker() -> None:
    """Called by the core when work waits and no worker is free."""
    thread = threading.Thread(target=_work, name="toolhub-sync", daemon=True)
    _threads.add(thread)
    try:
        thread.start()
    except BaseException:
        _threads.discard(thread)
        raise


def stop(seconds: float) -> None:
    """End the workers; one that is stuck in a tool is left behind after `seconds`."""
    _core.stop_workers()
    end = time.monotonic() + seconds
    for thread in list(_threads):
        # Another thread may just be about to start one.
        if thread.is_alive():
            thread.join(max(0.0, end - time.monotonic()))
    _threads.clear()


def forget() -> None:
    """In the child of a fork the threads do not exist."""
    _threads.clear()
