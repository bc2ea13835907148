"""Agents whose calls wait for an approval pause, and go on in any process when somebody has decided."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from support.agents import call
from toolhub import ToolHub
from toolhub.agents import (
    AgentView,
    Budget,
    ChatLoop,
    CoordinationAgent,
    ExecutionAgent,
    VerificationAgent,
)
from toolhub.permissions import Permissions

PLAN = json.dumps(
    [
        {"id": 1, "description": "Look", "tool_type": "look", "arguments": {}},
        {"id": 2, "description": "Send it", "tool_type": "send_mail", "arguments": {"to": "ann"}},
        {"id": 3, "description": "Look again", "tool_type": "look", "dependencies": [2], "arguments": {}},
    ]
)


class Office:
    """Hubs on one store, and what their tools did."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.done: list[str] = []

    def hub(self) -> ToolHub:
        hub = ToolHub(store=self.store)

        @hub.tool
        def send_mail(to: str) -> str:
            self.done.append(to)
            return f"sent to {to}"

        @hub.tool(read_only=True)
        def look() -> str:
            self.done.append("look")
            return "nothing new"

        return hub


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path / "store.db")


def stored(answer: Any) -> dict[str, Any]:
    """The state of a paused run, after a way through JSON."""
    assert answer.reason == "paused"
    return json.loads(json.dumps(answer["state"]))


@pytest.mark.parametrize("run", [None, "monday"])
def test_a_chat_pauses_and_goes_on_elsewhere(office: Office, run: str | None) -> None:
    message = call("look") + call("send_mail", to="ann") + call("send_mail", to="bob")
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return message if len(asked) == 1 else "Both mails were sent."

    with office.hub() as hub:
        loop = ChatLoop(hub, model, approve="ask", run=run)
        first = asyncio.run(loop.answer("Send two mails"))
        waiting = first["state"]["waiting"]
        assert [one["tool"] for one in waiting] == ["send_mail"], "the second mail waits for the first"
        assert first["spent"]["calls"] == 1  # what waits was not called
        assert first.errors == [one["error"] for one in waiting]
        assert [one.id for one in hub.pending()] == [one["approval"] for one in waiting]
        hub.approve(waiting[0]["approval"])
        state = stored(first)
    with office.hub() as hub:
        again = asyncio.run(ChatLoop(hub, model, approve="ask", run=run).answer(state=state))
        assert office.done == ["look", "ann"]
        (left,) = again["state"]["waiting"]
        assert left["approval"] != waiting[0]["approval"]
        hub.deny(left["approval"], "one is enough")
        end = asyncio.run(ChatLoop(hub, model, approve="ask", run=run).answer(state=stored(again)))
    assert office.done == ["look", "ann"]
    assert end.text == "Both mails were sent."
    assert end["spent"]["calls"] == 3
    assert len(asked) == 2
    assert "sent to ann" in asked[1]
    assert "one is enough" in asked[1]
    told = [
        event.tool
        for one in (first, again, end)
        for event in one["transcript"]
        if event.type == "call_finished"
    ]
    assert told == ["look", "send_mail", "send_mail"]


def test_the_events_of_a_chat_end_with_the_pause(office: Office) -> None:
    async def listen(loop: ChatLoop) -> list[str]:
        return [event.type async for event in loop.stream("Send it")]

    with office.hub() as hub:
        types = asyncio.run(listen(ChatLoop(hub, lambda _: call("send_mail", to="ann"), approve="ask")))
    assert types == ["run_started", "model_answered", "paused"]
    assert office.done == []


def test_a_chat_at_its_last_round_still_makes_what_was_approved(office: Office) -> None:
    profile = {"max_rounds": 1, "max_calls": 1}
    with office.hub() as hub:
        loop = ChatLoop(hub, lambda _: call("send_mail", to="ann"), profile=profile, approve="ask")
        first = asyncio.run(loop.answer("Send it"))
        hub.approve(first["state"]["waiting"][0]["approval"])
        end = asyncio.run(loop.answer(state=first["state"]))
    assert end.reason == "rounds"
    assert office.done == ["ann"]


