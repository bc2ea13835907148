"""The threads in which sync functions of the user run: tools and callbacks.

The loop of a worker is Python on purpose: CPython up to 3.13 ends daemon threads at exit by unwinding their stack, and
through Rust frames that would abort the process.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, cast

from . import _core

_threads: set[threading.Thread] = set()


def _work(worker: "_core.Worker") -> None:
    # Another thread may set an exception in this one: the call that runs is lost, and the core starts another thread.
    try:
        with contextlib.suppress(BaseException):
            _serve(worker)
    finally:
        worker.ended()
        _threads.discard(threading.current_thread())


def _serve(worker: "_core.Worker") -> None:
    """Run calls until the thread should end."""
    take = cast("Callable[[], Any]", worker.next)
    while (job := take()) is not None:
        (run, *call), kwargs = job
        try:
            value = run(*call, **kwargs)
        except BaseException as error:
            worker.raised(error)
        else:
            worker.returned(value)
        # An idle worker must not keep the last call's objects alive.
        job = run = call = kwargs = value = None


def start_worker(worker: "_core.Worker", name: str) -> None:
    """Called by the core when calls wait and no worker is free."""
    thread = threading.Thread(target=_work, args=(worker,), name=name, daemon=True)
    _threads.add(thread)
    try:
        thread.start()
    except BaseException:
        _threads.discard(thread)
        raise


def stop(seconds: float) -> None:
    """End the workers; one that is stuck in a function is left behind after `seconds`."""
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
