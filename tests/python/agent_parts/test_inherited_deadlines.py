"""The deadline of a sub-agent: that of its agent or less, and never one that is over."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from support.agents import call, office
from toolhub.agents import AgentView, ChatLoop, CoordinationAgent
from toolhub.agents import budget as deadline_module


class Clock:
    """Time as an input: it passes when a test says so. Deadlines are long, so that the real time of a test does not count."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(deadline_module, "time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


def slow(clock: Clock, seconds: float = 500) -> Callable[[str], str]:
    """A model that takes its time and always has something to calculate."""
    numbers = iter(range(100))

    def model(prompt: str) -> str:
        clock.now += seconds
        return call("calculate", expression=f"{next(numbers)} + 1")

    return model


@pytest.mark.parametrize(
    ("own", "rounds"),
    [({}, 4), ({"deadline": 100_000}, 4), ({"deadline": 1000}, 2)],
    ids=["none", "more", "less"],
)
def test_a_sub_agent_has_the_deadline_of_its_agent_or_less(clock: Clock, own: Any, rounds: int) -> None:
    profile = {"deadline": 2000, "views": {"helper": {"max_rounds": 50, **own}}}
    helper = ChatLoop(office()[0], slow(clock), profile=profile).sub_agent("helper")
    answer = helper.answer_sync("Go")
    assert (answer.reason, answer.spent["rounds"]) == ("deadline", rounds)


def test_the_deadline_holds_over_three_levels(clock: Clock) -> None:
    boss = ChatLoop(office()[0], slow(clock), profile={"deadline": 2000})
    answer = boss.sub_agent({"deadline": 50_000}).sub_agent({"max_rounds": 50}).answer_sync("Go")
    assert (answer.reason, answer.spent["rounds"]) == ("deadline", 4)


def test_a_coordination_agent_hands_its_deadline_down(clock: Clock) -> None:
    def model(prompt: str) -> str:
        clock.now += 1500
        return '[{"id": 1, "description": "Think"}, {"id": 2, "description": "Again", "dependencies": [1]}]'

    helper = CoordinationAgent(office()[0], model, profile={"deadline": 2000}).sub_agent(
        {"deadline": 100_000}
    )
    assert helper.answer_sync("Go").reason == "deadline"


def test_a_deadline_that_is_over_is_not_inherited(clock: Clock) -> None:
    boss = ChatLoop(office()[0], lambda prompt: "Hello.", profile={"deadline": 2000})
    helper = boss.sub_agent({})
    assert boss.answer_sync("Hi").reason == "answered"
    clock.now += 10_000
    assert helper.answer_sync("Hi").reason == "answered"
    assert boss.answer_sync("Hi again").reason == "answered"


def test_a_helper_that_is_asked_by_a_tool_has_what_is_left(clock: Clock) -> None:
    hub, _ = office()
    left: list[float | None] = []

    @hub.tool(read_only=True)
    async def ask_helper() -> str:
        "Ask the helper."
        answer = await helper.answer("Go")
        left.append(helper.view.left())
        return str(answer.reason)

    def model(prompt: str) -> str:
        clock.now += 1500
        return call("ask_helper")

    boss = ChatLoop(hub, model, profile={"deadline": 2000})
    helper = boss.sub_agent({"max_rounds": 50}, slow(clock, 250))
    assert boss.answer_sync("Go").reason == "deadline"
    assert left == [0.0]  # two rounds of the helper took what the boss had left


def test_a_view_of_several_runs_has_a_deadline_until_the_last_one_ends(clock: Clock) -> None:
    view = AgentView(office()[0], deadline=2000)
    assert view.left() == 2000
    view.start()
    view.start(1000)
    clock.now += 500
    view.finish()
    assert view.left() == 500
    view.finish()
    assert view.left() == 2000


def test_a_stream_that_is_closed_late_does_not_end_the_next_run(clock: Clock) -> None:
    import asyncio

    async def scene() -> str:
        boss = ChatLoop(office()[0], lambda prompt: "Hello.", profile={"deadline": 2000})
        first = boss.stream("One")
        async for event in first:
            if event.type == "answered":
                break
        second = boss.stream("Two")
        await anext(second)
        await first.aclose()
        clock.now += 5000  # the deadline of the second run is over now
        reasons = [event.answer["reason"] async for event in second if event.type == "answered"]
        return str(reasons)

    assert asyncio.run(scene()) == "['deadline']"