def test_a_plan_pauses_and_goes_on_elsewhere(office: Office) -> None:
    with office.hub() as hub:
        first = asyncio.run(CoordinationAgent(hub, lambda _: PLAN, approve="ask").answer("Send it"))
        (waiting,) = first["state"]["waiting"]
        assert waiting["tool"] == "send_mail"
        assert office.done == ["look"]
        hub.approve(waiting["approval"])
        state = stored(first)
    with office.hub() as hub:
        end = asyncio.run(CoordinationAgent(hub, lambda _: PLAN, approve="ask").answer(state=state))
    assert office.done == ["look", "ann", "look"]
    assert [step["success"] for step in end["steps"]] == [True, True, True]
    ended = [event.id for one in (first, end) for event in one["transcript"] if event.type == "step_finished"]
    assert ended == [1, 2, 3]


def test_a_plan_whose_call_was_denied_fails_in_that_step(office: Office) -> None:
    with office.hub() as hub:
        agent = CoordinationAgent(hub, lambda _: PLAN, approve="ask")
        first = asyncio.run(agent.answer("Send it"))
        hub.deny(first["state"]["waiting"][0]["approval"], "not today")
        end = asyncio.run(agent.answer(state=first["state"]))
    assert "not today" in end["steps"][1]["error"]
    assert office.done == ["look"]


def test_arguments_that_a_model_made_are_those_that_were_approved(office: Office) -> None:
    names = iter(["ann", "bob"])

    step = {"id": 1, "description": "Send it", "tool_type": "send_mail"}

    def model(prompt: str) -> str:
        return json.dumps({"to": next(names)})

    with office.hub() as hub:
        agent = CoordinationAgent(hub, model, approve="ask", planner=OneStep(step))
        first = asyncio.run(agent.answer("Send it"))
        shown = hub.pending()[0].shown
        hub.approve(first["state"]["waiting"][0]["approval"])
        end = asyncio.run(agent.answer(state=stored(first)))
    assert shown == f'send_mail {{"to":"{office.done[0]}"}}'
    assert end.success


class OneStep:
    """A planner that always has this step."""

    def __init__(self, step: dict[str, Any]) -> None:
        self.step = step

    async def decompose_task(self, question: str) -> list[dict[str, Any]]:
        return [self.step]


def test_a_step_alone_says_that_it_waits(office: Office) -> None:
    step = {"id": 1, "description": "Send it", "tool_type": "send_mail", "arguments": {"to": "ann"}}
    with office.hub() as hub:
        result = asyncio.run(ExecutionAgent(hub, lambda _: "I sent it", approve="ask").execute_step(step))
        assert result.stopped == "paused"
        assert result.full is not None
        assert [one.id for one in hub.pending()] == [result.full.paused]
    assert not result.success


def test_a_row_that_is_unknown_pauses_the_agent_too(office: Office) -> None:
    done: list[int] = []
    began = asyncio.Event()

    async def given_up(hub: ToolHub) -> None:
        sending = asyncio.ensure_future(hub.dispatch({"tool_name": "send_slowly", "arguments": {}}, run="r"))
        await began.wait()
        sending.cancel()
        await asyncio.wait({sending})

    with ToolHub(store=office.store) as hub:

        @hub.tool
        async def send_slowly() -> str:
            done.append(1)
            began.set()
            await asyncio.sleep(60)
            return "sent"

        asyncio.run(given_up(hub))
        script = iter([call("send_slowly"), "It was sent."])
        loop = ChatLoop(hub, lambda _: next(script), run="r")
        first = asyncio.run(loop.answer("Send it"))
        (waiting,) = first["state"]["waiting"]
        (row,) = hub.ledger("r")
        assert waiting["approval"] is None
        assert row.id in waiting["error"]
        hub.settle(row.id, "done", "sent")
        end = asyncio.run(loop.answer(state=stored(first)))
    assert end.text == "It was sent."
    assert done == [1]


