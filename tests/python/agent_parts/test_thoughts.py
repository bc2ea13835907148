"""What a model only thought is neither a plan nor a call nor the arguments of one."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from support.agents import Roles, Script, office
from toolhub import kit
from toolhub.agents import ChatLoop, CoordinationAgent, ExecutionAgent, PlanningAgent

DRAFT = json.dumps({"steps": [{"id": 1, "description": "Mail everybody", "tool_type": "send_mail"}]})
PLAN = json.dumps({"steps": [{"id": 1, "description": "Calculate 6 * 7", "tool_type": "calculate"}]})

THOUGHTS = {
    "think": f"<think>One could do {DRAFT}, but no.</think>\n{PLAN}",
    "thinking": f"<thinking>\n{DRAFT}\n</thinking>\n{PLAN}",
    "reasoning": f"<reasoning>{DRAFT}</reasoning>{PLAN}",
    "no opening tag": f"{DRAFT} is bad.</think>\n{PLAN}",
    "a draft that is cut off": f"{DRAFT[:-4]} no.</think>\n{PLAN}",
    "seed": f"<seed:think>{DRAFT}</seed:think>{PLAN}",
    "magistral": f"[THINK]{DRAFT}[/THINK]{PLAN}",
    "in the middle of a line": f"Well <think>{DRAFT}</think> {PLAN}",
    "gpt-oss": f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{PLAN}",
    "fenced": f"```json\n{DRAFT}\n```\n</think>\n```json\n{PLAN}\n```",
}


@pytest.mark.parametrize("answer", THOUGHTS.values(), ids=list(THOUGHTS))
def test_a_plan_that_was_only_thought_of_is_not_carried_out(answer: str) -> None:
    hub, calls = office()
    answered = CoordinationAgent(hub, Roles(answer)).answer_sync("What is 6 times 7?")
    assert calls == [("calculate", "6 * 7")]
    (made,) = [event for event in answered.transcript if event.type == "plan_made"]
    assert (len(made.steps), made.problems) == (1, [])


def test_a_text_that_is_all_thought_has_no_plan() -> None:
    plan = PlanningAgent(office()[0], Script(f"<think>One could do {DRAFT}")).decompose_task_sync("Go")
    assert [step.tool_type for step in plan] == ["none"]
    assert plan.problems == ["The model's answer contains no plan, so the question becomes one step."]


def test_of_a_draft_and_a_plan_the_plan_counts_and_the_draft_is_told() -> None:
    text = f"First idea:\n```json\n{DRAFT}\n```\nThat mails people, so no. Final plan:\n```json\n{PLAN}\n```"
    plan = PlanningAgent(office()[0], Script(text)).decompose_task_sync("What is 6 times 7?")
    assert [step.tool_type for step in plan] == ["calculate"]
    assert plan.problems == ["The model's answer contains 2 plans; the last one is used."]
    twice = PlanningAgent(office()[0], Script(f"{PLAN}\nAgain:\n{PLAN}")).decompose_task_sync("Go")
    assert (len(twice), twice.problems) == (1, [])


def test_what_only_might_be_a_plan_does_not_replace_one() -> None:
    text = f'{PLAN}\nSources: ["The book of numbers", "The other book"], as {{"note": ["Read it carefully"]}}'
    plan = PlanningAgent(office()[0], Script(text)).decompose_task_sync("What is 6 times 7?")
    assert ([step.tool_type for step in plan], plan.problems) == (["calculate"], [])


@pytest.mark.parametrize(
    "answer",
    [
        '<think>{"number": 1}?</think>{"number": 4}',
        '{"number": 1} is wrong.</think>\n{"arguments": {"number": 4}}',
        'First {"number": 1}; but they mean {"number": 4}, see {"page": 9}.',
        '[{"number": 4}]',
    ],
)
def test_arguments_that_were_only_thought_of_are_not_used(answer: str) -> None:
    hub, calls = office()
    step = {"id": 1, "description": "Look at the bill of the baker", "tool_type": "read_invoice"}
    result = asyncio.run(ExecutionAgent(hub, Roles("", arguments=answer)).execute_step(step))
    assert result.arguments == {"number": 4}
    assert calls == [("read_invoice", (4, "all"))]


BLOCKS = [{"type": "thinking", "thinking": DRAFT}, {"type": "text", "text": PLAN}]


@pytest.mark.parametrize(
    "answer", [{"content": BLOCKS}, {"role": "assistant", "content": BLOCKS}, BLOCKS, [BLOCKS[0], PLAN]]
)
def test_thoughts_in_blocks_of_an_api_are_no_plan(answer: Any) -> None:
    plan = PlanningAgent(office()[0], lambda prompt: answer).decompose_task_sync("What is 6 times 7?")
    assert ([step.tool_type for step in plan], plan.problems) == (["calculate"], [])


def test_thoughts_in_blocks_are_no_answer() -> None:
    message = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, BLOCKS[1]]}
    loop = ChatLoop(office()[0], chat=lambda messages: message, profile={"enable_tool_calling": False})
    assert loop.answer_sync("Plan it").text == PLAN


@given(some.text("[]{}\",:abc1 \n'", max_size=40))
def test_nothing_before_a_closing_tag_is_a_plan(thought: str) -> None:
    text = f"{thought.replace(chr(34), '')} {DRAFT}\n</think>\n{PLAN}"
    assert [read.value for read in kit.json_in(text)][-1:] == [json.loads(PLAN)]
    assert "send_mail" not in str(kit.json_in(text))


@given(some.text(max_size=60))
def test_json_is_looked_for_in_any_text(text: str) -> None:
    clean = text.encode("utf-8", "replace").decode()
    assert all(isinstance(read.value, (dict, list)) for read in kit.json_in(clean))
