"""A cached or shared result equals the first one in every attribute, and every refusal is built by the core."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.tools import Run, turns
from toolhub import ErrorKind, ToolError, ToolHub, ToolResult, format_results

SERVER = Path(__file__).parents[1] / "mcp" / "faults" / "stdio_server.py"

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def attributes(result: ToolResult) -> dict[str, Any]:
    """All that a caller can read from a result, without what must differ: durations and `cached`."""
    meta = {key: value for key, value in result.meta.items() if key not in ("cached", "duration_ms")}
    meta["attempts"] = [{**row, "duration_ms": None} for row in meta["attempts"]]
    return {
        "keys": {key: value for key, value in result.items() if key != "_meta"},
        "meta": meta,
        "content": result.content,
        "structured": result.structured,
        "full": result.full(),
        "exception": result.exception,
        "kind": result.kind,
        "error": result.meta.get("error"),
        "text": result.text,
    }


class Answers:
    """A harmless tool that returns a value, or raises, when it is released."""

    def __init__(self, value: Any) -> None:
        self.value, self.go = value, asyncio.Event()

    async def __call__(self) -> Any:
        await self.go.wait()
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        VALUES | VALUES.map(lambda value: ToolError(str(value), ErrorKind.AUTH)), min_size=1, max_size=4
    ),
    st.sampled_from(["first", "all", "fallback"]),
)
def test_a_shared_result_equals_the_first_one(values: list[Any], strategy: str) -> None:
    async def scene() -> None:
        hub, tools = ToolHub(), [Answers(value) for value in values]
        for number, tool in enumerate(tools):
            hub.register(tool, name="get_it", source="tools", priority=number, read_only=True)
        calls = [
            asyncio.create_task(hub.execute("get_it", strategy=strategy, single_flight=True))
            for _ in range(3)
        ]
        await turns()
        for tool in tools:
            tool.go.set()
        first, *others = [attributes(result) for result in await asyncio.gather(*calls)]
        assert all(other == first for other in others)

    asyncio.run(scene())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(VALUES.filter(lambda value: value is not None), min_size=1, max_size=3),
    st.sampled_from(["first", "all", "fallback"]),
)
def test_a_cached_result_equals_the_first_one(values: list[Any], strategy: str) -> None:
    async def scene() -> None:
        hub = ToolHub()
        for number, value in enumerate(values):

            async def answer(value: Any = value) -> Any:
                return value

            hub.register(lambda answer=answer: answer(), name="get_it", priority=number, read_only=True)
        first = await hub.execute("get_it", strategy=strategy, cache_ttl=1000)
        again = await hub.execute("get_it", strategy=strategy, cache_ttl=1000)
        assert again.meta["cached"] is first.success
        if first.success:
            assert attributes(again) == attributes(first)

    asyncio.run(scene())


@pytest.mark.parametrize("options", [{"cache_ttl": 1000}, {"single_flight": True}])
def test_a_shared_merge_is_synthesised_like_the_first(run: Run, options: dict[str, Any]) -> None:
    async def scene() -> None:
        prompts: list[str] = []

        def model(prompt: str) -> str:
            prompts.append(prompt)
            return "both"

        hub = ToolHub(llm=model)
        for text in ("one", "two"):

            async def search(q: str, text: str = text) -> str:
                await turns()
                return f"{text} {q}"

            hub.register(search, name="search", source="tools" if text == "one" else "skills")
        if "cache_ttl" in options:
            results = [await hub.execute("search", {"q": "x"}, **options) for _ in range(2)]
        else:
            calls = [hub.execute("search", {"q": "x"}, **options) for _ in range(2)]
            results = await asyncio.gather(*calls)
        assert [result.result for result in results] == ["both", "both"]
        assert [result.meta["synthesis_method"] for result in results] == ["llm", "llm"]
        answers = [{"source": "tools", "result": "one x"}, {"source": "skills", "result": "two x"}]
        assert [result.full() for result in results] == [answers, answers]

    run(scene())


def test_a_cached_answer_of_a_server_keeps_its_content(run: Run) -> None:
    async def scene() -> None:
        async with ToolHub() as hub:
            hub.add_server("lab", command=sys.executable, args=[str(SERVER)], effects=False)
            await hub.connect()
            first = await hub.execute("content_types", cache_ttl=1000)
            again = await hub.execute("content_types", cache_ttl=1000)
            assert (first.meta["cached"], again.meta["cached"]) == (False, True)
            assert [block["type"] for block in again.content] == [block["type"] for block in first.content]
            assert "image" in [block["type"] for block in again.content]
            assert attributes(again) == attributes(first)
            for api in ("anthropic", "openai"):
                written = [format_results([("c1", result)], api) for result in (first, again)]
                assert written[0] == written[1]

    run(scene())