def test_every_view_above_has_to_approve_and_the_store_is_asked_last(office: Office) -> None:
    asked: list[str] = []

    def refuse(question: Any) -> bool:
        asked.append(question.arguments["to"])
        return question.arguments["to"] == "ann"

    with office.hub() as hub:
        view = AgentView(hub, approve="ask").narrow(approve=refuse)
        refused = asyncio.run(view.call("send_mail", {"to": "bob"}))
        assert refused.error == "Tool 'send_mail' was not called: it was not approved."
        assert hub.pending() == []
        waiting = asyncio.run(view.call("send_mail", {"to": "ann"}))
        hub.approve(str(waiting.paused))
        assert asyncio.run(view.call("send_mail", {"to": "ann"})).result == "sent to ann"
    assert asked == ["bob", "ann", "ann"]
    assert office.done == ["ann"]


def test_what_an_agent_says_is_looked_up_in_the_ledger_of_its_run(office: Office) -> None:
    def said(run: str | None, *script: str) -> dict[str, Any]:
        answers = iter(script)
        with office.hub() as hub:
            loop = ChatLoop(hub, lambda _: next(answers), run=run)
            return dict(asyncio.run(loop.answer("Do it"))["verification"])

    assert said("r", call("send_mail", to="ann"), "I have sent the mail.")["verified"]
    # In this conversation nothing was called, but in this run it was; in another run it was not.
    assert said("r", "I have sent the mail.")["verified"]
    assert said("r", "I have deleted the mail.")["issues"] == [
        "The answer says 'I have deleted', but no call did that (delete)."
    ]
    assert not said("other", "I have sent the mail.")["verified"]
    assert said("other", "It is 9 degrees in Oslo.")["issues"] == ["The number 9 is not in the results."]
    assert not said(None, "I have sent the mail.")["verified"]
    assert said(None, "Hello, how can I help?")["confidence"] == 1.0
    # Alone, and without records.
    with office.hub() as hub:
        check = VerificationAgent(hub=hub, run="r").verify_result_sync
        assert check("I have sent the mail.")["verified"]
        assert check("I have deleted the mail.")["issues"] == [
            "The answer says 'I have deleted', but no call did that (delete)."
        ]
        assert check(hub.call("send_mail", {"to": "bob"}))["verified"]  # what a tool says is not a claim


def test_rows_do_not_count_calls_twice_and_their_digests_prove_nothing(office: Office) -> None:
    with office.hub() as hub:
        hub.call("send_mail", {"to": "ann"}, run="r")
        records = [
            {"tool": "send_mail", "arguments": {"to": "ann"}, "result": "sent to ann", "success": True}
        ]
        digits = [digit for digit in "3456789" if digit in hub.ledger("r")[0].arguments]
        rows = [row.to_dict() for row in hub.ledger("r")]
    with office.hub() as hub:
        verifier = VerificationAgent(hub=hub, run="r")
        check = verifier.verify_result_sync
        assert check("I have sent 1 mail.", evidence=records)["verified"]
        assert not check("I have sent 2 mails.", evidence=records)["verified"]
        assert not check(f"There were {digits[0]} mails.", evidence=records)["verified"]
        assert not VerificationAgent().verify_result_sync(f"It took {digits[0]} tries.", evidence=rows)[
            "verified"
        ]


def test_budgets_get_back_what_was_not_called() -> None:
    parent = Budget(calls=2, uses={"send_*": 1})
    budget = parent.child()
    assert budget.take_call("send_mail") is None
    budget.give_back_call("send_mail")
    assert parent.spent["calls"] == budget.spent["calls"] == 0
    assert budget.take_call("send_mail") is None
    assert budget.take_call("send_mail") == "The budget is used up: 1 use of 'send_*'."


