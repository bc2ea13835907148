"""The threads in which sync functions of the user run: tools and callbacks.

The loop of a worker is Python on purpose: CPython up to 3.13 ends daemon threads at exit by unwinding their stack, and
through Rust frames that would abort the process.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, cast

from . import _core

_threads: set[threading.Thread] = set()


def _work(worker: "_core.Worker") -> None:
    # An exception that another thread sets in this one may be raised anywhere. It must not end the loop.
    while True:
        try:
            _serve(worker)
            break
        except BaseException:
            continue
    _threads.discard(threading.current_thread())


def _serve(worker: "_core.Worker") -> None:
    """Run calls until the thread should end."""
    value: Any
    call: Any
    take = cast("Callable[[], Any]", worker.next)
    while (job := take()) is not None:
        (run, *call), kwargs = job
        # The core releases large arguments, so it must be the last to hold them.
        try:
            value = run(*call, **kwargs)
        except BaseException as error:
            job = run = call = kwargs = None
            worker.raised(error)
        else:
            job = run = call = kwargs = None
            worker.returned(value)
        # An idle worker must not keep the last call's objects alive.
        value = None


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
