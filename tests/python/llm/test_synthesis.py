"""One answer of several, by a model that the user has."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from llm.fake_openai import FakeOpenAI
from toolhub import ToolHub
from toolhub.llm import OpenAI


@pytest.fixture
def hub() -> ToolHub:
    return two_answers("Rust is a language.", "Rust is a fungus.")


def two_answers(*answers: Any, name: str = "search_notes") -> ToolHub:
    hub = ToolHub()
    for number, answer in enumerate(answers):
        hub.register(
            lambda query, answer=answer: answer, name=name, source="mcps", server=f"s{number}", read_only=True
        )
    return hub


async def async_model(prompt: str) -> str:
    return f"async: {len(prompt) > 0}"


def sync_model(prompt: str) -> str:
    return f"sync in {threading.current_thread() is not threading.main_thread()}"


class WithGenerate:
    def generate(self, prompt: str) -> str:
        return "generated"


class WithGenerateAsync:
    async def generate_async(self, prompt: str) -> str:
        return "generated async"


class Message:
    content = "invoked"


class WithInvoke:
    async def ainvoke(self, prompt: str) -> Message:
        return Message()


@pytest.mark.parametrize(
    ("llm", "answer"),
    [
        (async_model, "async: True"),
        (sync_model, "sync in True"),
        (lambda prompt: async_model(prompt), "async: True"),
        (WithGenerate(), "generated"),
        (WithGenerateAsync(), "generated async"),
        (WithInvoke(), "invoked"),
        (lambda prompt: {"content": "a mapping"}, "a mapping"),
    ],
)
def test_whatever_the_user_has_is_asked(hub: ToolHub, llm: Any, answer: str) -> None:
    result = hub.call("search_notes", {"query": "rust"}, llm=llm)
    assert result.result == answer
    assert (result.meta["synthesized"], result.meta["synthesis_method"]) == (True, "llm")
    assert result.meta["source_count"] == 2
    assert [part["result"] for part in result.full()] == ["Rust is a language.", "Rust is a fungus."]


def test_the_hub_may_have_a_model_of_its_own_and_a_call_another() -> None:
    hub = ToolHub(llm=lambda prompt: "the hub's")
    for server in ("a", "b"):
        hub.register(lambda query, server=server: server, name="search_x", source="mcps", server=server)
    assert hub.call("search_x", "q").result == "the hub's"
    assert hub.call("search_x", "q", llm_client=WithGenerate()).result == "generated"
    assert hub.call_by_capability("search", "q", llm=lambda prompt: "by capability").result == "by capability"


def prompt_of(hub: ToolHub, question: str, name: str = "search_notes") -> str:
    prompts: list[str] = []
    hub.call(name, {"query": question}, strategy="all", llm=lambda prompt: prompts.append(prompt) or "x")
    return prompts[0]


def test_the_prompt_is_in_the_language_of_the_question_and_labels_the_answers(hub: ToolHub) -> None:
    english = prompt_of(hub, "what is rust")
    assert "Question: what is rust" in english
    assert "1. [mcps:s0] Rust is a language." in english
    assert "请把下面几个来源的结果" in prompt_of(hub, "rust 是什么")


@pytest.mark.parametrize(
    ("name", "shown"), [("calculate_x", 100), ("search_x", 300), ("extract_text", 300), ("do_it", 250)]
)
def test_each_answer_is_cut_by_the_kind_of_tool(name: str, shown: int) -> None:
    lines = prompt_of(two_answers("é" * 900, "b", name=name), "q", name).splitlines()
    line = next(line for line in lines if line.startswith("1. [mcps:s0] "))
    assert shown / 2 < len(line.removeprefix("1. [mcps:s0] ")) <= shown


def never(prompt: str) -> str:
    raise AssertionError("no model must be asked")


@pytest.mark.parametrize(
    ("answers", "reason"),
    [(("a" * 1500, "b" * 1500), "more than 2,000 characters"), (("a", "b", "c", "d"), "more than 3 results")],
)
def test_too_much_is_merged_without_a_model(answers: tuple[str, ...], reason: str) -> None:
    hub = two_answers(*answers)
    result = hub.call("search_notes", "q", llm=never, max_parallel=4)
    assert result.meta["synthesis_method"] == "simple_merge"
    assert reason in result.meta["synthesis_reason"]


def test_one_answer_is_not_given_to_a_model() -> None:
    result = two_answers("alone").call("search_notes", "q", llm=never)
    assert result.result == "alone"
    assert result.meta["synthesized"] is False


def broken(prompt: str) -> str:
    raise ConnectionError("no route")


def silent(prompt: str) -> str:
    return "   "


@pytest.mark.parametrize(
    ("llm", "reason"),
    [
        (broken, "no route"),
        (silent, "empty answer"),
        (lambda prompt: None, "empty answer"),
    ],
)
def test_a_model_that_fails_leaves_the_merge_and_its_reason(hub: ToolHub, llm: Any, reason: str) -> None:
    result = hub.call("search_notes", {"query": "rust"}, llm=llm)
    assert result.success
    assert "[mcps:s0] Rust is a language." in result.result
    assert result.meta["synthesis_method"] == "simple_merge"
    assert reason in result.meta["synthesis_reason"]


def test_a_model_that_does_not_answer_in_time_leaves_the_merge(hub: ToolHub) -> None:
    async def hanging(prompt: str) -> str:
        await asyncio.Event().wait()
        return "never"

    # What is left of the deadline is shorter than the ten seconds that a model has.
    result = hub.call("search_notes", {"query": "rust"}, llm=hanging, deadline=3)
    assert result.meta["synthesis_method"] == "simple_merge"
    assert "did not answer within" in result.meta["synthesis_reason"]


def test_cancelling_the_call_cancels_the_model(hub: ToolHub) -> None:
    async def scene() -> None:
        asked, cancelled = asyncio.Event(), asyncio.Event()

        async def hanging(prompt: str) -> str:
            asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            return "never"

        call = asyncio.create_task(hub.execute("search_notes", {"query": "rust"}, llm=hanging))
        await asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert cancelled.is_set()

    asyncio.run(scene())


@pytest.fixture
def endpoint() -> Iterator[Callable[..., OpenAI]]:
    """A model behind the API: the local server, or a real one in `make test-llm`."""
    real = os.environ.get("TOOLHUB_LLM_BASE_URL")
    with FakeOpenAI(answer="Rust is a language and a fungus.") as server:
        yield lambda: OpenAI(
            real or server.base_url, model="any", timeout=60.0 if real else 10.0, max_tokens=60
        )


def test_a_model_endpoint_makes_one_answer(hub: ToolHub, endpoint: Callable[..., OpenAI]) -> None:
    result = hub.call("search_notes", {"query": "what is rust"}, llm=endpoint())
    assert result.meta["synthesis_method"] == "llm", result.meta.get("synthesis_reason")
    assert "rust" in result.result.lower()


def test_only_tools_that_answered_decide_how_much_the_model_sees() -> None:
    """A candidate that failed has no say, as in the core's own driver: these answers are not search results."""
    hub, prompts = ToolHub(), []

    def fails(query: str) -> str:
        raise OSError("no network")

    hub.register(fails, name="look", server="a", source="mcps", capabilities=["search"], read_only=True)
    for id in ("b", "c"):
        answer = id * 290
        hub.register(
            lambda query, answer=answer: answer, name="look", server=id, source="mcps",
            capabilities=["document"], read_only=True,
        )  # fmt: skip
    result = hub.call("look", "x", strategy="all", llm=lambda prompt: prompts.append(prompt) or "one")
    assert result.result == "one"
    assert 200 < prompts[0].count("b" * 10) * 10 <= 250
