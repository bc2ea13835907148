"""The background event loop on which blocking calls run, one for the process, started at first need."""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from typing import Any

from . import _core

# How long tools may clean up at interpreter exit; less than `stop` is given, so that it can see the end.
_GRACE = 0.8

_lock = threading.Lock()
_thread: threading.Thread | None = None
_loop: asyncio.AbstractEventLoop | None = None
_bridge: _core.LoopBridge | None = None
_stopped = False


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on the background loop and wait for it; Ctrl-C cancels it."""
    if _thread is threading.current_thread():
        coroutine.close()
        raise RuntimeError(
            "a blocking call inside an async tool that itself runs in a blocking call would wait for itself; "
            "use 'await hub.execute(...)' there"
        )
    try:
        bridge = _bridge or _start()
    except BaseException:
        coroutine.close()
        raise
    try:
        return _core.run_blocking(bridge, coroutine)
    except asyncio.CancelledError:
        if _stopped:
            _refuse()
        raise


def _start() -> _core.LoopBridge:
    global _thread, _loop
    with _lock:
        if _stopped:
            _refuse()
        if _bridge is None:
            loop = asyncio.new_event_loop()
            ready = threading.Event()

            async def open_bridge() -> None:
                global _bridge
                _bridge = _core.current_bridge()
                ready.set()

            opening = loop.create_task(open_bridge())
            _thread = threading.Thread(target=_serve, args=(loop,), name="toolhub-loop", daemon=True)
            _loop = loop
            _thread.start()
            ready.wait()
            del opening
        assert _bridge is not None
        return _bridge


def _refuse() -> None:
    """The interpreter is exiting: only it and daemon threads are left."""
    if threading.current_thread() is threading.main_thread():
        raise RuntimeError("toolhub has stopped because the interpreter is exiting; call tools before that")
    # Ends the daemon thread silently, as the interpreter is about to do.
    raise SystemExit


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        while not _stopped:
            # A task that a tool has left behind may raise SystemExit, which asyncio lets through. The others go on.
            with contextlib.suppress(SystemExit, KeyboardInterrupt):
                loop.run_forever()
    finally:
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            _cancel_all(loop)
        loop.close()


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=_GRACE))
    loop.run_until_complete(loop.shutdown_asyncgens())


def stop(seconds: float) -> None:
    """At interpreter exit: end the loop and its thread; a loop that a tool blocks is left behind after `seconds`."""
    global _thread, _loop, _bridge, _stopped
    with _lock:
        thread, loop = _thread, _loop
        _thread = _loop = _bridge = None
        _stopped = True
    if loop is not None and thread is not None:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(seconds)


def forget() -> None:
    """In the child of a fork neither thread nor loop exist."""
    global _thread, _loop, _bridge, _lock, _stopped
    _lock = threading.Lock()
    _thread = _loop = _bridge = None
    _stopped = False
