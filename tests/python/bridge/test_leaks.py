"""No leaks: hubs, tools, arguments and results are freed with their last reference."""

import asyncio
import gc
import sys
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from bridge.kit import World, fails, in_thread, offer, pool_at_rest, quick, tasks_end, turns
from toolhub import ToolHub


class Thing:
    """Something whose end can be seen."""


class Witness:
    """Remembers things without keeping them."""

    def __init__(self) -> None:
        self.references: dict[str, weakref.ref[Any]] = {}

    def watch(self, name: str, thing: Any) -> Any:
        self.references[name] = weakref.ref(thing)
        return thing

    def assert_gone(self) -> None:
        gc.collect()
        alive = {name: ref() for name, ref in self.references.items() if ref() is not None}
        referrers = {name: gc.get_referrers(thing) for name, thing in alive.items()}
        assert not alive, referrers


def a_hub(witness: Witness) -> ToolHub:
    """A hub with tools of every kind, each closing over the hub itself and over a thing."""
    hub = witness.watch("hub", ToolHub(limits={"breaker_threshold": 0, "cancel_grace": 0.01}))

    def close_over(kind: str) -> Callable[..., Any]:
        kept = witness.watch(f"kept by {kind}", Thing())

        async def answers(thing: Any) -> Any:
            assert all((kept, hub))
            await turns(2)
            return witness.watch("result", Thing())

        def answers_in_thread(thing: Any) -> Any:
            assert all((kept, hub))
            return witness.watch("result", Thing())

        async def raises(thing: Any) -> Any:
            held = kept
            await turns(2)
            raise ValueError(held, hub)

        async def hangs(thing: Any) -> Any:
            assert all((kept, hub))
            await asyncio.get_running_loop().create_future()

        async def calls(thing: Any) -> Any:
            return (await hub.execute("answers", {"thing": thing})).result

        functions = locals()
        return witness.watch(f"function {kind}", functions[kind])

    for kind in ("answers", "answers_in_thread", "raises", "hangs", "calls"):
        hub.register(close_over(kind), name=kind)
    offer(hub, "race", close_over("hangs"), close_over("answers"), close_over("answers_in_thread"))
    offer(hub, "bad_race", close_over("raises"), close_over("raises"))
    offer(hub, "hung_race", close_over("hangs"), close_over("hangs"))
    return hub


async def ends(hub: ToolHub, name: str, thing: Any) -> None:
    result = await hub.execute(name, {"thing": thing}, strategy="first")
    assert result.success is (name not in ("raises", "bad_race"))
    if name == "raises":
        assert isinstance(result.exception, ValueError)


async def times_out(hub: ToolHub, name: str, thing: Any) -> None:
    assert (await hub.execute(name, {"thing": thing}, strategy="first", timeout=0.01)).kind == "timeout"


