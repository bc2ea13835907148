"""What the hub costs, against the same job in plain asyncio."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from harness import Group, Row, measure_async, measure_sync

from toolhub import ToolHub


async def fast(a: int, b: int) -> int:
    return a + b


async def suspends(a: int, b: int) -> int:
    await asyncio.sleep(0)
    return a + b


async def never(a: int, b: int) -> int:
    await asyncio.get_running_loop().create_future()
    return 0


async def sleeps(a: int, b: int) -> int:
    await asyncio.sleep(10)
    return 0


def sync(a: int, b: int) -> int:
    return a + b


ARGS = {"a": 1, "b": 2}
Tool = Callable[..., Awaitable[Any]]


def _answer(value: Any, begun: float) -> dict[str, Any]:
    return {
        "success": True,
        "result": value,
        "error": None,
        "_meta": {"duration_ms": (time.perf_counter() - begun) * 1e3},
    }


async def plain_timeout(tool: Tool) -> dict[str, Any]:
    """What one writes by hand: a timeout, a dict, errors as data."""
    begun = time.perf_counter()
    try:
        async with asyncio.timeout(30):
            return _answer(await tool(**ARGS), begun)
    except Exception as error:
        return {"success": False, "result": None, "error": str(error), "_meta": {}}


async def plain_thread() -> dict[str, Any]:
    begun = time.perf_counter()
    return _answer(await asyncio.wait_for(asyncio.to_thread(sync, **ARGS), 30), begun)


async def plain_race(tools: tuple[Tool, ...]) -> dict[str, Any]:
    """First success wins, the losers are cancelled (and not even awaited)."""
    begun = time.perf_counter()
    pending = {asyncio.create_task(tool(**ARGS)) for tool in tools}
    errors: list[BaseException] = []
    try:
        while pending:
            done, pending = await asyncio.wait(pending, timeout=30, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                error = task.exception()
                if error is None:
                    return _answer(task.result(), begun)
                errors.append(error)
        return {"success": False, "result": None, "error": str(errors), "_meta": {}}
    finally:
        for task in pending:
            task.cancel()


FLOOR = "3 bare tasks, 2 cancelled (the floor)"


async def bare_race(tools: tuple[Tool, ...]) -> Any:
    """No race at all, but the tasks of one: the first tool is known to win, errors are not seen, time or clean-up.

    Whatever gives each candidate a task of its own cannot be quicker than this.
    """
    first, *others = [asyncio.create_task(tool(**ARGS)) for tool in tools]
    value = await first
    for task in others:
        task.cancel()
    return value


def make_hub() -> ToolHub:
    hub = ToolHub()
    for tool in (fast, suspends, sync):
        hub.register(tool)
    for name, tools in (("race", (fast, never, never)), ("race_sleep", (suspends, sleeps, sleeps))):
        for server, tool in enumerate(tools):
            hub.register(tool, name=name, source="mcps", server=str(server))
    return hub


async def _async_groups(hub: ToolHub, rounds: int) -> list[Row]:
    rows: list[Row] = []

    one = Group(
        "one async tool that answers at once", note="goal: ≤ 5 µs with validation, statistics and result"
    )
    one.add("dict + asyncio.timeout", lambda: plain_timeout(fast), 500)
    one.add("plain await", lambda: fast(1, 2), 2000)
    one.add("toolhub", lambda: hub.execute("fast", ARGS), 500)
    rows += await measure_async(one, rounds)

    suspended = Group("one async tool that suspends once", goal=0.7)
    suspended.add("dict + asyncio.timeout", lambda: plain_timeout(suspends), 300)
    suspended.add("toolhub", lambda: hub.execute("suspends", ARGS), 300)
    rows += await measure_async(suspended, rounds)

    thread = Group("one sync tool", goal=0.4)
    thread.add("wait_for(to_thread)", plain_thread, 100)
    thread.add("toolhub", lambda: hub.execute("sync", ARGS), 100)
    rows += await measure_async(thread, rounds)

    for title, tools, name, times in (
        ("race of 3, instant winner", (fast, never, never), "race", 100),
        ("race of 3, losers asleep", (suspends, sleeps, sleeps), "race_sleep", 100),
    ):
        race = Group(title, goal=0.75, note="toolhub also awaits the losers' clean-up")
        race.add("asyncio.wait + cancel", lambda tools=tools: plain_race(tools), times)
        race.add("toolhub", lambda name=name: hub.execute(name, ARGS, strategy="first"), times)
        race.add(FLOOR, lambda tools=tools: bare_race(tools), times)
        rows += await measure_async(race, rounds)

    crowd = Group("1,000 races of 3 at once (µs each)", goal=0.4)
    crowd.add("asyncio.wait + cancel", _thousand(lambda: plain_race((suspends, sleeps, sleeps))), 1)
    crowd.add("toolhub", _thousand(lambda: hub.execute("race_sleep", ARGS, strategy="first")), 1)
    crowd.add(FLOOR, _thousand(lambda: bare_race((suspends, sleeps, sleeps))), 1)
    rows += await measure_async(crowd, max(5, rounds // 3))

    many = Group("execute_many of 10,000 (whole batch)")
    many.add("gather + semaphore + asyncio.timeout", _plain_many, 1)
    many.add("toolhub", lambda: hub.execute_many([("suspends", ARGS)] * 10_000), 1)
    rows += await measure_async(many, max(3, rounds // 5))
    return rows


def _thousand(one: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    async def run() -> None:
        await asyncio.gather(*(one() for _ in range(1000)))
        await asyncio.sleep(0)

    return run


async def _plain_many() -> None:
    gate = asyncio.Semaphore(16)

    async def one() -> Any:
        async with gate:
            return await plain_timeout(suspends)

    await asyncio.gather(*(one() for _ in range(10_000)))


def _blocking_group(hub: ToolHub, rounds: int) -> list[Row]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    group = Group("hub.call from a thread", goal=0.7)
    group.add(
        "run_coroutine_threadsafe",
        lambda: asyncio.run_coroutine_threadsafe(plain_timeout(fast), loop).result(30),
        100,
    )
    group.add("toolhub", lambda: hub.call("fast", ARGS), 100)
    rows = measure_sync(group, rounds)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
    return rows


def run(rounds: int) -> list[Row]:
    hub = make_hub()
    return asyncio.run(_async_groups(hub, rounds)) + _blocking_group(hub, rounds)
