"""Checking answers takes time in proportion to the text, off the event loop, and no longer than the deadline."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
import threading
from typing import Any

import pytest

from toolhub import ToolHub
from toolhub.agents import ChatLoop, CoordinationAgent, VerificationAgent
from toolhub.agents.evidence import Evidence

GAPS = {
    "blanks": "Order 7 was sent" + " " * 200_000 + "to Ann.",
    "lines": "Order 7 was sent" + "\n" * 200_000 + "to Ann.",
    "tabs": "\t \t" * 70_000 + "I sent 7 mails.",
    "numbers": "2024 \t" * 40_000,
    "months": "March  " * 30_000,
    "quotes": '"' + "a " * 100_000,
    "open quotes": "“" * 200_000,
    "verbs": "I have sent it and " * 10_000,
    "wide": "我已发送" * 50_000,
    "paths": "a/" * 100_000,
    "mails": "a@" * 100_000,
    "commas": "1," * 100_000,
}


def in_child(program: str, *, seconds: int) -> str:
    """What a program prints; a failure if it needs more processor time than that."""
    limited = f"import resource\nresource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))\n"
    code = limited + textwrap.dedent(program)
    done = subprocess.run([sys.executable], input=code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout.strip()


@pytest.mark.parametrize("kind", GAPS)
def test_a_long_gap_or_run_costs_nothing(kind: str) -> None:
    """200,000 characters in a few seconds of a slow machine; quadratic patterns take hours for them."""
    program = f"""
    from toolhub.agents import VerificationAgent
    text = {GAPS[kind]!r}
    agent = VerificationAgent()
    for answer, result in ((text, "7"), ("I sent 7 mails to Ann.", text)):
        agent.verify_result_sync(answer, [text], evidence=[{{"tool": "send_mail", "success": True, "result": result}}])
    print("done")
    """
    assert in_child(program, seconds=20) == "done"


def test_a_long_list_of_records_is_read_within_bounds() -> None:
    """Ten megabytes of JSON: what is beyond the bounds is not read, so nothing is missed in it."""
    program = """
    import json
    from toolhub.agents import VerificationAgent
    rows = [{"id": n, "name": f"item {n}", "price": n * 1.25, "when": "2024-05-0%d" % (n % 9 + 1)} for n in range(120_000)]
    for result in (rows, json.dumps(rows)):
        agent = VerificationAgent()
        evidence = [{"tool": "list_items", "success": True, "result": result}]
        print(agent.verify_result_sync("There are 119,999 items and 7 more.", evidence=evidence).verified)
    """
    assert in_child(program, seconds=20) == "True\nTrue"


@pytest.mark.parametrize("tool", ["search_web", "calculate", "get_history"])
def test_a_step_with_a_long_gap_costs_nothing(tool: str) -> None:
    program = f"""
    from toolhub import ToolHub
    from toolhub.agents import ExecutionAgent
    hub = ToolHub()
    hub.register(lambda query: "found", name={tool!r}, read_only=True)
    step = {{"description": "Search for 1 + 1 and a" + " " * 200_000 + "b", "tool_type": {tool!r}}}
    print(ExecutionAgent(hub).execute_step_sync(step).success)
    """
    assert in_child(program, seconds=20) in ("True", "False")


def test_what_reaches_the_patterns_is_bounded() -> None:
    blanks = Evidence([{"tool": "get", "result": "a" + " " * 50_000 + "b"}])
    assert blanks.text == "a b"
    assert not blanks.is_cut
    many = Evidence([{"tool": "get", "result": "word " * 100_000}] * 20)
    assert len(many.text) <= 400_020
    assert many.is_cut
    # An absence in what was cut proves nothing; a deed without a call is one all the same.
    assert list(many.unsupported('It is 77 and "not in there".')) == []
    assert list(many.unsupported("I have deleted the file."))


def test_values_that_hold_themselves_are_read() -> None:
    rows: list[Any] = [1, 2]
    rows += [rows, rows, {"again": rows}]
    assert Evidence([{"tool": "get", "result": rows}]).is_cut


def _slow_hub(deadline: float) -> tuple[ToolHub, dict[str, Any]]:
    hub = ToolHub()

    @hub.tool(read_only=True)
    def get_text() -> str:
        return "word " * 50_000

    return hub, {"deadline": deadline}


class _Endless(VerificationAgent):
    """Its checks end only when they are told to."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.ended = threading.Event(), threading.Event()

    def _checked(self, result: Any, earlier: Any, records: Any, question: str, go_on: Any) -> Any:
        self.began.set()
        try:
            while True:
                go_on()
        finally:
            self.ended.set()


@pytest.mark.parametrize("kind", [ChatLoop, CoordinationAgent])
def test_verification_ends_with_the_deadline(kind: Any) -> None:
    hub, profile = _slow_hub(0.5)
    verifier = _Endless()
    agent = kind(hub, lambda _: "It is 5.", profile=profile, verifier=verifier)
    answer = asyncio.run(asyncio.wait_for(agent.answer("How much is it?"), 60))
    assert answer.text == "It is 5."
    assert answer.verification["issues"] == ["The answer was not checked, because no time was left."]
    assert answer.verification["confidence"] <= 0.3
    assert verifier.ended.wait(30), "the thread goes on"


def test_the_loop_goes_on_while_an_answer_is_checked() -> None:
    async def scenario() -> None:
        verifier = _Endless()
        checking = asyncio.ensure_future(verifier.verify_result("It is 5.", evidence=[]))
        assert await asyncio.to_thread(verifier.began.wait, 30)
        assert not checking.done()
        checking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await checking
        assert await asyncio.to_thread(verifier.ended.wait, 30)

    asyncio.run(scenario())


def test_a_model_judges_what_the_rules_do_not_read() -> None:
    prompts: list[str] = []

    def model(prompt: str) -> str:
        prompts.append(prompt)
        wrong = "both lights are off" in prompt
        return json.dumps({"mistakes": ["The hall light is on."] if wrong else []})

    agent = VerificationAgent(model=model)
    evidence = [{"tool": "get_lights", "success": True, "result": {"kitchen": "off", "hall": "on"}}]
    doubted = agent.verify_result_sync(
        "Yes, both lights are off.", evidence=evidence, question="Are the lights off?"
    )
    assert (doubted.verified, doubted.judged_by) == (False, "model")
    assert doubted.issues == ["A model found a mistake: The hall light is on."]
    good = agent.verify_result_sync("The hall light is on.", evidence=evidence)
    assert (good.verified, good.judged_by) == (True, "model")
    assert "hall\n" in prompts[0]
    assert "Are the lights off?" in prompts[0]
    # What the rules find needs no model, and without evidence there is nothing to judge by.
    assert agent.verify_result_sync("It is 77.", evidence=evidence).judged_by == "rules"
    assert agent.verify_result_sync("Both lights are off.").judged_by == "rules"
    assert len(prompts) == 2


@pytest.mark.parametrize("said", ["", "I think it is fine.", '{"mistakes": "none"}', "[1, 2]", "{}"])
def test_an_answer_that_is_not_a_judgement_changes_nothing(said: str) -> None:
    checked = VerificationAgent(model=lambda _: said).verify_result_sync("It is off.", evidence=["off"])
    assert checked == {"verified": True, "confidence": 1.0, "issues": []}
    assert checked.judged_by == "rules"
