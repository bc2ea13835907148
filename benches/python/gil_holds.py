"""How long a call holds the GIL: the largest gap that another thread sees, for large arguments, results, texts and listings.

Run by hand on a release build: `python benches/python/gil_holds.py [--no-collector] [words of the cases]`. A gap counts the
time that the calling thread worked in it, so a busy machine does not show as a gap. What a call returns is kept until the
watch is over: releasing it is the program's. The rows that begin with "plain" are Python alone.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from text import merge_by_hand

import toolhub
from toolhub import ToolHub, ToolResult, merge, parse

ROUNDS = 7


class Watcher:
    """A thread that only looks at the clock of the thread that made it."""

    def __init__(self) -> None:
        self.largest = 0.0
        self._over = False
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        last = time.clock_gettime(self._clock)
        self._begun.set()
        while not self._over:
            now = time.clock_gettime(self._clock)
            self.largest = max(self.largest, now - last)
            last = now

    def __enter__(self) -> Watcher:
        self._thread.start()
        self._begun.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._thread.join()


def measure(name: str, work: Callable[[], Any]) -> None:
    if not all(word in name for word in sys.argv[1:] if not word.startswith("--")):
        return
    work()  # compiles schemas, starts threads
    gaps, times = list[float](), list[float]()
    for _ in range(ROUNDS):
        with Watcher() as watcher:
            begun = time.perf_counter()
            kept = work()
            times.append(time.perf_counter() - begun)
        gaps.append(watcher.largest)
        del kept
    print(f"{name:45} {min(times) * 1e3:8.1f} ms, largest gap {min(gaps) * 1e3:7.2f} ms", flush=True)


def on_this_loop(call: Callable[[], Any]) -> Callable[[], Any]:
    """A call on an event loop of this thread, where the work is done."""
    loop = asyncio.new_event_loop()
    return lambda: loop.run_until_complete(call())


def arguments() -> None:
    hub = ToolHub()

    async def plain(data: dict[str, Any]) -> int:
        return len(data)

    async def typed(data: dict[str, list[int]]) -> int:
        return len(data)

    async def texts(text: str) -> int:
        return len(text)

    async def declared(**given: Any) -> int:
        return len(given)

    for tool in (plain, typed, texts):
        hub.register(tool)
    hub.register(declared, parameters={"type": "object", "properties": {"data": {}}})
    data = {f"key {n}": list(range(n, n + 10)) for n in range(100_000)}
    for name in ("plain", "typed", "declared"):
        measure(f"{name}, a dict of 10 MB", on_this_loop(lambda name=name: hub.execute(name, {"data": data})))
    for script, text in (("English", "word " * 1_200_000), ("Chinese", "文字和词语" * 400_000)):
        measure(
            f"text, 6 MB of {script}", on_this_loop(lambda text=text: hub.execute("texts", {"text": text}))
        )
        measure(
            f"declared, 6 MB of {script}",
            on_this_loop(lambda text=text: hub.execute("declared", {"data": text})),
        )


def results() -> None:
    hub = ToolHub()
    values: dict[str, Any] = {
        "6 MB of English": "One more sentence. " * 320_000,
        "6 MB of Chinese": "又一句话。" * 400_000,
        "6 MB of data": [{"name": f"row {n}", "value": n, "share": n / 7} for n in range(120_000)],
        "6 MB of content": [{"type": "text", "text": "A block. " * 700} for _ in range(1_000)],
    }
    for name, value in values.items():

        async def give(value: Any = value) -> Any:
            return value

        hub.register(lambda give=give: give(), name=name.replace(" ", "_"), read_only=True)
        result: ToolResult = hub.call(name.replace(" ", "_"))
        measure(f"execute, {name}", on_this_loop(lambda name=name: hub.execute(name.replace(" ", "_"))))
        measure(
            f"cached, {name}",
            on_this_loop(lambda name=name: hub.execute(name.replace(" ", "_"), cache_ttl=60)),
        )
        measure(f"plain json.dumps, {name}", lambda value=value: json.dumps(value, ensure_ascii=False))
        measure(f"result.text, {name}", lambda result=result: result.text)
        measure(f"hub.format, {name}", lambda result=result: hub.format(result))
        measure(f"format_results, {name}", lambda result=result: toolhub.format_results([result]))


def texts() -> None:
    call = '{"name": "echo", "arguments": {"text": "%s"}}'
    hub = ToolHub()
    hub.register(lambda text: len(text), name="echo", parameters={"type": "object"})
    for script, text in (("English", "word " * 1_200_000), ("Chinese", "文字和词语" * 400_000)):
        message = f"<tool_call>{call % text}</tool_call>"
        measure(f"parse, 6 MB of {script} in a call", lambda message=message: parse(message))
        measure(f"parse, 6 MB of {script}", lambda text=text: parse(text))
        measure(f"run, 6 MB of {script} in a call", on_this_loop(lambda message=message: hub.run(message)))
        measure(f"truncate, 6 MB of {script}", lambda text=text: toolhub.truncate(text, 4_000))
        measure(f"truncate to 6 MB of {script}", lambda text=text: toolhub.truncate(text, 5_900_000))
    big = ["A sentence. " * 85_000 + str(n) for n in range(10)]
    small = ["A sentence. " * 850 + str(n) for n in range(10)]
    measure("merge, ten texts of 1 MB", lambda: merge(big))
    measure("merge, ten texts of 10 KB", lambda: merge(small))
    measure("plain merge, ten texts of 1 MB", lambda: merge_by_hand(big, 300))


def listings(count: int) -> None:
    many = ToolHub()
    for n in range(count):
        many.register(
            lambda: 1, name=f"tool_{n}", description="does something", parameters={"type": "object"}
        )
    measure(f"tools() of {count:,}", many.tools)
    measure(f"stats() of {count:,}", many.stats)
    for api in ("as_openai", "as_anthropic", "as_gemini"):
        measure(f"{api}() of {count:,}", getattr(many, api))
    measure(f"list_tools() of {count:,}", many.list_tools)
    measure(f"a missing name among {count:,}", on_this_loop(lambda: many.execute("tol_31415x")))
    measure(f"explain() a missing name among {count:,}", lambda: many.explain("tol_31415x"))
    measure(f"search() among {count:,}", lambda: many.search("something"))
    measure(f"system_prompt(limit=50) of {count:,}", lambda: many.system_prompt(limit=50))


def main() -> None:
    if "--no-collector" in sys.argv:
        gc.disable()
    sys.setswitchinterval(0.0001)
    arguments()
    results()
    texts()
    listings(20_000)
    listings(100_000)


if __name__ == "__main__":
    main()
