"""From a question to a plan: the prompt, the reading and the repair."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from support.agents import Script, call, office
from toolhub import ToolHub
from toolhub.agents import AgentProfile, AgentPrompts, PlanningAgent


def plan_of(text: str, question: str = "What now?", hub: ToolHub | None = None, **options: Any) -> Any:
    return PlanningAgent(hub or office()[0], Script(text), **options).decompose_task_sync(question)


def step(id: Any, tool: str = "none", needs: Any = (), **more: Any) -> dict[str, Any]:
    return {"id": id, "description": f"Do {id}", "tool_type": tool, "dependencies": list(needs), **more}


def test_a_plan_is_read_with_all_fields() -> None:
    plan = plan_of(
        json.dumps({"steps": [step(1, "search_web", complexity="low"), step(2, "calculate", [1])]})
    )
    assert [(one.id, one.tool_type, one.dependencies, one.complexity) for one in plan] == [
        (1, "search_web", [], "low"),
        (2, "calculate", [1], "medium"),
    ]
    assert plan.problems == []


def test_the_prompt_shows_core_tools_ten_others_and_counts_the_rest() -> None:
    hub, _ = office()
    for n in range(30):
        hub.register(
            lambda x: x, name=f"read_thing_{n:02}", description="Read a thing.", parameters={"type": "object"}
        )
    model = Script("[]")
    PlanningAgent(hub, model).decompose_task_sync("read a thing")
    (prompt,) = model.prompts
    for name in ("calculate", "search_web", "get_conversation_history"):
        assert f"**{name}**" in prompt
    assert prompt.count("**read_thing_") + prompt.count("**read_invoice**") == 10
    assert "(22 more tools can be called by name)" in prompt
    assert "<tool_call>" not in prompt
    assert prompt.endswith("Question: read a thing")


def test_the_prompt_is_chinese_for_a_chinese_hub_and_can_be_replaced(tmp_path: Any) -> None:
    hub = ToolHub(lang="zh")
    hub.register(len, name="count_letters", description="数字母")
    model = Script("[]", "[]")
    PlanningAgent(hub, model).decompose_task_sync("有几个字母？")
    assert model.prompts[0].startswith("你负责规划")
    assert "可用工具" in model.prompts[0]
    (tmp_path / "plan.md").write_text("Plan this: $question", encoding="utf-8")
    PlanningAgent(hub, model, prompts=AgentPrompts(tmp_path)).decompose_task_sync("x")
    assert model.prompts[1] == "Plan this: x"


WRITTEN = {
    "fenced": 'Sure, here is the plan:\n```json\n{"steps": [%s, %s]}\n```\nLet me know!',
    "a bare list": "[%s, %s]",
    "another key": '{"plan": {"tasks": [%s, %s]}}',
    "a trailing comma and single quotes": "{'steps': [%s, %s,],}",
    "no closing brackets": '{"steps": [%s, %s',
    "after other brackets": 'See [1] and {"note": "x"}: {"steps": [%s, %s]}',
    "with a comment": '{"steps": [%s, // first\n %s]}',
}


@pytest.mark.parametrize("form", WRITTEN)
def test_forms_that_models_write(form: str) -> None:
    given = [json.dumps(step(1, "search_web")), json.dumps(step("2", "calculate", ["step 1"]))]
    plan = plan_of(WRITTEN[form] % tuple(given))
    assert [(one.tool_type, one.dependencies) for one in plan] == [("search_web", []), ("calculate", [1])]


def test_half_a_plan_keeps_its_complete_steps() -> None:
    text = json.dumps({"steps": [step(1, "search_web"), step(2, "calculate")]})
    plan = plan_of(text[: text.index("Do 2") + 2])
    assert [one.id for one in plan] == [1]
    assert plan.problems == ["The plan is cut off; its complete steps are kept."]


@pytest.mark.parametrize(
    "text", ["I would first look it up.", "", "null", "{}", "[1, 2]", '{"steps": []}', '{"id": ', "🤖"]
)
def test_an_unusable_answer_is_one_step(text: str) -> None:
    plan = plan_of(text, "How far is the moon?")
    assert [(one.description, one.tool_type) for one in plan] == [("How far is the moon?", "none")]
    assert plan.problems == ["The model's answer contains no plan, so the question becomes one step."]


def test_a_hundred_steps_are_cut() -> None:
    plan = plan_of(json.dumps([step(n, needs=[n - 1] if n > 1 else []) for n in range(1, 101)]))
    assert len(plan) == 20
    assert plan.problems == ["The plan has 100 steps; only the first 20 are kept."]


def test_cycles_are_reported_and_broken() -> None:
    plan = plan_of(
        json.dumps([step(1, needs=[3]), step(2, needs=[1]), step(3, needs=[2]), step(4, needs=[4, 9])])
    )
    assert [one.dependencies for one in plan] == [[3], [1], [], []]
    assert plan.problems == [
        "Step 3 and step 2 wait for each other; step 3 no longer waits.",
        "Step 4 and step 4 wait for each other; step 4 no longer waits.",
        "Step 4 depends on 9, which does not exist; that is dropped.",
    ]


def test_unknown_tools_are_reported_and_repaired() -> None:
    plan = plan_of(
        json.dumps([step(1, "web_search"), step(2, "SearchWeb"), step(3, "read_tide"), step(4, "teleport")])
    )
    # A tool that only sounds alike is taken if it is harmless, never one that acts.
    assert [one.tool_type for one in plan] == ["search_web", "search_web", "read_tide", "teleport"]
    # A step keeps the name of its tool if the model answers in its place, so that this is known.
    assert plan.problems[2:] == [
        "Step 3 names a tool that does not exist: 'read_tide'; it is done by reasoning.",
        "Step 4 names a tool that does not exist: 'teleport'; the step fails.",
    ]


def test_a_tool_outside_of_the_profile_is_not_shown_and_its_step_fails() -> None:
    profile = AgentProfile(available_tools=("calculate",))
    model = Script(json.dumps([step(1, "send_mail"), step(2, "calculate")]))
    plan = PlanningAgent(office()[0], model, profile=profile).decompose_task_sync("x")
    assert [one.tool_type for one in plan] == ["send_mail", "calculate"]
    assert plan.problems == [
        "Step 1 names a tool that the profile does not allow: 'send_mail'; the step fails."
    ]
    assert "send_mail" not in model.prompts[0]


def test_two_steps_with_one_id_are_told_apart() -> None:
    plan = plan_of(json.dumps([step(1), step(1), step(2, needs=[1])]))
    assert len({str(one.id) for one in plan}) == 3
    assert "Two steps have the id 1" in plan.problems[0]


def test_plans_in_other_languages() -> None:
    chinese = {
        "步骤": [
            {"编号": 1, "描述": "搜索巴黎人口", "工具": "search_web", "依赖": []},
            {"编号": 2, "描述": "计算", "工具": "无", "依赖": ["步骤1"]},
        ]
    }
    plan = plan_of(json.dumps(chinese, ensure_ascii=False))
    assert [(one.tool_type, one.dependencies) for one in plan] == [("search_web", []), ("none", [1])]
    french = {
        "étapes": [
            {"numéro": 1, "quoi": "Chercher la population de Paris", "outil": "search_web", "attend": []}
        ]
    }
    plan = plan_of(json.dumps(french, ensure_ascii=False))
    assert [(one.description, one.tool_type) for one in plan] == [
        ("Chercher la population de Paris", "search_web")
    ]


def test_calls_instead_of_a_plan_are_steps() -> None:
    plan = plan_of('<tool_call>{"name": "calculate", "arguments": {"expression": "6*7"}}</tool_call>')
    assert (plan[0].tool_type, plan[0].arguments) == ("calculate", {"expression": "6*7"})
    assert plan.problems == ["The model called tools instead of planning; each call is a step."]


def test_all_calls_are_steps_and_lists_in_their_arguments_are_not() -> None:
    text = (
        call("send_mail", to="a@x.test", text=[{"task": "Read the news"}])
        + "\n"
        + call("calculate", expression="1+1")
    )
    plan = plan_of(text)
    assert [one.tool_type for one in plan] == ["send_mail", "calculate"]
    assert plan.problems == ["The model called tools instead of planning; each call is a step."]


def test_without_a_model_a_question_is_one_step_by_a_harmless_tool() -> None:
    plan = PlanningAgent(office()[0]).decompose_task_sync("Calculate 6 * 7")
    assert [(one.tool_type, one.description) for one in plan] == [("calculate", "Calculate 6 * 7")]


def test_a_model_that_fails_gives_one_step_that_tells_why() -> None:
    def broken(prompt: str) -> str:
        raise OSError("no route to host")

    plan = PlanningAgent(office()[0], broken).decompose_task_sync("x")
    assert plan[0].tool_type == "none"
    assert plan.problems == [
        "No plan was made, so the question becomes one step. The model failed: OSError: no route to host"
    ]


SCALARS = (
    some.none()
    | some.booleans()
    | some.integers(-5, 30)
    | some.text(max_size=8)
    | some.sampled_from(["search_web", "step 1", "1"])
)
STEPS = some.lists(
    some.dictionaries(
        some.sampled_from(["id", "description", "tool_type", "dependencies", "complexity", "步骤", "x"]),
        SCALARS | some.lists(SCALARS, max_size=4),
        max_size=6,
    ),
    max_size=12,
)


@given(STEPS, some.integers(0, 400))
def test_any_plan_becomes_one_that_can_be_carried_out(steps: list[Any], cut: int) -> None:
    hub, _ = OFFICE
    text = json.dumps({"steps": steps}, ensure_ascii=False)
    for answer in (text, text[:cut]):
        plan = PlanningAgent(hub).read(answer, "Why?")
        ids = [one.id for one in plan]
        assert 1 <= len(plan) <= 20
        assert len({str(id) for id in ids}) == len(ids)
        done: set[Any] = set()
        while len(done) < len(plan):
            ready = [one.id for one in plan if one.id not in done and set(one.dependencies) <= done]
            assert ready, "the plan has a cycle"
            done |= set(ready)
        unknown = [one.tool_type for one in plan if one.tool_type != "none" and one.tool_type not in hub]
        assert all(any(repr(name) in told for told in plan.problems) for name in unknown)
        json.dumps(plan)


@given(some.text(max_size=200))
def test_any_text_is_a_plan_at_last(text: str) -> None:
    assert len(PlanningAgent(OFFICE[0]).read(text, "Why?")) >= 1


OFFICE = office()


def test_entries_that_are_no_steps_are_reported() -> None:
    entries = [
        {"id": None},
        5,
        "do x",
        [],
        {"id": 6, "description": ["x"], "tool_type": ["calculate"]},
        {"id": 7, "description": "seven", "tool_type": "none"},
        None,
    ]
    plan = plan_of(json.dumps({"steps": entries}))
    assert [step.description for step in plan] == ["do x", "Call calculate", "seven"]
    left_out = [problem for problem in plan.problems if "left out" in problem]
    assert [problem.split(" of the plan")[0] for problem in left_out] == [
        "Entry 1",
        "Entry 2",
        "Entry 4",
        "Entry 7",
    ]
    many = plan_of(json.dumps({"steps": [*range(1_000), {"id": 1, "description": "one"}]}))
    assert many.problems[-1].startswith("980 more entries")


def test_the_list_of_tools_is_filled_up_to_the_limit() -> None:
    """Words that fit no tool, or few, leave room for others."""
    hub = ToolHub()
    for name in ("play_music", "dim_lights", "read_feed", "set_timer"):
        hub.register(len, name=name, description=f"{name.replace('_', ' ')}.")
    prompt = PlanningAgent(hub, lambda _: "").prompt("Put on some jazz")
    assert all(f"**{name}**" in prompt for name in ("play_music", "dim_lights", "read_feed", "set_timer"))
    for number in range(30):
        hub.register(len, name=f"tool_{number}", description="Does something else.")
    few = PlanningAgent(hub, lambda _: "", limit=6).prompt("Dim the lights")
    assert "1. **dim_lights**" in few
    assert few.count(". **") == 6
    assert "(28 more tools can be called by name)" in few
