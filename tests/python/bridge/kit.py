"""What the bridge's tests share: event loops of every kind, watched, and tools that tell what happened to them."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from toolhub import ToolHub, _core

T = TypeVar("T")

SCRIPTS = Path(__file__).parent / "scripts"


def _no_trace(frame: Any, event: str, argument: Any) -> Any:
    return _no_trace


@contextmanager
def tracing() -> Iterator[None]:
    """A trace function in this thread and in new ones: `await` then takes another way into our awaitables."""
    before = sys.gettrace()
    sys.settrace(_no_trace)
    threading.settrace(_no_trace)
    try:
        yield
    finally:
        threading.settrace(None)  # type: ignore[arg-type]
        sys.settrace(before)


@dataclass
class World:
    """One kind of event loop; `run` is `asyncio.run` on it, with a look at what is left behind."""

    name: str
    new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    traced: bool = False
    eager: bool = False
    safe: bool = False
    """Only documented interfaces of CPython, as with `TOOLHUB_SAFE_BRIDGE=1`."""
    complaints: list[str] = field(default_factory=list[str])

    def open_loop(self) -> asyncio.AbstractEventLoop:
        loop = self.new_loop()
        # As text: the objects themselves would be kept alive.
        loop.set_exception_handler(lambda loop, context: self.complaints.append(str(context)))
        if self.eager:
            loop.set_task_factory(asyncio.eager_task_factory)  # type: ignore[attr-defined]
        return loop

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        with asyncio.Runner(loop_factory=self.open_loop) as runner:
            if not self.traced:
                result = runner.run(self.watch(coroutine))
            else:
                with tracing():
                    result = runner.run(self.watch(coroutine))
        self.check()
        return result

    async def watch(self, coroutine: Coroutine[Any, Any, T]) -> T:
        result = await coroutine
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left behind: {left}"
        bridge = _core.current_bridge()
        assert (bridge.pending_mail, bridge.pending_deadlines) == (0, 0)
        return result

    def check(self) -> None:
        gc.collect(1)  # a complaint comes when its object goes
        assert not self.complaints, self.complaints


class Hanging:
    """An async tool that never ends by itself. Cancelled, it cleans up for some turns of the loop, or until it is released."""

    def __init__(self, hold: asyncio.Event | None = None) -> None:
        self.began = asyncio.Event()
        self.hold = hold
        self.log: list[str] = []

    async def __call__(self) -> str:
        self.log.append("began")
        self.began.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.log.append("cancelled")
            raise
        finally:
            await (turns(3) if self.hold is None else self.hold.wait())
            self.log.append("cleaned")
        return "never"


CLEAN = ["began", "cancelled", "cleaned"]


class Stubborn:
    """An async tool that swallows every cancellation until it is released; then it gives its answer, or raises it."""

    def __init__(self, answer: Any = "late") -> None:
        self.released = asyncio.Event()
        self.began = asyncio.Event()
        self.answer = answer
        self.cancellations = 0
        self.over = False

    async def __call__(self) -> Any:
        self.began.set()
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                self.cancellations += 1
        self.over = True
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Blocked:
    """A sync tool that blocks its thread until it is released."""

    def __init__(self) -> None:
        self.began = threading.Semaphore(0)
        self.released = threading.Event()
        self.runs = 0
        self._counting = threading.Lock()  # without a GIL, `+=` of two threads may count once

    def __call__(self) -> str:
        with self._counting:
            self.runs += 1
        self.began.release()
        self.released.wait()
        return "released"

    async def has_begun(self) -> None:
        await asyncio.to_thread(self.began.acquire)


async def quick() -> str:
    await asyncio.sleep(0)
    return "quick"


async def instant() -> str:
    return "instant"


async def fails() -> str:
    await asyncio.sleep(0)
    raise ValueError("no luck")


def in_thread() -> str:
    return threading.current_thread().name


async def turns(count: int = 10) -> None:
    """Run whatever is ready, for this number of turns of the loop."""
    for _ in range(count):
        await asyncio.sleep(0)


def offer(hub: ToolHub, name: str, *functions: Any, **options: Any) -> None:
    """Register harmless candidates of one name, and no others; their servers are "0", "1", …"""
    hub.unregister(name)
    options.setdefault("read_only", True)
    for number, function in enumerate(functions):
        hub.register(function, name=name, source="mcps", server=str(number), **options)


async def tasks_end() -> None:
    """Wait for all other tasks of this loop."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others)


def pool_at_rest() -> tuple[int, int, int]:
    """Wait until all workers are idle and none is lost; gives the pool's counts."""
    limit = time.monotonic() + 30
    while True:
        workers, idle, lost = _core.pool_state()
        if (workers, 0) == (idle, lost):
            return workers, idle, lost
        assert time.monotonic() < limit, f"the pool does not come to rest: {_core.pool_state()}"
        time.sleep(0.002)


def script(name: str, *arguments: str, options: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Start one of the scripts, with the interpreter and the toolhub of this process."""
    environment = dict(os.environ)
    # The same toolhub, and the helpers of the tests.
    places = [str(Path(_core.__file__).parents[1]), str(SCRIPTS.parents[1])]
    environment["PYTHONPATH"] = os.pathsep.join(places)
    environment.pop("PYTHONWARNINGS", None)
    return subprocess.Popen(
        [sys.executable, *options, str(SCRIPTS / f"{name}.py"), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


@dataclass
class Ended:
    """How a script ended."""

    status: int
    out: str
    err: str


def finish(process: subprocess.Popen[str], seconds: float = 50) -> Ended:
    """Wait for a script's end; one that hangs is killed and fails the test."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"the script hangs\nout: {out}\nerr: {err}") from None
    return Ended(process.returncode, out, err)
