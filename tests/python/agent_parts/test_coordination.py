"""From a question to an answer: order, events, pause and resume, budgets, sub-agents."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from support.agents import Roles, Script, office, types
from toolhub import ToolHub
from toolhub.agents import (
    AgentEvent,
    AgentView,
    Budget,
    CoordinationAgent,
    Paused,
    Plan,
    PlanMade,
    Step,
    StepResult,
    Verification,
)


def steps(*rows: tuple[Any, ...]) -> str:
    keys = ("id", "description", "tool_type", "dependencies", "arguments")
    return json.dumps({"steps": [dict(zip(keys, row, strict=False)) for row in rows]})


PARIS = steps(
    (1, "Search the web for the population of Paris", "search_web"),
    (2, "Calculate 2102650 / 2", "calculate", [1], {"expression": "2102650 / 2"}),
    (3, "Give the answer", "none", [1, 2]),
)


async def collect(stream: Any) -> list[AgentEvent]:
    return [event async for event in stream]


def test_a_question_is_planned_carried_out_and_verified() -> None:
    hub, calls = office()
    model = Roles(PARIS, "Half of Paris are 1,051,325 people.")
    answer = CoordinationAgent(hub, model).answer_sync("How many people are half of Paris?")
    assert (answer.text, str(answer), answer.success) == ("Half of Paris are 1,051,325 people.",) * 2 + (
        True,
    )
    assert [name for name, _ in calls] == ["search_web", "calculate"]
    assert answer.verification["verified"]
    assert answer.spent == {
        "rounds": 2,
        "calls": 2,
        "tokens": answer.spent["tokens"],
        "uses": {"search_web": 1, "calculate": 1},
    }
    assert json.loads(json.dumps(answer))["transcript"][0]["type"] == "run_started"


def test_events_come_while_the_work_goes_on() -> None:
    hub, _ = office()
    agent = CoordinationAgent(hub, Roles(PARIS, "1,051,325"))
    events = asyncio.run(collect(agent.stream("How many?")))
    assert types(events) == [
        "run_started", "model_answered", "plan_made", "step_started", "step_finished", "step_started", "step_finished",
        "step_started", "model_answered", "step_finished", "verified", "answered",
    ]  # fmt: skip
    again = [AgentEvent.of(json.loads(json.dumps(event))) for event in events]
    assert again == events
    assert [type(event) for event in again] == [type(event) for event in events]


def test_an_answer_that_the_results_do_not_support_is_reported() -> None:
    hub, _ = office()
    answer = CoordinationAgent(hub, Roles(PARIS, "Half of Paris are 1,300,000 people.")).answer_sync(
        "How many?"
    )
    assert not answer.verification["verified"]
    assert answer.verification["issues"] == ["The number 1,300,000 is not in the results."]


def test_the_last_result_that_is_not_empty_is_the_answer() -> None:
    hub, _ = office()
    plan = steps((1, "Calculate 6 * 7", "calculate"), (2, "Do nothing", "quiet"), (3, "Fail", "loud"))
    hub.register(lambda: "", name="quiet", read_only=True)

    @hub.tool(effects=True)
    def loud() -> None:
        raise ValueError("too loud")

    answer = CoordinationAgent(hub, Roles(plan)).answer_sync("What?")
    # What was to change something has failed, and no other result makes up for it.
    assert (answer.text, answer.success, answer.reason) == ("42", False, "failed")
    assert "too loud" in answer.errors[0]


def test_without_any_result_the_errors_are_the_answer() -> None:
    answer = CoordinationAgent(ToolHub()).answer_sync("Why?")
    assert (answer.success, answer.reason) == (False, "failed")
    assert answer.text == "Step 1: There is no model to reason with."


@pytest.mark.parametrize(
    "text", ["I think so.", "", '{"steps": [{"id": 1, "desc', "我认为应该先搜索。", "{}"]
)
def test_a_model_that_does_not_plan_still_answers(text: str) -> None:
    answer = CoordinationAgent(office()[0], Roles(text, "Yes.")).answer_sync("Is it so?")
    assert (answer.text, answer.success) == ("Yes.", True)
    made = next(event for event in answer.transcript if event.type == "plan_made")
    assert made.problems


def test_a_plan_in_circles_with_unknown_tools_ends_and_tells_why() -> None:
    plan = steps(
        (1, "Read the moon", "read_moon", [2]),
        (2, "b", "none", [1]),
        *((n, "x", "none", [n + 1]) for n in range(3, 100)),
    )
    answer = CoordinationAgent(office()[0], Roles(plan, "Done thinking.")).answer_sync("Go")
    made = next(event for event in answer.transcript if event.type == "plan_made")
    assert len(made.steps) == 20
    assert any("read_moon" in problem for problem in made.problems)
    assert any("wait for each other" in problem for problem in made.problems)
    assert answer.success


@pytest.mark.parametrize("profile", [{"available_tools": ["read_*"]}, {"effects": "not_acting"}])
@pytest.mark.parametrize("named", ["send_mail", "sendMail"])
def test_a_tool_that_is_not_allowed_is_not_called(profile: dict[str, Any], named: str) -> None:
    hub, calls = office()
    plan = steps((1, "Send a mail to all", named))
    model = Roles(plan, "All have got their mail.")
    answer = CoordinationAgent(hub, model, profile=profile).answer_sync("Send it")
    assert (calls, model.roles(), answer.spent["calls"]) == ([], ["plan"], 0)
    # Nobody has sent a mail, so the model is not asked to tell that somebody has.
    assert (answer.success, answer.reason) == (False, "failed")
    assert "'send_mail' was not called: it is not among the tools that are allowed here" in answer.text
    (made,) = (event for event in answer.transcript if isinstance(event, PlanMade))
    assert made.problems == [
        f"Step 1 names a tool that the profile does not allow: {named!r}; the step fails."
    ]


def test_a_harmless_tool_that_is_not_allowed_is_told_and_replaced() -> None:
    hub, calls = office()
    plan = steps((1, "Read invoice 7", "read_invoice"))
    answer = CoordinationAgent(
        hub, Roles(plan, "I cannot read it."), profile={"available_tools": ["calculate"]}
    ).answer_sync("Read it")
    (made,) = (event for event in answer.transcript if isinstance(event, PlanMade))
    assert made.problems == [
        "Step 1 names a tool that the profile does not allow: 'read_invoice'; it is done by reasoning."
    ]
    assert (answer.text, calls, answer.verification["verified"]) == ("I cannot read it.", [], False)
    assert answer.steps[0]["method"] == "reasoned"


def test_a_paused_run_goes_on_in_another_agent_and_does_nothing_twice() -> None:
    hub, calls = office()

    async def first() -> dict[str, Any]:
        agent = CoordinationAgent(hub, Roles(PARIS, "never"), profile={"max_calls": 2})
        async for event in agent.stream("How many?"):
            if event.type == "step_finished":
                agent.pause()
            if isinstance(event, Paused):
                return json.loads(json.dumps(event.state))
        raise AssertionError("it did not pause")

    state = asyncio.run(first())
    assert calls == [("search_web", "population of Paris")]
    again = CoordinationAgent(hub, Roles("never", "1,051,325"), profile={"max_calls": 2})
    events = asyncio.run(collect(again.resume(state)))
    assert events[0].resumed
    assert events[0].run == state["run"]
    assert [name for name, _ in calls] == ["search_web", "calculate"]
    assert events[-1].answer["spent"]["calls"] == 2
    assert events[-1].text == "1,051,325"


def test_a_budget_goes_on_over_a_resume_and_its_end_is_clear() -> None:
    hub, calls = office()

    async def pause_at_once(agent: CoordinationAgent) -> dict[str, Any]:
        async for event in agent.stream("How many?"):
            if event.type == "step_finished":
                agent.pause()
        return event.state

    profile = {"max_calls": 1}
    state = asyncio.run(pause_at_once(CoordinationAgent(hub, Roles(PARIS, "x"), profile=profile)))
    answer = CoordinationAgent(hub, Roles(PARIS, "x"), profile=profile).answer_sync(state=state)
    assert (answer.success, answer.reason) == (False, "budget")
    assert "Stopped" in [type(event).__name__ for event in answer.transcript]
    stop = next(event for event in answer.transcript if event.type == "stopped")
    assert stop.message == "The budget is used up: 1 call."
    assert len(calls) == 1


@pytest.mark.parametrize("state", [{}, {"kind": "ChatLoop", "version": 1}, [], "paused"])
def test_what_is_no_state_is_refused(state: Any) -> None:
    with pytest.raises(ValueError, match="not the state of a paused run"):
        CoordinationAgent(ToolHub(), Script()).answer_sync(state=state)


def test_a_deadline_ends_a_run() -> None:
    hub = ToolHub()

    @hub.tool(read_only=True)
    async def get_forever() -> str:
        await asyncio.Event().wait()
        return ""

    agent = CoordinationAgent(hub, Roles(steps((1, "Get forever", "get_forever"))), profile={"deadline": 0.2})
    answer = agent.answer_sync("Wait")
    assert (answer.success, answer.reason) == (False, "deadline")


def test_requests_to_the_model_are_limited_too() -> None:
    hub, calls = office()
    view = AgentView(hub, budget=Budget(rounds=1))
    answer = CoordinationAgent(hub, Roles(PARIS, "never"), view=view).answer_sync("How many?")
    assert (answer.success, answer.reason) == (False, "budget")
    assert answer.errors == ["Step 3: The budget is used up: 1 round."]
    assert answer.text == "1051325.0"  # what there was by then
    assert len(calls) == 2


def test_leaving_the_stream_cancels_the_work() -> None:
    hub = ToolHub()
    cancelled = asyncio.Event()

    @hub.tool(read_only=True)
    async def get_forever() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ""

    async def main() -> None:
        stream = CoordinationAgent(hub, Roles(steps((1, "Get forever", "get_forever")))).stream("Wait")
        async for event in stream:
            if event.type == "step_started":
                break
        await stream.aclose()  # type: ignore[attr-defined]
        async with asyncio.timeout(30):
            await cancelled.wait()

    asyncio.run(main())


def test_one_agent_answers_one_question_at_a_time() -> None:
    async def main() -> None:
        agent = CoordinationAgent(ToolHub(), Script("a", "b"))
        stream = agent.stream("One")
        await anext(stream)
        with pytest.raises(RuntimeError, match="is answering a question"):
            await agent.answer("Two")
        await stream.aclose()  # type: ignore[attr-defined]
        assert (await agent.answer("Two")).success

    asyncio.run(main())


def test_parts_can_be_replaced() -> None:
    class Planner:
        async def decompose_task(self, question: str) -> list[dict[str, Any]]:
            return [{"id": "only", "description": question}]

    class Executor:
        async def execute_step(self, step: Step, results: list[StepResult]) -> StepResult:
            return StepResult(
                id=step.id,
                description="",
                success=True,
                result=step.description.upper(),
                error=None,
                method="own",
                stopped=None,
            )

    class Verifier:
        async def verify_result(self, result: Any, earlier: Any, **more: Any) -> Verification:
            return Verification(verified=False, confidence=0.1, issues=["too loud"])

    agent = CoordinationAgent(ToolHub(), planner=Planner(), executor=Executor(), verifier=Verifier())
    answer = agent.answer_sync("hey")
    assert (answer.text, answer.verification["issues"]) == ("HEY", ["too loud"])
    assert isinstance(Plan([Step(1, "x")]).steps, list)


def test_a_sub_agent_never_has_more_than_its_parent() -> None:
    hub, calls = office()
    parent = CoordinationAgent(
        hub,
        Roles(steps((1, "Send a mail", "send_mail")), "No."),
        profile={
            "available_tools": ["calculate", "send_mail", "read_*"],
            "effects": "not_acting",
            "max_calls": 2,
            "deadline": 60,
            "views": {"greedy": {"available_tools": ["*"], "max_calls": 100, "deadline": 600}},
        },
    )
    child = parent.sub_agent("greedy")
    assert child.view.names() == ["calculate", "read_invoice"]
    assert child.view.left() <= 60  # type: ignore[operator]
    assert "'send_mail' was not called" in child.answer_sync("Send it").text
    assert calls == []
    for _ in range(2):
        assert child.view.budget.take_call("calculate") is None
    assert parent.view.budget.take_call("calculate") == "The budget is used up: 2 calls."
    grandchild = child.sub_agent({"available_tools": ["read_*"]})
    assert grandchild.view.names() == ["read_invoice"]
    with pytest.raises(ValueError, match="has no view 'shy'"):
        parent.sub_agent("shy")


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_a_sub_agent_that_goes_on_elsewhere_has_the_budget_of_its_parent(is_elsewhere: bool) -> None:
    hub, calls = office()
    plan = Roles(
        steps(*((id, f"Search for item {id}", "search_web", [id - 1][: id - 1]) for id in range(1, 6))),
        arguments='{"query": "item"}',
    )

    def sub_agent() -> CoordinationAgent:
        profile = {"max_calls": 3, "views": {"greedy": {"max_calls": 100}}}
        return CoordinationAgent(hub, plan, profile=profile).sub_agent("greedy")

    async def pause_and_resume() -> Any:
        state: Any = None
        agent = sub_agent()
        async for event in agent.stream("Search"):
            if event.type == "step_finished":
                agent.pause()
            if isinstance(event, Paused):
                state = json.loads(json.dumps(event.state))
        assert len(calls) == 1
        return await (sub_agent() if is_elsewhere else agent).answer(state=state)

    answer = asyncio.run(pause_and_resume())
    assert (answer.reason, len(calls), answer.spent["calls"]) == ("budget", 3, 3)


def test_the_approval_of_the_parent_is_asked_for_the_deeds_of_its_sub_agents() -> None:
    hub, calls = office()
    asked: list[str] = []
    plan = Roles(steps((1, "Send a mail", "send_mail")), "No.", '{"to": "a@x.test", "text": "hi"}')
    parent = CoordinationAgent(hub, plan, approve=lambda question: asked.append("parent") or False)
    child = parent.sub_agent({}, approve=lambda question: asked.append("child") or True)
    answer = child.answer_sync("Send it")
    assert asked == ["child", "parent"]
    assert calls == []
    assert not answer.success
