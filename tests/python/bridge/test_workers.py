"""No exception ends a worker, and the threads of calls that were given up starve no other tool."""

import asyncio
import ctypes
import dataclasses
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

from bridge.kit import Blocked, World, in_thread, pool_at_rest
from toolhub import ErrorKind, ToolHub, _core, _pool

pytestmark = pytest.mark.usefixtures("pool")

WORKERS = 32
ABANDONED = 256


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    """An exception that refuses every assignment, its traceback included."""

    code: int = 7


class ReadOnlyTraceback(Exception):
    @property
    def __traceback__(self) -> Any:  # type: ignore[override]
        return None


class HostileTraceback(Exception):
    @property
    def __traceback__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("no traceback for you")

    @__traceback__.setter
    def __traceback__(self, value: Any) -> None:
        raise RuntimeError("no traceback for you")


class HostileSetattr(Exception):
    def __setattr__(self, name: str, value: Any) -> None:
        raise SystemExit(name)

    def __getattribute__(self, name: str) -> Any:
        if name == "__traceback__":
            raise KeyboardInterrupt(name)
        return super().__getattribute__(name)


HOSTILE = [Frozen, ReadOnlyTraceback, HostileTraceback, HostileSetattr]


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub(limits={"breaker_threshold": 0})
    hub.register(in_thread)
    return hub


def raising(error: type[BaseException]) -> Callable[[], str]:
    def raises() -> str:
        raise error()

    return raises


@pytest.mark.parametrize("error", HOSTILE)
def test_an_exception_that_cannot_be_changed_is_a_failure_of_its_tool(
    hub: ToolHub, world: World, error: type[BaseException]
) -> None:
    hub.register(raising(error), name="raises")

    async def main() -> None:
        before = _core.pool_state()[0]
        for _ in range(3):
            result = await hub.execute("raises", timeout=20)
            assert result.kind is ErrorKind.TOOL_ERROR
            assert type(result.exception) is error
        assert (await hub.execute("in_thread")).success
        assert _core.pool_state()[0] <= max(before, 2)

    world.run(main())


@pytest.mark.parametrize("error", HOSTILE)
def test_the_same_exceptions_in_a_race_and_in_blocking_calls(
    hub: ToolHub, error: type[BaseException]
) -> None:
    for server in "ab":
        hub.register(raising(error), name="race", source="mcps", server=server, read_only=True)
    assert hub.call("race", strategy="first", timeout=20).kind is ErrorKind.TOOL_ERROR
    assert hub.call("race", strategy="all", timeout=20).kind is ErrorKind.TOOL_ERROR


def _raise_in(thread: int, error: type[BaseException]) -> None:
    assert ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error)) == 1


def test_an_exception_from_outside_ends_the_call_and_not_the_worker(hub: ToolHub, world: World) -> None:
    began = threading.Event()
    idents: list[int] = []

    def spins() -> str:
        idents.append(threading.get_ident())
        began.set()
        while True:
            pass

    hub.register(spins)

    async def main() -> None:
        call = asyncio.create_task(hub.execute("spins", timeout=30))
        await asyncio.to_thread(began.wait)
        _raise_in(idents[0], SystemExit)
        result = await call
        assert result.kind is ErrorKind.TOOL_ERROR
        assert all(await asyncio.gather(*[hub.execute("in_thread") for _ in range(WORKERS)]))

    world.run(main())


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, ValueError])
def test_exceptions_that_hit_a_worker_between_its_calls(hub: ToolHub, error: type[BaseException]) -> None:
    """The exception is set while a worker is idle, so it hits its loop when the next call comes. Every call ends."""
    hub.register(threading.get_ident, name="ident")
    _core.stop_workers()  # those of other tests may have a trace function, in which the exceptions would be raised

    async def main() -> None:
        for _ in range(20):
            idents = [await hub.execute("ident", timeout=20) for _ in range(4)]
            for one in idents:
                if one.success:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(one.result), ctypes.py_object(error)
                    )
            ended = await asyncio.gather(*[hub.execute("in_thread", timeout=20) for _ in range(8)])
            assert {str(one.error) for one in ended if one.kind not in (None, ErrorKind.TOOL_ERROR)} == set()
        for _ in range(WORKERS):
            if all(await asyncio.gather(*[hub.execute("in_thread", timeout=20) for _ in range(2 * WORKERS)])):
                return
        raise AssertionError("exceptions that were set once are raised again and again")

    asyncio.run(main())
    assert pool_at_rest()[0] <= WORKERS


