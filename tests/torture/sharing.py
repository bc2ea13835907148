"""Calls that share something: a limit, one execution, a cached answer."""

from __future__ import annotations

import asyncio
import random
import threading
from typing import Any

from toolhub import ToolHub


class Counted:
    """A tool that counts how many of it run at once."""

    def __init__(self, rng: random.Random, is_async: bool) -> None:
        self.rng, self.is_async = rng, is_async
        self.lock = threading.Lock()
        self.inside = self.most = self.runs = 0

    def enter(self) -> None:
        with self.lock:
            self.inside += 1
            self.runs += 1
            self.most = max(self.most, self.inside)

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1

    def tool(self) -> Any:
        async def on_loop(n: int) -> int:
            self.enter()
            try:
                for _ in range(n % 5):
                    await asyncio.sleep(0)
                return n
            finally:
                self.leave()

        def in_thread(n: int) -> int:
            self.enter()
            try:
                threading.Event().wait(0.001 * (n % 3))
                return n
            finally:
                self.leave()

        return on_loop if self.is_async else in_thread


def limits(rng: random.Random) -> None:
    """Never more at once than the limit, whoever is cancelled or late; and everyone else gets through."""
    limit, counted = rng.randint(1, 3), Counted(rng, rng.random() < 0.6)
    hub = ToolHub(limits={"breaker_threshold": 0})
    hub.register(counted.tool(), name="get_counted", max_concurrency=limit, read_only=True)

    async def one(n: int) -> str:
        timeout = rng.choice([0.0005, 30, 30, 30])
        call = asyncio.ensure_future(hub.execute("get_counted", {"n": n}, timeout=timeout))
        if rng.random() < 0.2:
            for _ in range(rng.randrange(4)):
                await asyncio.sleep(0)
            call.cancel()
        try:
            result = await call
        except asyncio.CancelledError:
            return "cancelled"
        assert result.result == n if result.success else result.kind == "timeout", result
        assert result.success or timeout < 1, result
        return "done"

    async def main() -> None:
        await asyncio.gather(*(one(n) for n in range(rng.randint(5, 60))))

    async def afterwards() -> None:
        # The limit is free again: one after another, as many as it takes.
        results = await asyncio.gather(
            *(hub.execute("get_counted", {"n": 1}, timeout=30) for _ in range(limit + 1))
        )
        assert all(result.success for result in results), results

    asyncio.run(main())
    asyncio.run(afterwards())
    assert counted.most <= limit, f"{counted.most} at once, the limit is {limit}"
    assert counted.inside == 0


def single_flight(rng: random.Random) -> None:
    """Identical calls at the same time share one execution; each has its own cancellation and its own copy."""
    hub, runs = ToolHub(limits={"breaker_threshold": 0}), 0
    fails = rng.random() < 0.3

    async def main() -> None:
        nonlocal runs
        released = asyncio.Event()

        async def get_shared(key: int) -> dict[str, list[int]]:
            nonlocal runs
            runs += 1
            await released.wait()
            # Long enough for the others to follow, also after a change of the leader.
            for _ in range(50):
                await asyncio.sleep(0)
            if fails:
                raise ValueError("broken")
            return {"values": [key]}

        hub.register(get_shared, read_only=True)
        count = rng.randint(2, 20)
        calls = [
            asyncio.ensure_future(hub.execute("get_shared", {"key": 1}, single_flight=True, timeout=30))
            for _ in range(count)
        ]
        while runs == 0:
            await asyncio.sleep(0)
        cancelled = set(rng.sample(range(count), rng.randrange(count)))
        for number in cancelled:
            calls[number].cancel()
        for _ in range(rng.randrange(3)):
            await asyncio.sleep(0)
        released.set()
        results = await asyncio.gather(*calls, return_exceptions=True)
        for number, result in enumerate(results):
            if number in cancelled:
                assert isinstance(result, asyncio.CancelledError), result
            else:
                assert not isinstance(result, BaseException), result
                assert result.success != fails, result
                if not fails:
                    assert result.result == {"values": [1]}, result
                    result.result["values"].append(2)  # its own copy
        # A leader that is cancelled hands over: the call is then made once more, not once for each.
        assert runs <= 1 + len(cancelled), f"{runs} runs, {len(cancelled)} cancelled"

    asyncio.run(main())


def cache(rng: random.Random) -> None:
    """A cached answer is the answer, and only good ones of equal arguments are kept."""
    hub, runs = ToolHub(limits={"breaker_threshold": 0}), dict[int, int]()

    def get_cached(key: int) -> dict[str, int]:
        runs[key] = runs.get(key, 0) + 1
        if key == 0:
            raise ValueError("broken")
        return {"key": key, "run": runs[key]}

    hub.register(get_cached, read_only=True)
    seen: set[int] = set()
    for _ in range(40):
        key = rng.randrange(4)
        result = hub.call("get_cached", {"key": key}, cache_ttl=600)
        if key == 0:
            assert not result.success
            assert not result.meta.get("cached")
            continue
        assert result.result == {"key": key, "run": 1}, result
        assert bool(result.meta.get("cached")) == (key in seen), (result, seen)
        seen.add(key)
        result.result["run"] = 99  # a copy: the next caller sees the answer itself
    assert all(count == 1 for key, count in runs.items() if key), runs
