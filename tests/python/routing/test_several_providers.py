"""A name on several servers, and strategies that are set: at a tool, for a pattern, for a call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub, tool

from .conftest import Lab

pytestmark = pytest.mark.anyio


def asks(name: str, **arguments: Any) -> str:
    return f'<tool_call>{{"name": "{name}", "arguments": {{"text": "{arguments.get("text", "x")}"}}}}</tool_call>'


async def test_the_first_server_of_the_config_answers_a_model_alone(lab: Lab) -> None:
    for label in ("b", "a", "c"):
        lab.add(label, "search_web")
    await lab.hub.connect()
    outcome = await lab.hub.run(asks("search_web"))
    (result,) = outcome.results
    assert (result.result, result.meta["server"]) == ("b x", "b")
    assert len(result.meta["attempts"]) == 1
    assert not result.meta.get("synthesized")
    assert [lab.asked(label, "tools/call") for label in "bac"] == [1, 0, 0]
    # By name the rules decide: answers of searches complement each other.
    merged = await lab.hub.execute("search_web", {"text": "x"})
    assert merged.meta["strategy"] == "all"
    assert merged.meta["source_count"] == 3


async def test_the_others_are_the_fallback_and_the_last_success_comes_first(lab: Lab) -> None:
    lab.add("first", "search_web", mode="forgets")
    lab.add("second", "search_web")
    await lab.hub.connect()
    call = {"tool_name": "search_web", "arguments": {"text": "x"}}
    result = await lab.hub.dispatch(call)
    assert result.result == "second x"
    assert [attempt["server"] for attempt in result.meta["attempts"]] == ["first", "second"]
    again = await lab.hub.dispatch(call)
    assert [attempt["server"] for attempt in again.meta["attempts"]] == ["second"]
    explained = lab.hub.explain(call)
    assert [candidate.server for candidate in explained.candidates] == ["second", "first"]
    assert "the first match answers a model's call, and the others are its fallback" in explained.text


@pytest.fixture
async def lab_with(tmp_path: Path) -> AsyncIterator[Callable[..., Lab]]:
    hubs: list[ToolHub] = []

    def make(**options: Any) -> Lab:
        hubs.append(ToolHub(**options))
        return Lab(hubs[-1], tmp_path)

    yield make
    for hub in hubs:
        await hub.aclose()


async def test_a_pattern_or_a_call_lets_several_servers_answer_a_model(
    lab_with: Callable[..., Lab],
) -> None:
    lab = lab_with(strategies={"*": "fallback", "search_*": "all"})
    for label in ("a", "b"):
        lab.add(label, "search_web", "get_page")
    await lab.hub.connect()
    for entry in ({"tool_name": "search_web"}, "search_web"):
        explained = lab.hub.explain(entry)
        assert explained.strategy == "all"
        assert "because the hub has this strategy for 'search_*'" in explained.text
    (result,) = (await lab.hub.run(asks("search_web"))).results
    assert result.meta["source_count"] == 2
    assert result.meta["rule"] == "the hub has this strategy for 'search_*'"
    call = {"tool_name": "get_page", "arguments": {"text": "x"}}
    assert "for '*'" in lab.hub.explain(call).text
    assert (await lab.hub.dispatch(call)).result == "a x"
    assert (await lab.hub.dispatch(call, strategy="all")).meta["source_count"] == 2


async def test_patterns_know_servers_and_the_most_specific_counts(lab_with: Callable[..., Lab]) -> None:
    lab = lab_with(strategies={"get_page": "all", "a/get_page": "first", "get_*": "fallback"})
    for label in ("a", "b"):
        lab.add(label, "get_page", "get_news")
    await lab.hub.connect()
    assert lab.hub.explain("get_page").strategy == "first"
    assert "for 'a/get_page'" in lab.hub.explain("get_page").text
    assert "for 'get_*'" in lab.hub.explain("get_news").text


async def test_a_tool_has_a_strategy_of_its_own() -> None:
    hub = ToolHub(strategies={"weather": "first"})

    @hub.tool(strategy="all", read_only=True)
    def weather(city: str) -> str:
        return f"sun in {city}"

    @tool(name="weather", read_only=True)
    def other(city: str) -> str:
        return f"rain in {city}"

    hub.register(other, source="skills")
    result = await hub.dispatch({"tool_name": "weather", "arguments": {"city": "Bern"}})
    assert result.meta["source_count"] == 2
    assert result.meta["rule"] == "the tool was registered with this strategy"
    assert "because the tool was registered with this strategy" in hub.explain("weather").text
    one = await hub.execute("weather", {"city": "Bern"}, strategy="fallback")
    assert (one.result, one.meta["rule"]) == ("sun in Bern", "the caller asked for it")


async def test_what_may_act_never_runs_twice_whatever_is_set() -> None:
    hub = ToolHub(strategies={"*": "all"})
    sent: list[str] = []
    for source in ("tools", "skills"):
        hub.register(sent.append, name="send_mail", source=source, strategy="first")
    explained = hub.explain("send_mail")
    assert explained.strategy == "fallback"
    assert "has effects" in explained.text
    await hub.execute("send_mail", {"object": "hello"})
    assert sent == ["hello"]


@pytest.mark.parametrize(
    ("strategies", "error", "says"),
    [
        ({"search_*": "both"}, ValueError, "strategy must be 'auto', 'first', 'all' or 'fallback'"),
        ({"!search_*": "all"}, ValueError, "must not start with '!'"),
        ({"": "all"}, ValueError, "must not be empty"),
        (["search_*"], TypeError, "strategies must be a mapping, got list"),
    ],
)
def test_a_wrong_strategy_is_refused_at_once(strategies: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says.replace("*", r"\*")):
        ToolHub(strategies=strategies)


def test_a_wrong_strategy_of_a_tool_is_refused_at_once() -> None:
    with pytest.raises(
        ValueError, match="strategy must be 'auto', 'first', 'all' or 'fallback', got \"both\""
    ):
        ToolHub().register(len, strategy="both")  # type: ignore[arg-type]
