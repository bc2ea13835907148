"""Threads x loops x cancellations x tools of all kinds, for a number of calls, by a seed; tells what is left at the end."""

import asyncio
import gc
import json
import random
import sys
import threading
from typing import Any

from bridge.kit import in_thread, instant, offer, pool_at_rest, quick, tasks_end, turns
from toolhub import ToolHub, _core

THREADS, CALLS = 6, 120

complaints: list[str] = []
endings: dict[str, int] = {}


async def hangs() -> None:
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await turns(2)


async def fails() -> None:
    await turns(1)
    raise ValueError("no luck")


async def swallows() -> str:
    """Swallows one cancellation, then gives in."""
    try:
        await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError:
        await turns(5)
    return "late"


def fails_in_thread() -> None:
    raise OSError("no luck")


def calls_back() -> Any:
    return hub.call("quick").result


async def nested() -> Any:
    return (await hub.execute("race", strategy="first")).result


hub = ToolHub(
    timeout=0.02,
    limits={"hub": 40, "mcps": 20, "cancel_grace": 0.02, "breaker_threshold": 0, "max_waiting": 30},
)
for function in (quick, instant, in_thread, hangs, fails, swallows, fails_in_thread, calls_back, nested):
    hub.register(function)
offer(hub, "race", hangs, quick, in_thread)
offer(hub, "hung_race", hangs, swallows, hangs)
offer(hub, "bad_race", fails, fails_in_thread, fails)
offer(hub, "chain", fails, swallows, fails_in_thread, quick)
offer(hub, "narrow", quick, max_concurrency=1)
NAMES = sorted(tool.name for tool in hub.tools())


def note(ending: str) -> None:
    endings[ending] = endings.get(ending, 0) + 1


async def caller(dice: random.Random) -> None:
    name, strategy = dice.choice(NAMES), dice.choice(["first", "all", "fallback"])
    call = hub.execute(name, strategy=strategy, deadline=dice.choice([None, 0.001, 0.03]))
    how = dice.random()
    if how < 0.5:
        note("success" if await call else "failure")
    elif how < 0.7:
        try:
            async with asyncio.timeout(dice.choice([0, 0.001, 0.01])):
                note("success" if await call else "failure")
        except TimeoutError:
            note("outer timeout")
    else:
        task = asyncio.create_task(call)
        for _ in range(dice.choice([1, 1, 2])):
            await turns(dice.randrange(6))
            task.cancel()
        done, _ = await asyncio.wait([task])
        note("cancelled" if done.pop().cancelled() else "ended before")
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0


async def life(dice: random.Random) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(str(context)))
    callers = [asyncio.create_task(caller(random.Random(dice.random()))) for _ in range(CALLS // 3)]
    await asyncio.gather(*callers)
    await tasks_end()  # losers that needed more than their grace
    bridge = _core.current_bridge()
    if (bridge.pending_mail, bridge.pending_deadlines) != (0, 0):
        complaints.append(f"left: {bridge.pending_mail} mail, {bridge.pending_deadlines} deadlines")


def thread(seed: float) -> None:
    dice = random.Random(seed)
    try:
        for _ in range(3):
            asyncio.run(life(dice))
            for _ in range(10):
                note("success" if hub.call(dice.choice(NAMES), deadline=0.05) else "failure")
    except BaseException as error:
        complaints.append(repr(error))


dice = random.Random(int(sys.argv[1]))
threads = [threading.Thread(target=thread, args=(dice.random(),)) for _ in range(THREADS)]
for one in threads:
    one.start()
for one in threads:
    one.join()


async def left_on_the_background_loop() -> list[int]:
    while len(asyncio.all_tasks()) > 1:
        await asyncio.sleep(0)
    bridge = _core.current_bridge()
    return [len(asyncio.all_tasks()), bridge.pending_mail, bridge.pending_deadlines]


quiet = ToolHub()
quiet.register(left_on_the_background_loop)
workers, idle, lost = pool_at_rest()
gc.collect()
report = {
    "complaints": complaints,
    "calls": sum(endings.values()),
    "endings": len(endings),
    "background": quiet.call("left_on_the_background_loop", timeout=30).result,
    "workers are idle": workers == idle <= 32,
    "lost": lost,
    "still answers": hub.call("quick", timeout=30).result,
}
print(json.dumps(report))