def test_wrong_approvers_are_refused() -> None:
    for wrong in ("yes", [], ["ask", "no"]):
        with pytest.raises(ValueError, match="a function or 'ask'"):
            Permissions(None, wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="callable"):
        Permissions(None, [3])  # type: ignore[list-item]


@pytest.mark.parametrize("answer", ["denied", "open", "approved"])
@pytest.mark.parametrize("other", [{}, {"approve": lambda _: True}], ids=["nobody", "function"])
def test_a_paused_state_is_bound_to_its_answer_in_any_loop(
    tmp_path: Path, answer: str, other: dict[str, Any]
) -> None:
    sent: list[str] = []
    message = '<tool_call>{"name": "send_mail", "arguments": {"to": "ann"}}</tool_call>'
    with ToolHub(store=tmp_path / "hub.db") as hub:

        @hub.tool
        def send_mail(to: str) -> str:
            sent.append(to)
            return "sent"

        paused = asyncio.run(ChatLoop(hub, lambda _: message, approve="ask").answer("Write to ann"))
        (waiting,) = paused.state["waiting"]
        if answer == "denied":
            hub.deny(waiting["approval"], "not today")
        if answer == "approved":
            hub.approve(waiting["approval"])
        told: list[str] = []

        def model(prompt: str) -> str:
            told.append(prompt)
            return "Done."

        ended = asyncio.run(ChatLoop(hub, model, **other).answer(state=paused.state))
        if answer == "open":
            assert ended.reason == "paused"
            assert ended.state["waiting"] == paused.state["waiting"]
        else:
            assert ended.reason == ("failed" if answer == "denied" else "answered")
            assert ("not today" in told[0]) is (answer == "denied")
        assert sent == (["ann"] if answer == "approved" else [])


EDITS: dict[str, Any] = {
    "emptied": lambda state: state.update(waiting=[]),
    "removed": lambda state: state.pop("waiting"),
    "without ids": lambda state: [call.pop("approval") for call in state["waiting"]],
    "of nothing": lambda state: state.update(waiting=None),
}
AGENTS: dict[str, Any] = {
    "chat": lambda hub, **more: ChatLoop(
        hub, lambda _: call("send_mail", to="ann") if more else "Done.", **more
    ),
    "plan": lambda hub, **more: CoordinationAgent(hub, lambda _: PLAN, **more),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("answer", ["denied", "open", "used", "approved"])
def test_the_store_knows_the_answer_whatever_the_state_says(
    office: Office, edit: str, agent: str, answer: str
) -> None:
    with office.hub() as hub:
        state = stored(asyncio.run(AGENTS[agent](hub, approve="ask").answer("Write to ann")))
        (waiting,) = state["waiting"]
        office.done.clear()
        if answer == "denied":
            hub.deny(waiting["approval"], "never")
        elif answer != "open":
            hub.approve(waiting["approval"])
        EDITS[edit](state)
        for _ in range(2 if answer == "used" else 1):
            asyncio.run(AGENTS[agent](hub).answer(state=state))
    assert office.done.count("ann") == (1 if answer in ("used", "approved") else 0)


def test_a_paused_run_that_asked_nobody_goes_on_unasked(office: Office) -> None:
    with office.hub() as hub:
        script = iter(
            [
                call("look"),
                call("send_mail", to="ann"),
                "I might " + call("send_mail", to="bob") + " later.",
                "Done.",
            ]
        )
        loop = ChatLoop(hub, lambda _: next(script))

        async def pausing() -> dict[str, Any]:
            async for event in loop.stream("Write to ann"):
                if event.type == "call_finished":
                    loop.pause()
                if event.type == "paused":
                    return event.state
            raise AssertionError("it did not pause")

        state = json.loads(json.dumps(asyncio.run(pausing())))
        assert state["waiting"] == []
        end = asyncio.run(ChatLoop(hub, lambda _: next(script)).answer(state=state))
    assert office.done == ["look", "ann"], "the second mail was only proposed"
    assert end.text == "Done."
