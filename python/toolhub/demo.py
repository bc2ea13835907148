"""A short tour of the hub: `make demo`, or `python -m toolhub.demo`."""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from toolhub import ToolHub, ToolResult

SKILL = """---
name: haiku
description: How to write a haiku. Use it when the user wants a short poem.
---
Three lines of five, seven and five syllables. Name a season.
"""
MODEL = """I will look it up.
<tool_call>{'tool_name': 'add', 'arguments': {"a": 20, "b": "22",}}</tool_call>
<tool_call>{"tool_name": "haiku", "arguments": {}}</tool_call>"""


def show(title: str, result: ToolResult) -> None:
    """Print the answer, and how it came about."""
    meta = result.meta
    tried = ", ".join(
        f"{attempt['source']}{':' + attempt['server'] if attempt['server'] else ''} "
        f"{'answered' if attempt['ok'] else attempt['kind']}"
        for attempt in meta["attempts"]
    )
    print(f"\n{title}\n  {'result' if result.success else 'error '}  {result.text}")
    print(f"  how     {meta['strategy']}: {tried or 'nothing was started'} ({meta['duration_ms']:.1f} ms)")


def register_tools(hub: ToolHub) -> None:
    """Register tools, some of them offered by several sources."""

    @hub.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    async def from_cache(city: str) -> str:
        await asyncio.sleep(0.01)
        return f"{city}: 21 °C, sunny"

    async def from_far_away(city: str) -> str:
        await asyncio.sleep(60)
        return f"{city}: too late"

    async def broken(city: str) -> str:
        raise ConnectionError("no route to the weather office")

    now, tomorrow = "The weather", "The weather tomorrow"
    far: Any = {"source": "mcps", "server": "far"}
    hub.register(from_far_away, name="weather", description=now, read_only=True, **far)
    hub.register(from_cache, name="weather", description=now, read_only=True)
    hub.register(broken, name="forecast", description=tomorrow)
    hub.register(from_cache, name="forecast", description=tomorrow, **far)
    articles = {"library": "Rust is a systems language.", "encyclopedia": "Rust is also a fungus."}
    for server, text in articles.items():
        hub.register(lambda query, text=text: text, name="search", source="mcps", server=server)  # pyright: ignore


async def tour(hub: ToolHub) -> None:
    """Call, race, fall back, merge, fail clearly."""
    show("A call; '2' is coerced to an integer", await hub.execute("add", {"a": "2", "b": 3}))
    show("An unknown argument is named", await hub.execute("add", {"a": 2, "c": 3}))
    show("A misspelt name", await hub.execute("wether", {"city": "Bern"}))
    show("A race: the fastest wins", await hub.execute("weather", {"city": "Bern"}, strategy="first"))
    show("Fallback: the next one when one fails", await hub.execute("forecast", "Bern", strategy="fallback"))
    show("Search results complement each other: all are merged", await hub.execute("search", "rust"))
    started = time.perf_counter()
    results = await hub.execute_many([("add", {"a": n, "b": n}) for n in range(1000)], concurrency=8)
    ms = (time.perf_counter() - started) * 1e3
    print(f"\n1,000 calls, 8 at a time\n  result  {sum(r.result for r in results)} in all, {ms:.0f} ms")


async def as_a_model_sees_it(hub: ToolHub) -> None:
    """Search, write a prompt, and run what a model wrote."""
    for query in ("will it rain tomorrow", "明天的天气", "a short poem"):
        hits = ", ".join(hit.name for hit in hub.search(query, k=2))
        print(f"\nSearch: {query}\n  found   {hits}")
    prompt = hub.system_prompt(query="will it rain tomorrow", limit=1, style="compact")
    print("\nThe prompt for that question")
    print("\n".join(f"  | {line}" for line in prompt.partition("## How")[0].strip().splitlines()))
    outcome = await hub.run(MODEL)
    print("\nA model wrote calls with single quotes and a trailing comma; this is what it gets back")
    for message in outcome.messages:
        print("\n".join(f"  | {line[:110]}" for line in str(message["content"]).splitlines()))


def main() -> None:
    """Create a skill, use one hub, and then another that has its memory."""
    with tempfile.TemporaryDirectory() as folder:
        skill = Path(folder, "skills", "haiku", "SKILL.md")
        skill.parent.mkdir(parents=True)
        skill.write_text(SKILL, encoding="utf8")
        store = Path(folder, "hub.db")
        with ToolHub(skills=skill.parent.parent, store=store) as hub:
            register_tools(hub)
            print(f"{len(hub)} tools; capabilities: {', '.join(hub.capabilities())}")
            asyncio.run(tour(hub))
            show("The same without asyncio, as in a notebook", hub.call("add", {"a": 20, "b": 22}))
            asyncio.run(as_a_model_sees_it(hub))
        with ToolHub(store=store) as hub:
            register_tools(hub)
            print("\nStatistics after a restart")
            for row in hub.stats(rows=True):
                where = row["server"] or row["source"]
                print(f"  {row['tool']:9} {where:13} {row['calls']:5} calls, {row['successes']:5} successes")


if __name__ == "__main__":
    main()
