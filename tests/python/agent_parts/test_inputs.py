"""From the words of a step to arguments, by the kind of the tool."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from toolhub.agents.inputs import (
    NoExpressionError,
    arguments_for,
    expression_of,
    history_part,
    keywords_of,
    with_results,
)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("Calculate 2 + 3 * 4", "2 + 3 * 4"),
        ("What is 15% of 240?", "15 / 100 * 240"),
        ("Compute (1,200 - 350) / 2, please.", "(1200 - 350) / 2"),
        ("Multiply 12 by 7", "12 * 7"),
        ("Calculate the sum of 3 and 4", None),
        ("Calculate the sum of 1 to 10", None),
        ("计算 1 到 10 之和", None),
        ("计算 3 和 4 的和", None),
        ("Evaluate sqrt(16) + 2**3", "sqrt(16) + 2**3"),
        ("把 12 和 30 相加", "12 + 30"),
        ("计算 3 乘以 4 加 5", "3 * 4 + 5"),
        ("计算 １２×３", "12*3"),
        ("请计算 1/0 的结果。", "1/0"),
        ("Work out 7 × (3 − 1)", "7 * (3 - 1)"),
        # What these ask for is more than the signs in them.
        ("Calculate 5 + 3 and then multiply by 2", None),
        ("计算 5 + 3，然后乘以 2", None),
        ("Calculate 3² + 4²", None),
        ("计算 3² + 4²", None),
        ("Calculate half of 5 + 3", None),
        ("计算 5 + 3 的一半", None),
        ("Add 5 and 3, then double it", None),
        ("Subtract 5 from 20 times 2", None),
        ("Calculate 3½ + 1", None),
        ("Calculate 200 * 15%", None),
        ("Calculate 0x10 + 1", None),
        ("Calculate 1 000 * 2", None),
        ("Calculate 5% growth on 2000: 2000 * 1.05", None),
        ("How many people live there?", None),
        ("Count the days between 2024-03-01 and 2024-12-25", None),
        ("Calculate 2024-03-01", None),
        ("Compare 2010-2020 with today", None),
        ("Take the 3 largest", None),
        ("Calculate 2^10", None),
        ("Calculate 2 ＾ 10", None),
        ("Calculate 2 ** 10", "2**10"),
        ("", None),
    ],
)
def test_the_expression_of_a_calculation(text: str, expression: str | None) -> None:
    found = expression_of(text)
    assert (found and found.replace(" ", "")) == (expression and expression.replace(" ", ""))


@given(some.text(alphabet="0123456789+-*/^%(). ,e年加乘sqrt", max_size=60))
def test_any_text_has_an_expression_that_parses_or_none(text: str) -> None:
    import ast

    found = expression_of(text)
    if found is not None:
        ast.parse(found, mode="eval")
        assert "^" not in found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Search the web for the population of Paris", "population of Paris"),
        ("Search for information about Rust async runtimes and summarise it.", "Rust async runtimes"),
        ("Please look up who is the president of Chile", "president of Chile"),
        ("Use search_web to find out when the Eiffel Tower was built", "when the Eiffel Tower was built"),
        ('Find "large language models" online', "large language models"),
        ("Get weather in Oslo", "weather in Oslo"),
        ("quantum computing 2024", "quantum computing 2024"),
        ("请搜索北京的人口信息", "北京的人口"),
        ("在网上查找关于量子计算的资料，并总结要点", "量子计算"),
        ("首先查询上海天气", "上海天气"),
    ],
)
def test_the_key_words_of_a_search(text: str, words: str) -> None:
    assert keywords_of(text) == words


@given(some.text(min_size=1, max_size=80))
def test_key_words_are_never_empty(text: str) -> None:
    assert keywords_of(text) or not text.strip()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Get the last 5 messages", ("last", 5, None)),
        ("Show the user's first question", ("first", None, "user")),
        ("Read the whole conversation", ("all", None, None)),
        ("Get the conversation history", (None, None, None)),
        ("获取最近三条用户消息", ("last", 3, "user")),
        ("查看全部对话历史", ("all", None, None)),
        # A person, a topic and a day are not in any part.
        ("Get the last 5 messages of Ann", None),
        ("获取张三最近三条消息", None),
        ("Find what the assistant said about invoices.", None),
        ("Delete the history of the 17th of May", None),
        ("Get the first 3 and the last 2 messages", None),
    ],
)
def test_the_part_of_a_history(text: str, part: tuple[Any, ...] | None) -> None:
    found = history_part(text)
    assert (found and tuple(found)) == part


@pytest.mark.parametrize(
    ("text", "results", "expected"),
    [
        ("Add 1 to {step_1}", {"1": "41"}, "Add 1 to 41"),
        ("Divide the result of step 2 by 4", {"2": "12"}, "Divide 12 by 4"),
        # Which number of a sentence is meant is for a model to say.
        ("Divide {step_2} by 4", {"2": "Room 12 is shut."}, "Divide Room 12 is shut. by 4"),
        ("Use 步骤1的结果", {"1": "很好"}, "Use 很好"),
        ("Add {step_7}", {"1": "41"}, "Add {step_7}"),
        ("Use the result of step 1", {"1": "x" * 500}, "Use the result of step 1"),
    ],
)
def test_references_to_results_are_filled_in(text: str, results: dict[str, str], expected: str) -> None:
    assert with_results(text, results) == expected


def schema(*required: str, **types: Any) -> dict[str, Any]:
    properties = {name: {"type": kind} if isinstance(kind, str) else kind for name, kind in types.items()}
    return {"type": "object", "properties": properties, "required": list(required)}


TEXT, COUNT = {"type": "string"}, {"type": "integer"}
ROLE = {"enum": ["user", "assistant"]}


@pytest.mark.parametrize(
    ("kind", "text", "of", "arguments"),
    [
        (
            "calculation",
            "Calculate 6 * 7",
            schema("formula", formula=TEXT, digits=COUNT),
            {"formula": "6 * 7"},
        ),
        ("calculation", "Add 3 and 4", schema("a", "b", a=COUNT, b=COUNT), None),
        ("search", "Search for the mayor of Lyon", schema("q", q=TEXT, page=COUNT), {"q": "mayor of Lyon"}),
        ("search", "Search for Rust and compare it with Go", schema("q", q=TEXT, page=COUNT), None),
        ("search", "Search for cats", schema("q", "engine", q=TEXT, engine=TEXT), None),
        ("history", "Get the last 5 messages", schema(limit=COUNT), {"limit": 5}),
        ("history", "Get the last 5 user messages", schema(n=COUNT, role=ROLE), {"n": 5, "role": "user"}),
        ("history", "Get the last 5 user messages", schema(limit=COUNT), None),
        ("history", "Get all messages", schema("part", part=TEXT), {"part": "all"}),
        ("history", "Get the chat history", schema(limit=COUNT), {}),
        # The words themselves, whatever the parameter is called.
        ("other", "Describe the town of Lyon", schema("x", x=TEXT), {"x": "Describe the town of Lyon"}),
        ("time", "现在几点", schema("input_data", input_data={}), {"input_data": "现在几点"}),
        ("history", "What did Ann say?", schema("query", query=TEXT), {"query": "What did Ann say?"}),
        # The schema says what these texts have to be, and a step says what is done to them.
        ("other", "Read a.txt", schema("path", path={**TEXT, "description": "Path of a file"}), None),
        ("other", "Fetch https://a.test", schema("url", url={**TEXT, "format": "uri"}), None),
        ("other", "Say hello", schema("tone", tone={"enum": ["warm", "cold"]}), None),
        ("other", "Convert 20 degrees", schema("value", "unit", value=COUNT, unit=TEXT), None),
        ("time", "Tell the time", schema(timezone=TEXT), None),
    ],
)
def test_arguments_by_kind(kind: str, text: str, of: dict[str, Any], arguments: Any) -> None:
    assert arguments_for(kind, text, of) == arguments


def test_a_calculation_without_a_number_has_no_arguments() -> None:
    with pytest.raises(NoExpressionError):
        arguments_for("calculation", "Calculate how many fit into a train", schema("x", x=TEXT))


@given(
    some.sampled_from(["search", "history"]), some.text(alphabet="Get last3Annmesgs, 张三的消息", max_size=60)
)
def test_no_number_is_lost_on_the_way_to_the_arguments(kind: str, text: str) -> None:
    found = arguments_for(kind, text, schema("x", x=COUNT if kind == "history" else TEXT))
    if found:
        assert "3" not in text or "3" in str(found)