async def is_cancelled(hub: ToolHub, name: str, thing: Any) -> None:
    task = asyncio.create_task(hub.execute(name, {"thing": thing}, strategy="first"))
    await turns(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def is_closed(hub: ToolHub, name: str, thing: Any) -> None:
    call = hub.execute(name, {"thing": thing}, strategy="first")
    call.send(None)
    call.close()
    await tasks_end()


Ending = Callable[[ToolHub, str, Any], Coroutine[Any, Any, None]]


@pytest.mark.parametrize(
    ("ending", "name"),
    [
        *[(ends, name) for name in ("answers", "answers_in_thread", "raises", "calls", "race", "bad_race")],
        *[(times_out, name) for name in ("hangs", "hung_race")],
        *[(is_cancelled, name) for name in ("hangs", "hung_race", "answers_in_thread", "race", "calls")],
        *[(is_closed, name) for name in ("hangs", "hung_race", "answers_in_thread", "race", "calls")],
    ],
)
def test_everything_of_a_call_is_freed(world: World, ending: Ending, name: str) -> None:
    witness = Witness()

    async def main() -> None:
        await ending(a_hub(witness), name, witness.watch("argument", Thing()))

    world.run(main())
    pool_at_rest()
    witness.assert_gone()


@pytest.mark.parametrize("name", ["answers", "answers_in_thread", "raises", "calls", "race", "bad_race"])
def test_everything_of_a_blocking_call_is_freed(name: str) -> None:
    witness = Witness()

    def call() -> None:
        hub = a_hub(witness)
        hub.call(name, {"thing": witness.watch("argument", Thing())}, strategy="first")

    call()
    pool_at_rest()
    # The background loop has just ended its last step: let it take another.
    hub = ToolHub()
    hub.register(quick)
    hub.call("quick")
    witness.assert_gone()


def test_a_hub_that_was_never_called_is_freed() -> None:
    witness = Witness()
    a_hub(witness)
    witness.assert_gone()


def test_a_running_call_keeps_its_hub(world: World) -> None:
    """And only until it ends."""
    witness = Witness()
    go_on = asyncio.Event()

    async def main() -> None:
        def start() -> asyncio.Task[Any]:
            hub = witness.watch("hub", ToolHub())

            async def waits() -> str:
                await go_on.wait()
                return repr(hub)

            hub.register(waits)
            return asyncio.create_task(hub.execute("waits"))

        task = start()
        await turns()
        gc.collect()
        assert witness.references["hub"]() is not None
        go_on.set()
        assert "ToolHub" in (await task).result

    world.run(main())
    witness.assert_gone()


def test_unregistered_while_running(world: World) -> None:
    witness = Witness()
    hub = ToolHub()
    go_on = asyncio.Event()

    async def main() -> None:
        def register() -> None:
            kept = witness.watch("kept", Thing())

            async def waits() -> str:
                await go_on.wait()
                return type(kept).__name__

            hub.register(witness.watch("function", waits))

        register()
        task = asyncio.create_task(hub.execute("waits"))
        await turns()
        hub.unregister("waits")
        gc.collect()
        go_on.set()
        assert (await task).result == "Thing"

    world.run(main())
    witness.assert_gone()


async def hangs() -> None:
    await asyncio.get_running_loop().create_future()


async def cancelled_call(hub: ToolHub) -> None:
    task = asyncio.create_task(hub.execute("hung_race", strategy="first"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])


def flat_hub() -> ToolHub:
    hub = ToolHub(limits={"breaker_threshold": 0})
    for function in (quick, in_thread, fails):
        hub.register(function)
    offer(hub, "race", hangs, quick)
    offer(hub, "hung_race", hangs, hangs)
    return hub


def growth(work: Callable[[int], None], count: int) -> int:
    """By how many memory blocks the process has grown over this number of calls, after some to warm up."""
    work(count // 10)
    gc.collect()
    before = sys.getallocatedblocks()
    work(count)
    gc.collect()
    return sys.getallocatedblocks() - before


@pytest.mark.parametrize("name", ["quick", "in_thread", "fails", "race", "cancelled"])
def test_memory_is_flat_over_thousands_of_calls(name: str) -> None:
    hub = flat_hub()
    count = 2_000 if name in ("race", "cancelled") else 5_000

    async def calls(runner_count: int) -> None:
        for _ in range(runner_count):
            await (cancelled_call(hub) if name == "cancelled" else hub.execute(name, strategy="first"))

    with asyncio.Runner() as runner:
        grown = growth(lambda n: runner.run(calls(n)), count)
    assert grown < count // 10


@pytest.mark.parametrize("name", ["quick", "in_thread", "race"])
def test_memory_is_flat_over_thousands_of_blocking_calls(name: str) -> None:
    hub = flat_hub()

    def calls(count: int) -> None:
        for _ in range(count):
            hub.call(name, strategy="first")

    assert growth(calls, 1_000) < 100


def test_threads_do_not_pile_up() -> None:
    """However many callers there are, and however many leave in the middle."""
    hub = flat_hub()

    async def main() -> None:
        for _ in range(10):
            tasks = [asyncio.create_task(hub.execute("in_thread")) for _ in range(50)]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            await asyncio.wait(tasks)

    asyncio.run(main())
    pool_at_rest()
    ours = [thread for thread in threading.enumerate() if thread.name == "toolhub-sync"]
    assert len(ours) <= 32
