"""Nonsense given to agents: states, plans, profiles and questions are refused in one sentence, before anything happens."""

from __future__ import annotations

import asyncio
import copy
import functools
import json
import re
import subprocess
import sys
import textwrap
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from toolhub import ToolHub
from toolhub.agents import (
    AgentProfile,
    ChatLoop,
    CoordinationAgent,
    ExecutionAgent,
    PlanningAgent,
    Step,
)

hub = ToolHub()


@hub.tool(read_only=True)
def get_number(of: int) -> int:
    return of


CALL = '<tool_call>{"name": "get_number", "arguments": {"of": 1}}</tool_call>'
PLAN = json.dumps(
    [
        {"id": 1, "description": "Think", "tool_type": "none"},
        {"id": 2, "description": "Say it", "tool_type": "none", "dependencies": [1]},
    ]
)


def agent(kind: str) -> Any:
    if kind == "ChatLoop":
        script = iter([CALL, *["It is 1."] * 9])
        return ChatLoop(hub, lambda _: next(script))
    return CoordinationAgent(hub, lambda prompt: PLAN if prompt.startswith("You plan") else "5")


async def paused_state(made: Any) -> dict[str, Any]:
    async for event in made.stream("What is it?"):
        if event.type in ("call_finished", "step_finished"):
            made.pause()
        if event.type == "paused":
            return event.state
    raise AssertionError("it did not pause")


KINDS = ("ChatLoop", "CoordinationAgent")


@functools.cache  # not on import: each worker imports this file
def states() -> dict[str, dict[str, Any]]:
    """The state of a paused run of each kind."""
    found = {kind: asyncio.run(paused_state(agent(kind))) for kind in KINDS}
    found["ChatLoop"]["talk"]["held"] = {
        "message": "It is 1.",
        "done": [{"place": 0, "key": "[]", "result": {"success": True, "result": 1, "error": None}}],
    }
    return found


def places(value: Any, *path: Any) -> list[tuple[Any, ...]]:
    inner: Any = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return [path, *(place for key, one in inner for place in places(one, *path, key))]


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


NONSENSE = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(),
    some.floats(),
    some.text(max_size=5),
    some.binary(max_size=3),
    some.lists(some.none() | some.integers() | some.text(max_size=3), max_size=3),
    some.dictionaries(some.text(max_size=3) | some.integers(), some.integers(), max_size=3),
    some.sampled_from(
        [{}, [{}], {"message": 3}, {"done": [1]}, object(), 10**400, deep(500), deep(100_000), "\ud800"]
    ),
)
MISSING = object()


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(some.data())
@pytest.mark.parametrize("kind", KINDS)
def test_a_state_that_is_nonsense_is_refused_in_a_sentence(kind: str, data: Any) -> None:
    state: Any = copy.deepcopy(states()[kind])
    *path, last = data.draw(some.sampled_from(places(state)[1:]))
    inside = state
    for key in path:
        inside = inside[key]
    nonsense = data.draw(NONSENSE | some.just(MISSING))
    if nonsense is MISSING:
        del inside[last]
    else:
        inside[last] = nonsense
    resumed = agent(kind)
    answers: list[Any] = []
    refusal = refused(lambda: answers.append(resumed.answer_sync(state=state)))
    if refusal:
        assert refusal.startswith(f"this is not the state of a paused run of {kind}")
        assert len(refusal) < 500
        assert "\n" not in refusal
        # Nothing has begun: the agent answers the next question.
        answers.append(resumed.answer_sync("What is it?"))
    assert answers[0].reason in ("answered", "failed", "rounds", "budget", "deadline")


@pytest.mark.parametrize(
    ("kind", "changes", "why"),
    [
        ("ChatLoop", {"format": "0"}, "format must be a format of tool calls, got '0'"),
        ("ChatLoop", {"seconds_left": 10**400}, "seconds_left must be seconds, at least 0, got int"),
        ("CoordinationAgent", {"attempts": [{}]}, "results[0].attempts[0] has no 'method'"),
        (
            "CoordinationAgent",
            {"dependencies": [2]},
            "step 1 has a result, but a step that it depends on has none",
        ),
    ],
)
def test_a_state_says_what_is_wrong_with_it(kind: str, changes: dict[str, Any], why: str) -> None:
    state = copy.deepcopy(states()[kind])
    for inside in (state, *(state.get(part, [{}])[0] for part in ("plan", "results"))):
        inside.update((name, value) for name, value in changes.items() if name in inside)
    with pytest.raises(ValueError, match=f": {re.escape(why)}$"):
        agent(kind).answer_sync(state=state)


