"""Context variables: a tool sees the caller's, and its changes behave as in plain asyncio."""

import asyncio
import contextvars
import threading

import pytest

from bridge.kit import Hanging, World, offer, turns
from toolhub import ToolHub

who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")


async def sees() -> str:
    return who.get()


async def sees_later() -> str:
    await turns()
    return who.get()


def sees_in_thread() -> str:
    return who.get()


async def changes() -> str:
    who.set("the tool")
    await asyncio.sleep(0)
    return who.get()


def changes_in_thread() -> str:
    who.set("the thread")
    return who.get()


@pytest.fixture
def hub() -> ToolHub:
    hub = ToolHub()
    for function in (sees, sees_later, sees_in_thread, changes, changes_in_thread):
        hub.register(function)
    offer(hub, "race", sees_later, Hanging())
    offer(hub, "race_in_thread", sees_in_thread, Hanging())
    offer(hub, "change_race", changes, Hanging())
    offer(hub, "limited", sees_later, max_concurrency=1)
    return hub


@pytest.mark.parametrize(
    "name", ["sees", "sees_later", "sees_in_thread", "race", "race_in_thread", "limited"]
)
def test_a_tool_sees_the_callers_context(hub: ToolHub, world: World, name: str) -> None:
    async def caller(me: str) -> str:
        who.set(me)
        return (await hub.execute(name, strategy="first")).result

    async def main() -> None:
        callers = [f"caller {n}" for n in range(5)]
        assert await asyncio.gather(*map(caller, callers)) == callers

    world.run(main())


def test_a_change_in_place_stays_as_with_a_plain_await(hub: ToolHub, world: World) -> None:
    async def main() -> None:
        who.set("the caller")
        assert (await hub.execute("changes")).result == "the tool"
        assert who.get() == "the tool"

    world.run(main())


@pytest.mark.parametrize("name", ["change_race", "changes_in_thread"])
def test_a_change_in_a_task_or_thread_is_made_in_a_copy(hub: ToolHub, world: World, name: str) -> None:
    async def main() -> None:
        who.set("the caller")
        assert (await hub.execute(name, strategy="first")).result.startswith("the t")
        assert who.get() == "the caller"

    world.run(main())


@pytest.mark.parametrize("name", ["sees", "sees_later", "sees_in_thread", "race", "race_in_thread"])
def test_a_blocking_call_carries_the_context_of_its_thread(hub: ToolHub, name: str) -> None:
    seen: dict[str, str] = {}

    def caller(me: str) -> None:
        who.set(me)
        seen[me] = hub.call(name, strategy="first").result

    threads = [threading.Thread(target=caller, args=(f"thread {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {f"thread {n}": f"thread {n}" for n in range(4)}


def test_a_change_in_a_blocking_call_is_made_in_a_copy(hub: ToolHub) -> None:
    who.set("the caller")
    assert hub.call("changes").result == "the tool"
    assert who.get() == "the caller"
