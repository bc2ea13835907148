"""A tool that has acted and then raises the error of a call that it made itself. It is not called again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from support.agents import Roles, Script, call
from toolhub import ToolHub
from toolhub.agents import AgentEvent, ChatLoop, CoordinationAgent, ExecutionAgent, Step

PLAN = json.dumps([{"id": 1, "description": "Pay bill 1", "tool_type": "pay_bill", "dependencies": []}])


class Bank:
    """`pay_bill` pays, and then calls `inner`."""

    def __init__(self, folder: Path, inner: str) -> None:
        self.hub = ToolHub(store=folder / "store.db")
        self.paid: list[str] = []
        self.mailed: list[str] = []

        @self.hub.tool
        def get_rate(day: int) -> int:
            "Get a rate."
            return day

        @self.hub.tool(effects=True)
        def send_mail(to: str) -> str:
            "Send a mail."
            self.mailed.append(to)
            return "sent"

        @self.hub.tool(effects=True)
        async def pay_bill(number: str) -> Any:
            "Pay a bill."
            self.paid.append(number)
            if inner == "paused":
                return (await self.hub.execute("send_mail", {"to": "ann"}, approve="ask")).unwrap()
            return (await self.hub.execute("get_rate", {"day": "no day"})).unwrap()


class Counting(Roles):
    """It writes other arguments each time."""

    def __call__(self, prompt: str) -> str:
        self._answers["arguments"] = json.dumps({"number": str(len(self.asked))})
        return super().__call__(prompt)


@pytest.mark.parametrize("approves", [False, True])
@pytest.mark.parametrize("inner", ["invalid", "paused"])
def test_a_step_is_not_made_again(inner: str, approves: bool, tmp_path: Path) -> None:
    bank = Bank(tmp_path, inner)
    model = Counting("")
    agent = ExecutionAgent(bank.hub, model, approve=(lambda _: True) if approves else None)
    result = agent.execute_step_sync(Step(1, "Pay bill 1", "pay_bill"))
    assert bank.paid == ["0"]
    assert (result.success, result.stopped, model.roles()) == (False, None, ["arguments"])


def test_arguments_of_the_plan_are_not_replaced_after_the_tool_ran(tmp_path: Path) -> None:
    bank = Bank(tmp_path, "invalid")
    step = Step(1, "Pay bill 1", "pay_bill", arguments={"number": "1"})
    assert not ExecutionAgent(bank.hub, Counting("")).execute_step_sync(step).success
    assert bank.paid == ["1"]


@pytest.mark.parametrize("inner", ["invalid", "paused"])
def test_a_plan_ends_and_cannot_go_on(inner: str, tmp_path: Path) -> None:
    bank = Bank(tmp_path, inner)

    async def run() -> AgentEvent:
        agent = CoordinationAgent(bank.hub, Counting(PLAN))
        events = [event async for event in agent.stream("Pay bill 1")]
        return events[-1]

    last = asyncio.run(run())
    assert (last.type, last.get("success")) != ("answered", True)
    assert last.type != "paused"
    assert len(bank.paid) == 1


@pytest.mark.parametrize("run", [None, "monday"])
def test_a_loop_is_told_of_the_failure_and_does_not_wait(run: str | None, tmp_path: Path) -> None:
    bank = Bank(tmp_path, "paused")
    model = Script(call("pay_bill", number="1") + call("send_mail", to="bob"), "Something went wrong.")
    answer = asyncio.run(ChatLoop(bank.hub, model, run=run).answer("Pay bill 1 and tell Bob"))
    assert (answer.reason, answer.success) == ("failed", False)
    assert (bank.paid, bank.mailed) == (["1"], [])
