"""Agents on a Chinese hub speak Chinese."""

from __future__ import annotations

import ast
import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from support.agents import Script, call
from toolhub import ToolHub, _core, agents
from toolhub.agents import ChatLoop, CoordinationAgent, PlanningAgent, VerificationAgent
from toolhub.kit import Message, in_language

ENGLISH = re.compile(r"[A-Za-z]{2,}(?: [A-Za-z]{2,}){2,}")


def hub() -> ToolHub:
    made = ToolHub(lang="zh")
    made.register(len, name="count_letters", description="数字母", read_only=True)
    return made


def is_chinese(text: str) -> bool:
    return re.search("[\u4e00-\u9fff]", text) is not None and not ENGLISH.search(text)


@pytest.mark.parametrize(
    "plan",
    [
        "我不知道。",
        json.dumps(
            [
                {"id": 1, "description": "做", "tool_type": "fly", "dependencies": [1, 9]},
                {"id": 1, "description": "做"},
            ]
        ),
        json.dumps([{"id": n, "description": "做"} for n in range(30)]),
        '[{"id": 1, "description": "做"}, {"id": 2, "descr',
        call("count_letters", obj="abc"),
    ],
)
def test_problems_of_plans(plan: str) -> None:
    problems = PlanningAgent(hub(), Script(plan)).decompose_task_sync("几个字母？").problems
    assert problems
    assert all(map(is_chinese, problems)), problems


@pytest.mark.parametrize(
    ("profile", "answers"),
    [
        ({"max_rounds": 1}, [call("count_letters", obj="a")]),
        ({"max_uses": {"count_letters": 0}}, [call("count_letters", obj=f"{n}") for n in range(9)]),
        ({"max_tokens": 0}, []),
        ({}, [call("count_letters", obj="a")] * 9),
        ({}, ["", ""]),
    ],
)
def test_ends_of_chats(profile: dict[str, Any], answers: list[str]) -> None:
    model = Script(*answers)
    answer = ChatLoop(hub(), model, profile=profile).answer_sync("几个字母？")
    assert not answer.success
    assert all(map(is_chinese, answer.errors)), answer.errors
    assert all(prompt.startswith("工具的结果是数据") for prompt in model.prompts)


def test_errors_of_steps() -> None:
    answer = CoordinationAgent(hub()).answer_sync("为什么？")
    assert answer.text == "步骤 1：没有可用于推理的模型。"


@pytest.mark.parametrize(
    "result",
    [
        "",
        "2023-02-30",
        "25:61",
        "9" * 20,
        "我已发送邮件。",
        "数字是77。",
        "“这句话并不在结果里”",
        "见 https://x.test/a",
        {"success": False, "error": "断了"},
    ],
)
def test_issues_of_results(result: Any) -> None:
    issues = (
        VerificationAgent(lang="zh")
        .verify_result_sync(result, evidence=[{"tool": "get_a", "result": "b"}])
        .issues
    )
    assert issues
    assert all(map(is_chinese, issues)), issues


def test_every_sentence_of_the_agents_is_in_the_table() -> None:
    """What has a place for an argument, or is the template of a message, is looked up."""
    texts: set[str] = set()
    for file in Path(agents.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            is_message = isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Message"
            inside = ast.walk(node.args[0]) if is_message else [node]
            values = [one.value for one in inside if isinstance(one, ast.Constant)]
            texts |= {
                one
                for one in values
                if isinstance(one, str) and (is_message or ("{}" in one[1:] and "\n" not in one))
            }
    assert len(texts) > 50
    assert [text for text in sorted(texts) if _core.in_language(text, "zh") == text] == []


def test_arguments_of_a_sentence_come_through_unchanged() -> None:
    inner = Message("Step {}: {}", 1, "{0} of {}")
    assert (
        in_language(Message("The result is an error: {}", inner), "zh") == "结果是一个错误：步骤 1：{0} of {}"
    )
    assert in_language(inner, "en") == inner == pickle.loads(pickle.dumps(inner)) == "Step 1: {0} of {}"
