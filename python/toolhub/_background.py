"""The background event loops on which blocking calls run, started at first need.

Each calling thread has a loop of its own, so an async tool that blocks its loop delays no other caller. A thread gets the
same loop each time: what its tools keep from one call to the next (connections, locks) is bound to that loop. The loops
of threads that have ended are used again.

When no hub is open, a loop on which nothing is left gives up its thread. The loop itself stays, because tools may have kept
it, and goes on in a new thread with the next call.
"""

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from . import _core
from ._lazy import asyncio

# How long tools may clean up at interpreter exit: a share of what `stop` is given, so that it can see the end.
_GRACE = 0.8
# A loop costs a thread and four file descriptors. With more callers at a time than this, several share one.
_MOST_LOOPS = 64
# A call inside an async tool blocks the loop of that tool, so it cannot share one: that might wait for it in turn.
_MOST_NESTED = 256
# Loops without a caller that are kept for the next thread.
_SPARE_LOOPS = 4
# Looks of the core at its own idle threads, for one look at a loop.
_LOOKS = 3


class _Loop:
    """An event loop in a thread of ours."""

    bridge: _core.LoopBridge
    thread: threading.Thread | None = None
    _own_files = 0

    def __init__(self) -> None:
        self.owner = threading.current_thread()
        self.callers = 0
        self.calls = 0
        self.watched = False
        self.stopped = False
        self.grace = _GRACE
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()

        async def open_bridge() -> None:
            self.bridge = _core.current_bridge()
            self._own_files = self._files()
            ready.set()

        opening = self.loop.create_task(open_bridge())
        try:
            self.start()
        except RuntimeError:  # the system has no thread for us
            opening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                self.loop.run_until_complete(opening)
            self.loop.close()
            raise
        ready.wait()
        self.watch()
        del opening

    def start(self) -> None:
        thread = threading.Thread(target=self._serve, name="toolhub-loop", daemon=True)
        thread.start()
        self.thread = thread

    def stop(self, grace: float = _GRACE) -> None:
        self.grace = grace
        self.stopped = True
        if self.thread is None:
            self.loop.close()
        else:
            self.loop.call_soon_threadsafe(self.loop.stop)

    def is_spare(self) -> bool:
        return self.callers == 0 and not self.owner.is_alive()

    def watch(self) -> None:
        """Look from time to time whether the thread is needed, until a hub is open."""
        if not self.watched:
            self.watched = True
            self.loop.call_soon_threadsafe(self._look, -1)

    def _look(self, calls: int) -> None:
        with _lock:
            if _core.open_hubs():
                self.watched = False
                return
            # If a call comes meanwhile, the loop goes on, and so do the looks.
            self.loop.call_later(_LOOKS * _core.idle_look(), self._look, self.calls)
            if calls == self.calls and self._is_idle():
                self.loop.stop()

    def _is_idle(self) -> bool:
        """No hub is open, nobody calls, and tools have left nothing on the loop: tasks, connections, timers."""
        if self.callers or _core.open_hubs() or not self.watched or asyncio.all_tasks(self.loop):
            return False
        loop: Any = self.loop
        try:
            timers = [timer for timer in loop._scheduled if not timer.cancelled()]
            owners = [getattr(timer._callback, "__self__", None) for timer in timers]
            left = bool(loop._ready or loop._asyncgens) or self._files() != self._own_files
        except AttributeError:  # a loop that does not show what is on it
            return False
        return not left and self._own_files > 0 and all(one is self or one is self.bridge for one in owners)

    def _files(self) -> int:
        """How many files the loop watches; 0 if it does not tell."""
        selector: Any = getattr(self.loop, "_selector", None)
        return len(selector.get_map()) if hasattr(selector, "get_map") else 0

    def _serve(self) -> None:
        _here.loop = self
        asyncio.set_event_loop(self.loop)
        rests = False
        try:
            while not self.stopped and not rests:
                # A task that a tool has left behind may raise SystemExit, which asyncio lets through. The others go on.
                with contextlib.suppress(SystemExit, KeyboardInterrupt):
                    self.loop.run_forever()
                rests = self._gives_up_thread()
        finally:
            if not rests:
                with contextlib.suppress(SystemExit, KeyboardInterrupt):
                    _cancel_all(self.loop, self.grace)
                self.loop.close()

    def _gives_up_thread(self) -> bool:
        with _lock:
            if self.stopped or not self._is_idle():
                return False
            if self.is_spare():
                _loops.remove(self)
                self.stopped = True
                return False
            self.thread = None
            return True


class _Here(threading.local):
    """The loop that runs in this thread, if it is one of ours, and the loop that this thread called last."""

    loop: _Loop | None = None
    called: _Loop | None = None


_here = _Here()
_lock = threading.RLock()  # a signal handler may make a call while this thread holds it
_loops: list[_Loop] = []
_stopped = False
# What runs on the event loop of a thread, and has to leave it before a blocking call stops that loop.
_leaving: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[Callable[[], None]]]" = (
    weakref.WeakKeyDictionary()
)


def before_blocking(loop: "asyncio.AbstractEventLoop", leave: Callable[[], None]) -> None:
    """Call `leave`, once, before a blocking call in the thread of this loop."""
    _leaving.setdefault(loop, []).append(leave)