def test_a_worker_that_ends_takes_no_call_with_it(hub: ToolHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ends the thread: its call ends at once, and another worker takes its place."""
    hits, real = iter(range(3)), _pool._serve

    def ends_at_once(worker: Any) -> None:
        if next(hits, None) is None:
            return real(worker)
        assert worker.next() is not None

    monkeypatch.setattr(_pool, "_serve", ends_at_once)
    _core.stop_workers()

    async def main() -> None:
        results = await asyncio.gather(*[hub.execute("in_thread", timeout=20) for _ in range(40)])
        lost = [result for result in results if not result.success]
        assert len(lost) == 3
        assert all("thread of this call ended" in str(result.error) for result in lost)
        assert all(result.meta["error"]["outcome"] == "unknown" for result in lost)
        assert all(await asyncio.gather(*[hub.execute("in_thread", timeout=20) for _ in range(100)]))

    asyncio.run(main())


def test_abandoned_threads_starve_no_other_tool(hub: ToolHub) -> None:
    blocked = Blocked()
    hub.register(blocked, name="blocked")

    async def main() -> None:
        waves = [await _abandon(hub, blocked, WORKERS) for _ in range(ABANDONED // WORKERS + 2)]
        kinds = {kind for wave in waves for kind in wave}
        assert kinds == {"cancelled", ErrorKind.OVERLOADED}
        # The tool whose calls hang is refused, with the reason; every other tool runs.
        refused = await hub.execute("blocked", timeout=20)
        assert refused.kind is ErrorKind.OVERLOADED
        assert "still run" in refused.error
        assert refused.meta["error"]["outcome"] == "not_sent"
        assert all(await asyncio.gather(*[hub.execute("in_thread", timeout=20) for _ in range(100)]))
        assert hub.stats()["blocked"][0]["abandoned"] >= ABANDONED

    try:
        asyncio.run(main())
        assert len(os.listdir("/proc/self/task")) < ABANDONED + 3 * WORKERS + 20
    finally:
        blocked.released.set()
    pool_at_rest()
    assert hub.call("blocked").success


async def _abandon(hub: ToolHub, blocked: Blocked, count: int) -> list[Any]:
    """Start calls, cancel them when each has begun or was refused, and give how each ended."""
    calls = [asyncio.create_task(hub.execute("blocked", timeout=60)) for _ in range(count)]
    begun = 0
    while begun + sum(call.done() for call in calls) < count:
        begun += blocked.began.acquire(blocking=False)
        await asyncio.sleep(0)
    for call in calls:
        call.cancel()
    ended = await asyncio.gather(*calls, return_exceptions=True)
    return ["cancelled" if isinstance(one, asyncio.CancelledError) else one.kind for one in ended]  # type: ignore[union-attr]


@pytest.mark.parametrize("rounds", [20])
def test_nested_calls_that_time_out_and_instant_ones_after_them(hub: ToolHub, rounds: int) -> None:
    """Workers come back from abandoned calls while others are woken: no wake-up is lost on one that retires."""
    nested_calls_then_instant_ones(hub, rounds)


def nested_calls_then_instant_ones(hub: ToolHub, rounds: int) -> None:
    release = threading.Event()

    def inner() -> str:
        release.wait(20)
        return "inner"

    def outer() -> str:
        return str(hub.call("inner", timeout=20).result)

    hub.register(inner)
    hub.register(outer)

    async def main() -> None:
        for _ in range(rounds):
            release.clear()
            late = [hub.execute("outer", timeout=0.001 * n) for n in range(1, 21)]
            late_ones = asyncio.gather(*late)
            await asyncio.sleep(0)
            release.set()
            instant = await asyncio.gather(*[hub.execute("in_thread", timeout=20) for _ in range(40)])
            assert all(instant), [one.error for one in instant if not one.success]
            await late_ones

    asyncio.run(main())
