"""The background event loop on which blocking calls run, one for the process, started at first need."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

from . import _core

_lock = threading.Lock()
_thread: threading.Thread | None = None
_loop: asyncio.AbstractEventLoop | None = None
_port: _core.LoopPort | None = None


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on the background loop and wait for it; Ctrl-C cancels it."""
    if _thread is threading.current_thread():
        coroutine.close()
        raise RuntimeError(
            "a blocking call inside an async tool that itself runs in a blocking call would wait for itself; "
            "use 'await hub.execute(...)' there"
        )
    return _core.run_blocking(_port or _start(), coroutine)


def _start() -> _core.LoopPort:
    global _thread, _loop, _port
    with _lock:
        if _port is None:
            loop = asyncio.new_event_loop()
            ready = threading.Event()

            def main() -> None:
                asyncio.set_event_loop(loop)
                try:
                    loop.run_forever()
                finally:
                    _cancel_all(loop)
                    loop.close()

            async def open_port() -> None:
                global _port
                _port = _core.loop_port()
                ready.set()

            opening = loop.create_task(open_port())
            _thread = threading.Thread(target=main, name="toolhub-loop", daemon=True)
            _loop = loop
            _thread.start()
            ready.wait()
            del opening
        assert _port is not None
        return _port


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=1.0))


def stop(seconds: float) -> None:
    """End the loop and its thread; a loop that a tool blocks is left behind after `seconds`."""
    global _thread, _loop, _port
    with _lock:
        thread, loop = _thread, _loop
        _thread = _loop = _port = None
    if loop is not None and thread is not None:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(seconds)


def forget() -> None:
    """In the child of a fork neither thread nor loop exist."""
    global _thread, _loop, _port, _lock
    _lock = threading.Lock()
    _thread = _loop = _port = None
