"""One async tool, called through toolhub and through its peers, in the same run."""

from __future__ import annotations

import asyncio
import importlib
import warnings

from harness import Group, Row, measure_async
from overhead import ARGS, fast, make_hub
from peers import PEERS


async def _measure(rounds: int) -> list[Row]:
    hub = make_hub()
    group = Group("one async tool, through the peers (baseline: toolhub)")
    group.add("toolhub", lambda: hub.execute("fast", ARGS), 300)
    for peer in PEERS:
        try:
            adapter = importlib.import_module(f"peers.{peer}")
        except ImportError as missing:
            print(f"  {peer} is not installed ({missing}); `make bench` installs it")
            continue
        group.add(adapter.NAME, adapter.make(fast), 50)
    return await measure_async(group, rounds)


def run(rounds: int) -> list[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peers' own deprecations
        return asyncio.run(_measure(rounds))
