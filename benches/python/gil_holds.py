"""How long a call holds the GIL: the largest gap that another thread sees, for large arguments, results and listings.

Run by hand: `python benches/python/gil_holds.py`. The interpreter itself hands over the GIL every 5 ms at most; a gap
below that is not a stall.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from toolhub import ToolHub


class Watcher:
    """A thread that only looks at the clock."""

    def __init__(self) -> None:
        self.largest = 0.0
        self._over = False
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        last = time.perf_counter()
        while not self._over:
            now = time.perf_counter()
            self.largest = max(self.largest, now - last)
            last = now

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._thread.join()


def measure(name: str, work: Callable[[], Any]) -> None:
    work()  # compiles schemas, starts threads
    gaps: list[float] = []
    for _ in range(3):
        with Watcher() as watcher:
            begun = time.perf_counter()
            work()
            took = time.perf_counter() - begun
        gaps.append(watcher.largest)
    print(f"{name:45} {took * 1e3:8.1f} ms, largest gap {min(gaps) * 1e3:7.1f} ms")


def main() -> None:
    sys.setswitchinterval(0.0005)
    hub = ToolHub()

    async def plain(data: dict[str, Any]) -> int:
        return len(data)

    async def typed(data: dict[str, list[int]]) -> int:
        return len(data)

    hub.register(plain)
    hub.register(typed)
    hub.register(
        lambda **given: 1, name="declared", parameters={"type": "object", "properties": {"data": {}}}
    )
    data = {f"key {n}": list(range(n, n + 10)) for n in range(100_000)}
    text = {"text": "word " * 2_000_000}
    for tool in ("plain", "typed", "declared"):
        measure(f"{tool}, a dict of 10 MB", lambda tool=tool: hub.call(tool, {"data": data}))
    measure("declared, a text of 10 MB", lambda: hub.call("declared", {"data": text}))
    many = ToolHub()
    for n in range(20_000):
        many.register(
            lambda: 1, name=f"tool_{n}", description="does something", parameters={"type": "object"}
        )
    measure("tools() of 20,000", many.tools)
    measure("stats() of 20,000", many.stats)
    measure("as_openai() of 20,000", many.as_openai)


if __name__ == "__main__":
    main()
