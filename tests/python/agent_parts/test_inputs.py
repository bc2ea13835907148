"""From the words of a step to arguments, by the kind of the tool."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from toolhub.agents.inputs import by_schema, with_results
from toolhub.agents.phrases import expression_of, history_part, keywords_of


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("Calculate 2 + 3 * 4", "2 + 3 * 4"),
        ("What is 15% of 240?", "15 / 100 * 240"),
        ("Compute (1,200 - 350) / 2, please.", "(1200 - 350) / 2"),
        ("Multiply 12 by 7", "12 * 7"),
        ("Subtract 5 from 20", "20 - 5"),
        ("Find the square root of 144", "sqrt(144)"),
        ("Evaluate sqrt(16) + 2**3", "sqrt(16) + 2**3"),
        ("把 12 和 30 相加", "12 + 30"),
        ("计算 3 乘以 4 加 5", "3 * 4 + 5"),
        ("计算 １２×３", "12*3"),
        ("Work out 7 × (3 − 1)", "7 * (3 - 1)"),
        ("- Calculate: 10/4.", "10/4"),
        ("Calculate 5% growth on 2000: 2000 * 1.05", "2000 * 1.05"),
        ("How many people live there?", None),
        ("Count the days between 2024-03-01 and 2024-12-25", None),
        ("Compare 2010-2020 with today", None),
        ("Take the 3 largest", None),
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
        ast.parse(found.replace("^", "**"), mode="eval")


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
        ("Get the last 5 messages", ("last", 5, None, None)),
        ("What was the user's first question?", ("first", None, "user", None)),
        ("Read the whole conversation", ("all", None, None, None)),
        ("获取最近三条用户消息", ("last", 3, "user", None)),
        ("Find what the assistant said about invoices.", ("last", None, "assistant", "invoices")),
    ],
)
def test_the_part_of_a_history(text: str, part: tuple[Any, ...]) -> None:
    assert tuple(history_part(text)) == part


@pytest.mark.parametrize(
    ("text", "results", "expected"),
    [
        ("Add 1 to {step_1}", {"1": "41"}, "Add 1 to 41"),
        ("Divide the result of step 2 by 4", {"2": "There are 12 months."}, "Divide 12 by 4"),
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


@pytest.mark.parametrize(
    ("text", "of", "arguments"),
    [
        ("Fetch https://a.test/x?y=1.", schema("url", url="string"), {"url": "https://a.test/x?y=1"}),
        ("Read src/main.rs", schema("path", path="string"), {"path": "src/main.rs"}),
        ("Add 3 and 4", schema("a", "b", a="integer", b="integer"), {"a": 3, "b": 4}),
        (
            "Convert 20 celsius to fahrenheit",
            schema("value", "unit", value="number", unit={"enum": ["fahrenheit", "kelvin"]}),
            {"value": 20, "unit": "fahrenheit"},
        ),
        (
            "Mail bob@x.test the text 'See you'",
            schema("email", "text", email="string", text="string"),
            {"email": "bob@x.test", "text": "See you"},
        ),
        ("Summarise the result", schema("content", content="string"), {"content": "A long story."}),
        ("Time in Asia/Tokyo", schema("timezone", timezone="string"), {"timezone": "Asia/Tokyo"}),
        ("Say hello", schema("message", message="string", limit="integer"), {"message": "Say hello"}),
        ("Show 7 rows with limit 5", schema(limit="integer", offset="integer"), {"limit": 5}),
    ],
)
def test_arguments_by_the_schema(text: str, of: dict[str, Any], arguments: dict[str, Any]) -> None:
    assert by_schema(text, of, {"1": "A long story."}) == arguments
