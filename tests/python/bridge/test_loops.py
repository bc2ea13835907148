"""Any event loop, any number of them, in any thread."""

import asyncio
import gc
import os
import threading
import weakref
from typing import Any

import pytest

from bridge.kit import Blocked, Hanging, World, fails, in_thread, instant, offer, pool_at_rest, quick, turns
from toolhub import ToolHub, _core


def full_hub() -> ToolHub:
    hub = ToolHub(limits={"breaker_threshold": 0})
    hub.register(quick)
    hub.register(instant)
    hub.register(in_thread)
    hub.register(fails)
    offer(hub, "race", Hanging(), quick, in_thread)
    offer(hub, "bad_race", fails, fails)
    return hub


FAILURE = "Tool 'fails' raised ValueError: no luck"
ANSWERS = ["quick", "instant", "toolhub-sync", FAILURE, "raced", "lost", "together"]


async def one_of_each(hub: ToolHub) -> list[str | None]:
    """What one call of each kind answers; `ANSWERS` when all is well."""
    answers = [(await hub.execute(name)).result for name in ("quick", "instant", "in_thread")]
    answers.append((await hub.execute("fails")).error)
    race = await hub.execute("race", strategy="first")
    answers.append("raced" if race.result in ("quick", "toolhub-sync") else race.error)
    bad_race = await hub.execute("bad_race", strategy="first")
    answers.append("won" if bad_race.success else "lost")
    together = await asyncio.gather(*[hub.execute(name) for name in ("quick", "in_thread", "race")] * 5)
    answers.append("together" if all(together) else str([one.error for one in together]))
    return answers


def test_run_twice(world: World) -> None:
    hub = full_hub()
    assert world.run(one_of_each(hub)) == ANSWERS
    assert world.run(one_of_each(hub)) == ANSWERS


def test_one_loop_cell_after_cell(world: World) -> None:
    """As in a notebook: the loop stops after each piece of work and goes on with the next."""
    hub = full_hub()
    loop = world.open_loop()
    try:
        for _ in range(5):
            assert loop.run_until_complete(world.watch(one_of_each(hub))) == ANSWERS
    finally:
        loop.close()


def test_work_goes_on_when_the_loop_does(world: World) -> None:
    """A call that is under way while its loop stands still ends when the loop runs again."""
    hub = ToolHub()
    hub.register(in_thread)
    loop = world.open_loop()
    try:
        task = loop.create_task(hub.execute("in_thread"))
        loop.run_until_complete(asyncio.sleep(0))  # handed to the pool; its answer finds the loop stopped
        assert loop.run_until_complete(task).result == "toolhub-sync"
    finally:
        loop.close()


def test_six_threads_with_loops_of_their_own(world: World) -> None:
    hub = full_hub()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(3):
                loop = world.open_loop()
                try:
                    assert loop.run_until_complete(world.watch(one_of_each(hub))) == ANSWERS
                finally:
                    loop.close()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_loop_may_move_to_another_thread() -> None:
    hub = full_hub()
    world = World("moving")
    loop = world.open_loop()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            assert loop.run_until_complete(world.watch(one_of_each(hub))) == ANSWERS
        except BaseException as error:
            errors.append(error)

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert loop.run_until_complete(world.watch(one_of_each(hub))) == ANSWERS
    loop.close()
    assert not errors


def test_closing_the_loop_with_work_in_flight(world: World) -> None:
    """`asyncio.run` cancels what its main coroutine has left behind: every tool is cancelled and nothing is logged."""
    hanging = Hanging()
    hub = full_hub()
    offer(hub, "hang", hanging, hanging)

    async def leave(tasks: list[asyncio.Task[Any]]) -> None:
        for name in ("hang", "race", "in_thread", "quick"):
            tasks.append(asyncio.create_task(hub.execute(name, strategy="first")))
        await hanging.began.wait()

    tasks: list[asyncio.Task[Any]] = []
    with asyncio.Runner(loop_factory=world.open_loop) as runner:
        runner.run(leave(tasks))
    assert tasks[0].cancelled()
    assert hanging.log.count("cancelled") == 2


def open_descriptors() -> int:
    # A worker lets go of a loop's mailbox a moment after it has put its answer in.
    pool_at_rest()
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
def test_loops_leave_no_descriptors() -> None:
    hub = full_hub()
    world = World("asyncio")
    assert world.run(one_of_each(hub)) == ANSWERS
    before = open_descriptors()
    for _ in range(10):
        assert world.run(one_of_each(hub)) == ANSWERS
    assert open_descriptors() == before


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts descriptors in /proc")
@pytest.mark.parametrize("name", ["quick", "in_thread", "race"])
def test_a_loop_closed_over_its_tasks_is_collected(name: str) -> None:
    """Loops that are closed while calls wait on them: Python complains of the tasks, but neither they, nor tools, nor
    descriptors are kept."""

    class Marker:
        pass

    world = World("asyncio")
    markers: list[weakref.ref[Marker]] = []

    def leave() -> None:
        hub = full_hub()
        marker = Marker()
        markers.append(weakref.ref(marker))

        async def waits(kept: Any = marker) -> None:
            await asyncio.get_running_loop().create_future()

        gate = threading.Event()
        hub.register(waits, name="quick")
        hub.register(lambda kept=marker: gate.wait(), name="in_thread", parameters={"type": "object"})
        offer(hub, "race", waits, waits)
        loop = world.open_loop()
        loop.create_task(hub.execute(name, strategy="first"))
        loop.run_until_complete(turns())
        loop.close()
        gate.set()

    def another_loop() -> None:
        """A new loop lets go of what was kept for closed ones."""
        assert World("another").run(one_of_each(full_hub())) == ANSWERS
        gc.collect()

    leave()
    another_loop()
    before = open_descriptors()
    for _ in range(5):
        leave()
    another_loop()
    assert all("Task was destroyed but it is pending!" in complaint for complaint in world.complaints)
    assert [marker for marker in markers if marker() is not None] == []
    assert open_descriptors() == before


def test_a_closed_loops_port_is_replaced() -> None:
    """Loops come and go at the same address; each gets a bridge of its own."""

    async def bridge() -> _core.LoopBridge:
        return _core.current_bridge()

    first, second = asyncio.run(bridge()), asyncio.run(bridge())
    assert first is not second

    async def same() -> bool:
        return _core.current_bridge() is _core.current_bridge()

    assert asyncio.run(same())


def test_a_place_at_a_limit_is_not_lost_with_a_loop() -> None:
    """A call waits for a place; the place is given to it when its loop stands still, and the loop never runs again."""
    hub = ToolHub(limits={"hub": 1})
    blocked = Blocked()
    hub.register(blocked, name="blocked")
    hub.register(quick)
    holder = threading.Thread(target=hub.call, args=("blocked",))
    holder.start()
    blocked.began.acquire()
    world = World("asyncio")
    loop = world.open_loop()
    waiting = loop.create_task(hub.execute("quick"))
    loop.run_until_complete(turns())
    assert not waiting.done()
    blocked.released.set()
    holder.join()
    loop.close()
    del waiting
    gc.collect()
    assert hub.call("quick", timeout=20).result == "quick"
    assert all("Task was destroyed but it is pending!" in complaint for complaint in world.complaints)
