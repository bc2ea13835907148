"""Arguments come from the plan, from words that tell everything, or from the model; no failure becomes a success."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.agents import Roles
from toolhub import ToolHub
from toolhub.agents import (
    CoordinationAgent,
    ExecutionAgent,
    PlanningAgent,
    Step,
    StepResult,
    VerificationAgent,
)


class Tool:
    """A tool of an orchestrator: `execute` takes one input and the schema says nothing about it."""

    def __init__(self, name: str, description: str, answer: Any) -> None:
        self.name, self.description, self._answer = name, description, answer
        self.inputs: list[Any] = []

    def execute(self, input_data: Any) -> Any:
        self.inputs.append(input_data)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer(input_data) if callable(self._answer) else self._answer


CLOCK = "获取当前时间、时区转换、时间计算等时间相关操作"
HISTORY = "获取对话历史，可以查看之前的用户问题和助手回答"


def research_hub() -> tuple[ToolHub, dict[str, Tool]]:
    """Tools as an orchestrator registers them, with tags that it has read out of their descriptions."""
    hub = ToolHub()
    tools = {
        "calculate": Tool("calculate", "数学计算，支持基本四则运算、幂运算等", eval),
        "get_time": Tool("get_time", CLOCK, "2026-11-18 09:30:00"),
        "get_conversation_history": Tool("get_conversation_history", HISTORY, "[user]: 你好"),
    }
    tags = {
        "calculate": ["calculate"],
        "get_time": ["calculate", "time"],
        "get_conversation_history": ["history"],
    }
    for name, tool in tools.items():
        hub.register(tool, capabilities=tags[name])
    return hub, tools


def acting_hub() -> tuple[ToolHub, list[tuple[str, Any]]]:
    hub = ToolHub()
    calls: list[tuple[str, Any]] = []

    @hub.tool
    def git_commit(message: str) -> str:
        "Record the changes of this conversation in the history of the repository."
        calls.append(("git_commit", message))
        return "committed"

    @hub.tool
    def add_memory(content: str) -> str:
        "Add something to the memory."
        calls.append(("add_memory", content))
        return "added"

    @hub.tool
    def delete_history(which: str) -> str:
        "Delete a part of the history."
        calls.append(("delete_history", which))
        return "deleted"

    return hub, calls


STEPS = [
    ("git_commit", "Commit the last changes", '{"message": "Fix the parser"}', "Fix the parser"),
    ("add_memory", "Remember that Ada likes tea", '{"content": "Ada likes tea"}', "Ada likes tea"),
    ("delete_history", "Delete the history of the 17th of May", '{"which": "17 May"}', "17 May"),
    ("delete_history", "删除五月十七日的历史", '{"which": "5月17日"}', "5月17日"),
]


@pytest.mark.parametrize(("tool", "said", "written", "value"), STEPS)
def test_the_model_writes_the_arguments_of_what_may_act(
    tool: str, said: str, written: str, value: str
) -> None:
    hub, calls = acting_hub()
    model = Roles("", arguments=written)
    assert ExecutionAgent(hub, model).execute_step_sync(Step(1, said, tool)).success
    assert (calls, model.roles()) == ([(tool, value)], ["arguments"])


@pytest.mark.parametrize(("tool", "said", "written", "value"), STEPS)
def test_without_a_model_a_deed_without_arguments_fails(
    tool: str, said: str, written: str, value: str
) -> None:
    hub, calls = acting_hub()
    result = ExecutionAgent(hub).execute_step_sync(Step(1, said, tool))
    assert (result.success, calls) == (False, [])
    assert result.error == (
        f"The step does not state the arguments of '{tool}', and no model is set to write them."
    )
    silent = ExecutionAgent(hub, Roles("", "I have done it.", "I have done it."))
    result = silent.execute_step_sync(Step(1, said, tool))
    assert (result.success, calls, result.error) == (False, [], f"The model wrote no arguments for '{tool}'.")


def reading_hub() -> tuple[ToolHub, list[Any]]:
    """Harmless tools that say what they were given."""
    hub, calls = ToolHub(), []

    def add(name: str, *required: str, **types: str) -> None:
        properties = {key: {"type": kind} for key, kind in types.items()}
        schema = {"type": "object", "properties": properties, "required": list(required)}

        def tool(**given: Any) -> str:
            calls.append(given)
            return f"{name}: {given}"

        hub.register(tool, name=name, parameters=schema, read_only=True)

    add("search_web", "query", query="string")
    add("translate", "text", text="string")
    add("get_weather", "city", city="string")
    add("calculate", "expression", expression="string")
    add("get_conversation_history", limit="integer")
    add("search_flights", "query", query="string", max_price="integer", day="string")
    add("lookup_stock", "symbol", symbol="string", days="integer")
    return hub, calls


DEPENDENT = [
    ("translate", "Translate the result", {"text": "Paris"}),
    ("translate", "翻译上一步的结果", {"text": "巴黎"}),
    ("search_web", "Search the mayor of that city", {"query": "mayor of Paris"}),
    ("search_web", "搜索该城市的市长", {"query": "巴黎市长"}),
    ("get_weather", "Get the weather there", {"city": "Paris"}),
    # A number that was planned before the result was there is a guess.
    ("get_conversation_history", "Get the last 3 messages", {"limit": 2}),
    ("calculate", "Calculate 2000000 / 2", {"expression": "2102650 / 2"}),
]
FURTHER = [
    (
        "search_flights",
        "Search flights to Rome under 200 euros on Friday",
        {"query": "Rome", "max_price": 200},
    ),
    ("search_flights", "搜索周五去罗马200元以下的机票", {"query": "罗马", "max_price": 200}),
    ("search_flights", "搜索去罗马两百元以下的机票", {"query": "罗马", "max_price": 200}),
    ("lookup_stock", "Look up the stock AAPL for 5 days", {"symbol": "AAPL", "days": 5}),
    ("lookup_stock", "Look up the stock AAPL for five days", {"symbol": "AAPL", "days": 5}),
]


@pytest.mark.parametrize(
    ("tool", "said", "written", "needs"),
    [*((*case, [1]) for case in DEPENDENT), *((*case, []) for case in FURTHER)],
)
def test_the_model_writes_what_the_words_of_a_step_do_not_tell(
    tool: str, said: str, written: dict[str, Any], needs: list[int | str]
) -> None:
    """Words that build on an earlier result, and words with a number for a tool with further parameters."""
    hub, calls = reading_hub()
    step = Step(2, said, tool, needs)
    earlier = StepResult(id=1, description="", success=True, result="Paris", error=None, stopped=None)
    results = [earlier] if needs else []
    model = Roles("", arguments=json.dumps(written))
    result = ExecutionAgent(hub, model).execute_step_sync(step, results)
    assert (calls, result.method, model.roles()) == ([written], "tool", ["arguments"])
    alone = ExecutionAgent(hub).execute_step_sync(step, results)
    assert (alone.success, len(calls)) == (False, 1)
    assert f"does not state the arguments of '{tool}', and no model" in str(alone.error)


@pytest.mark.parametrize(
    ("tool", "said", "told"),
    [
        ("search_flights", "Search flights to Rome", {"query": "flights to Rome"}),
        ("search_web", "Search the population of Paris in 2024", {"query": "population of Paris in 2024"}),
        ("translate", "Good morning", {"text": "Good morning"}),
    ],
)
def test_words_that_tell_everything_are_the_arguments(tool: str, said: str, told: dict[str, Any]) -> None:
    hub, calls = reading_hub()
    model = Roles("", arguments='{"never": "asked"}')
    assert ExecutionAgent(hub, model).execute_step_sync(Step(1, said, tool)).success
    assert (calls, model.roles()) == ([told], [])


def test_arguments_of_the_model_are_checked_and_repaired_once() -> None:
    hub, calls = acting_hub()
    answers = ['{"text": "Fix"}', '{"message": "Fix"}', '{"note": "never asked"}']
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        return answers[len(asked) - 1]

    assert ExecutionAgent(hub, model).execute_step_sync(Step(1, "Commit it", "git_commit")).success
    assert calls == [("git_commit", "Fix")]
    assert '"arguments": {"text": "Fix"}' in asked[1]
    assert "required argument is missing" in asked[1]

    wrong = Roles("", "Done.", '{"text": "Fix"}')
    result = ExecutionAgent(hub, wrong).execute_step_sync(Step(1, "Commit it", "git_commit"))
    assert (result.success, len(calls), wrong.roles()) == (False, 1, ["arguments"] * 2)


@pytest.mark.parametrize(
    ("tool", "said", "value"),
    [
        ("get_time", "What time is it now?", "What time is it now?"),
        ("get_time", "现在几点了？", "现在几点了？"),
        ("get_time", "2 天之后是几号？", "2 天之后是几号？"),
        ("get_conversation_history", "我刚才问了什么？", "我刚才问了什么？"),
        ("get_conversation_history", "Get all messages", "all"),
        ("calculate", "计算 12 乘以 (3 加 4)", "12 * (3 + 4)"),
    ],
)
def test_tools_are_called_and_not_imagined(tool: str, said: str, value: str) -> None:
    hub, tools = research_hub()
    model = Roles("", "It is noon, and you asked nothing.", "{}")
    result = ExecutionAgent(hub, model).execute_step_sync(Step(1, said, tool))
    assert (result.success, result.method, tools[tool].inputs) == (True, "tool", [value])
    assert model.asked == []


@pytest.mark.parametrize(
    ("said", "written", "answer"),
    [
        ("Calculate 5 + 3 and then multiply by 2", "(5 + 3) * 2", "16"),
        ("计算 5 + 3，再乘以 2", "(5 + 3) * 2", "16"),
        ("Calculate 3² + 4²", "3**2 + 4**2", "25"),
        ("Calculate half of 5 + 3", "(5 + 3) / 2", "4.0"),
    ],
)
def test_words_beside_an_expression_are_for_the_model(said: str, written: str, answer: str) -> None:
    hub, tools = research_hub()
    model = Roles("", arguments=json.dumps({"input_data": written}))
    result = ExecutionAgent(hub, model).execute_step_sync(Step(1, said, "calculate"))
    assert (result.result, tools["calculate"].inputs) == (answer, [written])
    alone = ExecutionAgent(hub).execute_step_sync(Step(1, said, "calculate"))
    assert (alone.success, len(tools["calculate"].inputs)) == (False, 1)


def test_words_that_a_tool_does_not_understand_are_written_by_the_model() -> None:
    hub = ToolHub()

    @hub.tool
    def get_weather(city: str) -> str:
        "Get the weather."
        if city != "Oslo":
            raise ValueError(f"there is no city {city!r}")
        return "rain"

    model = Roles("", arguments='{"city": "Oslo"}')
    result = ExecutionAgent(hub, model).execute_step_sync(Step(1, "Get the weather in Oslo", "get_weather"))
    assert (result.result, result.arguments) == ("rain", {"city": "Oslo"})


@pytest.mark.parametrize("said", ["计算 1/0", "Calculate 1/0"])
def test_a_failed_calculation_is_not_answered_by_the_clock(said: str) -> None:
    hub, tools = research_hub()
    plan = json.dumps([{"id": 1, "description": said, "tool_type": "calculate"}])
    answer = CoordinationAgent(hub, Roles(plan, "Infinity.", "?")).answer_sync(said)
    assert tools["get_time"].inputs == []
    assert answer.steps[0]["method"] == "reasoned"
    assert (answer.verification["verified"], answer.verification["confidence"]) == (False, 0.15)
    assert "in place of a tool" in answer.verification["issues"][0]
    assert "division by zero" in answer.verification["issues"][0]
    assert "division by zero" in answer.errors[0]


def test_what_was_reasoned_taints_what_builds_on_it() -> None:
    hub, _ = research_hub()
    steps = [
        {"id": 1, "description": "计算 1/0", "tool_type": "calculate"},
        {"id": 2, "description": "Say it in a sentence", "tool_type": "none", "dependencies": [1]},
    ]
    answer = CoordinationAgent(hub, Roles(json.dumps(steps), "It cannot be told.", "{}")).answer_sync("What?")
    assert [step["method"] for step in answer.steps] == ["reasoned", "reasoning"]
    assert not answer.verification["verified"]
    # Also when a loop of one's own hands the steps over as plain data.
    alone = VerificationAgent().verify_result_sync(
        "It cannot be told.", json.loads(json.dumps(answer.steps[:1]))
    )
    assert (alone.verified, alone.issues) == (False, answer.verification["issues"])


@pytest.mark.parametrize(
    ("other", "description", "is_used"),
    [
        ("web_search", "Find pages.", True),
        ("tavily_search", "Find pages.", False),
        ("search_files", "Search the web and files.", False),
        ("get_page", "Search the web.", False),
        ("send_search", "Search the web.", False),
    ],
)
def test_only_a_harmless_tool_of_the_same_kind_stands_in(other: str, description: str, is_used: bool) -> None:
    hub = ToolHub()
    hub.register(Tool("search_web", "Search the web.", OSError("no network")))
    found = Tool(other, description, "a page")
    hub.register(found)
    result = ExecutionAgent(hub, Roles("", "I think so.", "?")).execute_step_sync(
        Step(1, "Search for cats", "search_web")
    )
    assert (result.method, len(found.inputs)) == (("capability", 1) if is_used else ("reasoned", 0))


def test_declared_capabilities_tell_the_kind_of_a_name_that_says_nothing() -> None:
    for declared, is_used in ((["search", "web"], True), (None, False)):
        hub = ToolHub()
        hub.register(Tool("search_web", "Search the web.", OSError("no network")))
        tool = Tool("brave", "Search the web.", "a page")
        hub.register(tool, read_only=True, capabilities=declared)
        ExecutionAgent(hub).execute_step_sync(Step(1, "Search for cats", "search_web"))
        assert bool(tool.inputs) == is_used


@pytest.mark.parametrize("options", [{"effects": True}, {}])
def test_a_tool_that_is_not_known_to_be_harmless_has_no_stand_in(options: dict[str, Any]) -> None:
    hub = ToolHub()
    hub.register(Tool("weather_push", "Weather.", OSError("no network")), **options)
    other = Tool("get_weather", "Weather.", "rain")
    hub.register(other)
    model = Roles("", "It rains.", '{"input_data": "Oslo"}')
    plan = json.dumps([{"id": 1, "description": "Weather in Oslo", "tool_type": "weather_push"}])
    result = ExecutionAgent(hub, model).execute_step_sync(Step(1, "Weather in Oslo", "weather_push"))
    assert (result.success, other.inputs) == (False, [])
    thinking = {"id": 2, "description": "Sum up", "tool_type": "none"}
    both = json.dumps([*json.loads(plan), thinking])
    answer = CoordinationAgent(hub, Roles(both, "Done.", '{"input_data": "Oslo"}')).answer_sync("Weather?")
    assert (answer.success, answer.reason, answer.text) == (False, "failed", "Done.")


def test_a_missing_tool_that_was_to_act_is_a_failure_and_any_other_is_told() -> None:
    hub, _ = research_hub()
    fax = json.dumps([{"id": 1, "description": "Send a fax to Ada", "tool_type": "send_fax"}])
    answer = CoordinationAgent(hub, Roles(fax, "I have sent it.")).answer_sync("Fax Ada")
    assert (answer.success, answer.reason) == (False, "failed")
    assert "There is no tool named 'send_fax'" in answer.text
    tide = json.dumps([{"id": 1, "description": "Look up the tide", "tool_type": "get_tide"}])
    answer = CoordinationAgent(hub, Roles(tide, "It is high.")).answer_sync("The tide?")
    assert (answer.text, answer.verification["verified"]) == ("It is high.", False)


def test_a_person_gets_the_whole_result() -> None:
    hub = ToolHub()
    hub.register(Tool("read_report", "Read the report.", "word " * 2_000))
    plan = json.dumps([{"id": 1, "description": "Read the report", "tool_type": "read_report"}])
    answer = CoordinationAgent(hub, Roles(plan)).answer_sync("Read the report")
    assert answer.text == "word " * 2_000


@pytest.mark.parametrize("question", ["", " \n\t"])
def test_an_empty_question_is_an_error(question: str) -> None:
    hub, _ = research_hub()
    for ask in (CoordinationAgent(hub, Roles("[]", "x")).answer_sync, PlanningAgent(hub).decompose_task_sync):
        with pytest.raises(ValueError, match="the question is empty"):
            ask(question)


def test_a_failure_is_hardly_trusted() -> None:
    checked = VerificationAgent().verify_result_sync({"success": False, "error": "no network"})
    assert (checked.verified, checked.confidence) == (False, 0.3)
