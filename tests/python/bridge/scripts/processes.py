"""Calls tools in child processes of multiprocessing, started in the way that the first argument names."""

import asyncio
import multiprocessing
import sys

from bridge.kit import in_thread, offer, quick
from toolhub import ToolHub


def make_hub() -> ToolHub:
    hub = ToolHub()
    hub.register(quick)
    hub.register(in_thread)
    offer(hub, "race", quick, in_thread)
    return hub


async def use(hub: ToolHub) -> bool:
    return all([await hub.execute(name, strategy="first") for name in ("quick", "in_thread", "race")])


def work(number: int) -> bool:
    hub = make_hub()
    return asyncio.run(use(hub)) and hub.call("quick").success and hub.call("in_thread").success


if __name__ == "__main__":
    assert work(0)  # the parent has threads and loops of its own
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(work, range(4)))
    assert work(1)