def run(
    coroutine: Coroutine[Any, Any, Any],
    scope: _core.CallScope | None = None,
    function: _core.ThreadedFunction | None = None,
) -> Any:
    """Run a coroutine on the loop of this thread and wait for it; Ctrl-C cancels it.

    With `scope` and `function`, the end of that call, or of the wait of that function's caller, cancels it too.
    """
    # A thread that runs a loop stops it while it waits here, as a cell of a notebook does.
    if _leaving and (running := asyncio._get_running_loop()) is not None:  # pyright: ignore[reportPrivateUsage]
        for leave in _leaving.pop(running, ()):
            leave()
    return run_beside(coroutine, scope, function)


def run_beside(
    coroutine: Coroutine[Any, Any, Any],
    scope: _core.CallScope | None = None,
    function: _core.ThreadedFunction | None = None,
) -> Any:
    """`run`, for a coroutine that needs nothing of a loop that runs in this thread."""
    try:
        loop = _acquire()
    except BaseException:
        coroutine.close()
        raise
    try:
        return _core.run_blocking(loop.bridge, coroutine, scope, function)
    except asyncio.CancelledError:
        if _stopped:
            _refuse()
        raise
    finally:
        _release(loop)


@contextlib.contextmanager
def lent_loop() -> Generator[Callable[[], _core.LoopBridge]]:
    """A function that gives the bridge of the loop of this thread, which is taken at the first call until the block ends."""
    taken: list[_Loop] = []

    def bridge() -> _core.LoopBridge:
        if not taken:
            taken.append(_acquire())
        return taken[0].bridge

    try:
        yield bridge
    finally:
        for loop in taken:
            _release(loop)


def _acquire() -> _Loop:
    """The loop of this thread, one of a thread that has ended, a new one, or, if there are too many, a shared one."""
    me, nested = threading.current_thread(), _here.loop is not None
    with _lock:
        if _stopped:
            _refuse()
        last = _here.called
        if last is not None and last.owner is me and last.callers == 0 and last.thread is not None:
            last.callers = 1
            last.calls += 1
            return last
        loop = next((one for one in _loops if one.owner is me and one.callers == 0), None)
        loop = loop or next((one for one in _loops if one.is_spare()), None)
        if loop is None and len(_loops) < (_MOST_NESTED if nested else _MOST_LOOPS):
            loop = _Loop()
            _loops.append(loop)
        if loop is None and nested:
            raise RecursionError(
                f"{_MOST_NESTED} event loops wait for blocking calls inside async tools; "
                "use 'await hub.execute(...)' there"
            )
        loop = loop or min(_loops, key=lambda one: one.callers)
        if loop.thread is None:
            loop.start()
        if loop.callers == 0:
            loop.owner = me
            _here.called = loop
        loop.callers += 1
        loop.calls += 1
        return loop


def _release(loop: _Loop) -> None:
    with _lock:
        loop.callers -= 1
        spare = [one for one in _loops if one.is_spare()] if len(_loops) > _SPARE_LOOPS else []
        # What a tool has left running on its loop goes on.
        retired = [one for one in spare[_SPARE_LOOPS:] if not asyncio.all_tasks(one.loop)]
        for one in retired:
            _loops.remove(one)
            one.stop()


def _refuse() -> None:
    """The interpreter is exiting: only it and daemon threads are left."""
    if threading.current_thread() is threading.main_thread():
        raise RuntimeError("toolhub has stopped because the interpreter is exiting; call tools before that")
    # Ends the daemon thread silently, as the interpreter is about to do.
    raise SystemExit


def _cancel_all(loop: "asyncio.AbstractEventLoop", grace: float) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=grace))
    loop.run_until_complete(loop.shutdown_asyncgens())


def rest() -> None:
    """A hub was closed. If it was the last one, the threads of loops on which nothing runs end soon."""
    if _loops and not _core.open_hubs():
        with _lock:
            for loop in _loops:
                loop.watch()


def stop(seconds: float) -> None:
    """At interpreter exit: end the loops and their threads; a loop that a tool blocks is left behind after `seconds`."""
    global _stopped
    with _lock:
        loops, _loops[:] = _loops[:], []
        _stopped = True
        for loop in loops:
            loop.stop(seconds * _GRACE)
    end = time.monotonic() + seconds
    for loop in loops:
        if loop.thread is not None:
            loop.thread.join(max(0.0, end - time.monotonic()))


def forget() -> None:
    """In the child of a fork neither threads nor loops exist."""
    global _lock, _stopped
    _lock = threading.RLock()
    _loops.clear()
    _here.loop = _here.called = None
    _stopped = False


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


def blocking(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, R]], name: str | None = None
) -> Callable[Concatenate[S, P], R]:
    """The blocking twin of an async method, named `<method>_sync` unless `name` is given.

    It waits for the result, also inside a running event loop. A subclass that overrides the async method changes both, and
    a class that waits in its own way has `_wait`.

    >>> class Door:
    ...     async def open(self, how: str = "slowly") -> str:
    ...         return f"opened {how}"
    ...     open_sync = blocking(open)
    >>> Door().open_sync(), Door.open_sync.__name__
    ('opened slowly', 'open_sync')
    """
    original = method.__name__

    @wraps(method)
    def twin(self: Any, *args: Any, **kwargs: Any) -> Any:
        wait = getattr(self, "_wait", run)
        return wait(getattr(self, original)(*args, **kwargs))

    twin.__name__ = name or f"{original}_sync"
    twin.__doc__ = f"`{original}`, blocking."
    return twin