@pytest.mark.parametrize("state", [3, "x", [], {}, {"kind": "ChatLoop"}, {"kind": "ChatLoop", "version": 2}])
def test_what_is_not_a_state_at_all(state: Any) -> None:
    for kind in KINDS:
        with pytest.raises(ValueError, match="this is not the state of a paused run"):
            agent(kind).answer_sync(state=state)


def test_a_state_is_not_changed_by_the_run_that_goes_on_from_it() -> None:
    for kind, state in states().items():
        before = json.dumps(state)
        assert agent(kind).answer_sync(state=state).reason == "answered"
        assert json.dumps(state) == before


def test_a_run_goes_on_in_the_format_that_its_model_has_written() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "get_number", "arguments": '{"of": 1}'}}
    script: Any = iter([{"role": "assistant", "content": None, "tool_calls": [call]}, "It is 1."])
    loop = ChatLoop(hub, chat=lambda _: next(script))
    state = asyncio.run(paused_state(loop))
    assert state["format"] == "openai"
    assert loop.answer_sync(state=state).text == "It is 1."


STEP = ("id", "description", "tool_type", "dependencies", "arguments", "complexity", "odd")
PROFILE = ("name", "prompt", "views", "effects", "available_tools", "max_uses", "deadline", "max_rounds")
FIELDS = some.sampled_from([*STEP, *PROFILE, "enable_tool_calling"])


def refused(action: Any) -> str:
    """Why an action was refused; empty if it was not."""
    try:
        action()
    except (ValueError, TypeError) as error:
        return str(error)
    return ""


@settings(max_examples=300, deadline=None)
@given(some.dictionaries(FIELDS, NONSENSE) | NONSENSE, NONSENSE)
def test_plans_and_profiles_that_are_nonsense_are_refused_in_a_sentence(given: Any, earlier: Any) -> None:
    def described(action: Any) -> None:
        refusal = refused(action)
        for words in ("object is not", "unhashable", "not supported between", "has no attribute"):
            assert words not in refusal

    described(lambda: Step.of(given))
    described(lambda: AgentProfile.of(given if isinstance(given, dict) else {"views": {"a": given}}))
    described(lambda: ExecutionAgent(hub).execute_step_sync({"description": "x"}, [earlier]))


def test_views_that_are_nested_too_deeply_are_refused() -> None:
    nested: dict[str, Any] = {}
    for _ in range(5_000):
        nested = {"views": {"a": nested}}
    with pytest.raises(ValueError, match="nested too deeply"):
        AgentProfile.from_dict(nested)


@pytest.mark.parametrize("question", ["", " ", "\n\t", "　"])
def test_an_empty_question_is_an_error(question: str) -> None:
    for kind in KINDS:
        with pytest.raises(ValueError, match="the question is empty"):
            agent(kind).answer_sync(question)
    with pytest.raises(ValueError, match="the question is empty"):
        PlanningAgent(hub, lambda _: PLAN).decompose_task_sync(question)


PENDING = """
import asyncio, sys
from toolhub import ToolHub
from toolhub.agents import CoordinationAgent

hub = ToolHub()

async def slow() -> int:
    await asyncio.sleep(60)

class Other:
    name, description = "get_slow", "Wait."
    async def execute(self, input):
        await asyncio.sleep(60)

hub.register(slow, name="get_slow", read_only=True)
hub.register(Other(), read_only=True)
PLAN = '[{"id": 1, "description": "Wait", "tool_type": "get_slow"}, {"id": 2, "description": "Wait", "tool_type": "get_slow"}]'
WAYS = {
    "execute": lambda: hub.execute("get_slow", {}, strategy="first"),
    "execute_many": lambda: hub.execute_many(["get_slow"] * 3),
    "run": lambda: hub.run('<tool_call>{"name": "get_slow", "arguments": {}}</tool_call>' * 2),
    "agent": lambda: CoordinationAgent(hub, lambda prompt: PLAN).answer("Wait"),
}

async def main():
    asyncio.get_running_loop().call_later(0.3, sys.exit, 7)
    await WAYS[sys.argv[1]]()

loop = asyncio.new_event_loop()
try:
    loop.run_until_complete(main())
except SystemExit as end:
    print("ended", end.code)
loop.close()
"""


@pytest.mark.parametrize("way", ["execute", "execute_many", "run", "agent"])
def test_a_loop_that_ends_with_calls_pending_prints_nothing(way: str) -> None:
    program = [sys.executable, "-c", textwrap.dedent(PENDING), way]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=120)
    # asyncio itself tells of the task of the program, which is not ours.
    assert done.stdout == "ended 7\n"
    told = [line for line in done.stderr.splitlines() if line.startswith("task:") and "main()" not in line]
    assert told == [], done.stderr
