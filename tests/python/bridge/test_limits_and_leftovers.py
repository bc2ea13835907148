"""Limits hold while calls that were given up still run, and calls inside a tool do not wait for its own slot."""

import asyncio
import threading
from typing import Any

import pytest

from bridge.kit import Blocked, Stubborn, World, in_thread, quick, tasks_end
from toolhub import ErrorKind, ToolHub

pytestmark = pytest.mark.usefixtures("pool")


class Overlap:
    """A sync tool that blocks, and counts how many of its calls run at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.began = threading.Semaphore(0)
        self.released = threading.Event()
        self.inside = self.most = self.runs = 0

    def __call__(self) -> str:
        with self.lock:
            self.runs += 1
            self.inside += 1
            self.most = max(self.most, self.inside)
        self.began.release()
        self.released.wait(30)
        with self.lock:
            self.inside -= 1
        return "done"


@pytest.mark.parametrize("effects", [True, None])
def test_a_thread_that_was_given_up_keeps_the_slot_of_its_tool(world: World, effects: bool | None) -> None:
    hub, tool = ToolHub(limits={"breaker_threshold": 0}), Overlap()
    hub.register(tool, name="narrow", max_concurrency=1, effects=effects)

    async def main() -> None:
        first = asyncio.create_task(hub.execute("narrow"))
        await asyncio.to_thread(tool.began.acquire)
        first.cancel()
        await asyncio.wait({first})
        assert hub.stats()["narrow"][0]["abandoned"] == 1
        second = await hub.execute("narrow", timeout=0.01)
        assert second.kind is ErrorKind.TIMEOUT
        assert second.meta["error"]["outcome"] == "not_sent"
        assert "1 of its abandoned calls still run and hold their slots" in second.error
        third = asyncio.create_task(hub.execute("narrow"))
        await asyncio.sleep(0)
        tool.released.set()
        assert (await third).result == "done"

    try:
        world.run(main())
    finally:
        tool.released.set()
    assert (tool.most, tool.runs) == (1, 2)
    assert hub.stats()["narrow"][0]["abandoned"] == 0


@pytest.mark.parametrize("limits", [{"hub": 1}, {"tools": 1}])
def test_a_thread_that_was_given_up_gives_back_what_it_shares_with_other_tools(
    world: World, limits: dict[str, int]
) -> None:
    hub, blocked = ToolHub(limits=limits), Blocked()
    hub.register(blocked, name="blocked")
    hub.register(in_thread)

    async def main() -> None:
        assert (await hub.execute("blocked", timeout=0.05)).kind is ErrorKind.TIMEOUT
        assert (await hub.execute("in_thread", timeout=20)).success

    try:
        world.run(main())
    finally:
        blocked.released.set()


@pytest.mark.parametrize("count", [1, 2])
def test_a_task_that_outlives_its_grace_keeps_the_slot_of_its_tool(world: World, count: int) -> None:
    hub = ToolHub(limits={"cancel_grace": 0.01, "breaker_threshold": 0})
    tools = [Stubborn() for _ in range(count)]
    for number, tool in enumerate(tools):
        hub.register(tool, name="t", source="mcps", server=str(number), max_concurrency=1, read_only=True)

    async def main() -> None:
        first = await hub.execute("t", timeout=0.01, strategy="all")
        assert first.kind is ErrorKind.TIMEOUT
        assert [row["abandoned"] for row in hub.stats()["t"]] == [1] * count
        second = await hub.execute("t", timeout=0.01, strategy="all")
        assert second.meta["errors"][0]["kind"] == "timeout"
        assert "hold their slots" in second.error
        for tool in tools:
            tool.released.set()
        await tasks_end()
        assert [row["abandoned"] for row in hub.stats()["t"]] == [0] * count
        assert (await hub.execute("t", timeout=20)).success

    world.run(main())


def depth_of(hub: ToolHub, kind: str) -> None:
    """Registers a tool that calls itself through the hub, `depth` times."""

    async def awaits(depth: int) -> int:
        await asyncio.sleep(0)
        return (
            0 if depth == 0 else 1 + (await hub.execute("nested", {"depth": depth - 1}, timeout=20)).unwrap()
        )

    def blocks(depth: int) -> int:
        return 0 if depth == 0 else 1 + hub.call("nested", {"depth": depth - 1}, timeout=20).unwrap()

    async def gathers(depth: int) -> int:
        if depth == 0:
            return 0
        inner = [hub.execute("nested", {"depth": depth - 1}, timeout=20) for _ in range(3)]
        return 1 + max(one.unwrap() for one in await asyncio.gather(*inner))

    hub.register(
        {"awaits": awaits, "blocks": blocks, "gathers": gathers}[kind], name="nested", max_concurrency=1
    )


@pytest.mark.parametrize("kind", ["awaits", "blocks", "gathers"])
@pytest.mark.parametrize("limits", [{}, {"hub": 1}, {"hub": 2, "tools": 1}])
def test_calls_inside_a_tool_borrow_its_slots(world: World, kind: str, limits: dict[str, int]) -> None:
    hub = ToolHub(limits=limits)
    depth_of(hub, kind)
    assert world.run(hub.execute("nested", {"depth": 4}, timeout=20)).unwrap() == 4
    assert hub.call("nested", {"depth": 4}, timeout=20).unwrap() == 4


def test_tools_that_call_each_other_share_the_one_slot_of_the_hub(world: World) -> None:
    hub = ToolHub(limits={"hub": 1})
    inside = {"now": 0, "most": 0}

    async def leaf() -> str:
        inside["now"] += 1
        inside["most"] = max(inside["most"], inside["now"])
        await asyncio.sleep(0)
        inside["now"] -= 1
        return "leaf"

    async def branch() -> list[Any]:
        return [
            one.unwrap() for one in await asyncio.gather(*[hub.execute("leaf", timeout=20) for _ in range(5)])
        ]

    hub.register(leaf)
    hub.register(branch)

    async def main() -> None:
        branches = await asyncio.gather(*[hub.execute("branch", timeout=20) for _ in range(4)])
        assert [one.result for one in branches] == [["leaf"] * 5] * 4

    world.run(main())
    assert inside["most"] == 1


def test_what_a_tool_leaves_behind_keeps_the_slot_that_it_borrowed(world: World) -> None:
    hub = ToolHub(limits={"hub": 1})
    go = asyncio.Event()
    left: list[asyncio.Task[Any]] = []

    async def waits() -> str:
        await go.wait()
        return "waited"

    async def leaves() -> str:
        left.append(asyncio.create_task(hub.execute("waits", timeout=20)))
        await asyncio.sleep(0)
        return "left"

    for tool in (waits, leaves, quick):
        hub.register(tool)

    async def main() -> None:
        assert (await hub.execute("leaves", timeout=20)).result == "left"
        assert (await hub.execute("quick", timeout=0.01)).kind is ErrorKind.TIMEOUT
        go.set()
        assert (await left[0]).result == "waited"
        assert (await hub.execute("quick", timeout=20)).success

    world.run(main())
