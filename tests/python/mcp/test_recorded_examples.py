"""The examples and agents on cassettes, without servers and models.

The cassettes hold the answers of the real servers. Those of the three examples also hold the answers of the small model of
`make test-llm`, as wrong as they are: `make cassettes` records them again. The others are of scripted models, which call the
tools that a good model would call.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.agents import Roles, Script, call
from support.examples import EXAMPLES, SMALL_MODEL, SmallModel, example, page
from toolhub import ToolHub
from toolhub.agents import ChatLoop, CoordinationAgent

pytestmark = pytest.mark.anyio

PORT = 18976  # used when the cassette is recorded; prompts have the address
URL = f"http://127.0.0.1:{PORT}/nile"
GONE = {"command": "/nonexistent/server"}
FETCH = ("fetch", "--ignore-robots-txt", "--allow-private-ips")


@pytest.fixture
def records(request: pytest.FixtureRequest, toolhub_cassette: Path) -> bool:
    """Whether this run records, so that the real parts are needed."""
    return request.config.getoption("--toolhub-record") is not None


@pytest.fixture
def small_records(records: bool) -> bool:
    """As `records`, for a cassette that needs the small model."""
    if records and SMALL_MODEL is None:
        pytest.fail("the small model is not there: run 'make cassettes'")
    return records


def no_model(prompt: str) -> str:
    raise AssertionError("a replay asks no model")


# ------------------------------------------------------------------ the small model


async def research(records: bool, installed: Callable[..., dict[str, Any]], is_held: bool) -> Any:
    ask = example("research").research
    question, model = "How long is the Nile, in miles?", SmallModel(is_held)
    if not records:
        return await ask(question, [URL], model, GONE)
    with page(PORT):
        return await ask(question, [URL], model, installed(*FETCH))


@pytest.mark.timeout(600)
async def test_research_of_the_small_model(
    small_records: bool, installed: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    answer = await research(small_records, installed, is_held=True)
    assert answer.reason in ("answered", "failed")
    assert answer.text.strip() or answer.errors
    assert "plan 1: " in capsys.readouterr().out


@pytest.mark.timeout(600)
async def test_research_of_the_small_model_without_a_form(
    small_records: bool, installed: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    answer = await research(small_records, installed, is_held=False)
    assert answer.success
    assert "note: The model's answer contains no plan" in capsys.readouterr().out


async def ask_excel(
    records: bool, installed: Callable[..., dict[str, Any]], tmp_path: Path, is_held: bool
) -> tuple[Any, list[str]]:
    """The answer of the assistant, and the calls that it wanted to have approved."""
    workbook = Path(shutil.copy(EXAMPLES / "sales.xlsx", tmp_path))
    asked: list[str] = []

    def approve(question: Any) -> bool:
        asked.append(question.name)
        return False

    server = installed("excel") if records else GONE
    question = "Which region had the highest sales?"
    answer = await example("excel_assistant").assist(question, workbook, SmallModel(is_held), server, approve)
    assert workbook.read_bytes() == (EXAMPLES / "sales.xlsx").read_bytes()  # noqa: ASYNC240
    return answer, asked


@pytest.mark.timeout(600)
async def test_the_excel_assistant_of_the_small_model(
    small_records: bool,
    installed: Callable[..., dict[str, Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """After an error the model repeats the result of its call. The cassette ends there: a result is not a call."""
    answer, asked = await ask_excel(small_records, installed, tmp_path, is_held=True)
    assert (answer.reason, asked) == ("answered", [])
    assert "tool_result" in answer.text
    assert answer.spent["calls"] == 1
    assert "must point to an Excel file" in capsys.readouterr().out


@pytest.mark.timeout(600)
async def test_the_excel_assistant_of_the_small_model_without_a_form(
    small_records: bool,
    installed: Callable[..., dict[str, Any]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer, asked = await ask_excel(small_records, installed, tmp_path, is_held=False)
    assert (answer.reason, asked) == ("answered", [])
    assert answer.spent["calls"] == 0
    assert capsys.readouterr().out == ""


# ------------------------------------------------------------------ scripted models


async def test_research(records: bool, installed: Callable[..., dict[str, Any]]) -> None:
    """Recorded from mcp-server-fetch and a scripted model."""
    told = {"dependencies": [1], "arguments": {"expression": "6650 / 1.60934"}}
    steps = [
        {"id": 1, "description": f"Read {URL}", "tool_type": "fetch"},
        {"id": 2, "description": "Convert 6650 km to miles", "tool_type": "calculate", **told},
        {"id": 3, "description": "Answer the question", "tool_type": "none", "dependencies": [1, 2]},
    ]
    model: Any = no_model
    server = GONE
    if records:
        model = Roles(json.dumps(steps), "The Nile is about 4,132 miles long.", json.dumps({"url": URL}))
        server = installed(*FETCH)
    ask = example("research").research("How long is the Nile, in miles?", [URL], model, server)
    if records:
        with page(PORT):
            answer = await ask
    else:
        answer = await ask
    assert answer.text == "The Nile is about 4,132 miles long."
    assert "6,650 km" in answer.steps[0]["result"]
    assert answer.verification["verified"] is True


async def test_a_chat_with_prose_and_a_tool_that_does_not_exist(
    records: bool, installed: Callable[..., dict[str, Any]]
) -> None:
    """Recorded from a calculator server and a scripted model that first writes half of a call, then an unknown tool."""
    script = Script(
        '<tool_call>\n{"tool_name": "calculate", "arguments": {"expression": "2 *',
        call("compute", expression="2 * 21"),
        call("calculate", expression="2 * 21"),
        "It is 42.",
    )
    async with ToolHub() as hub:
        hub.add_server("calculator", **(installed("calculator") if records else GONE))
        chat = ChatLoop(hub, script if records else no_model)
        answer = await chat.answer("2 * 21?")
    assert answer.verification["verified"] is True
    assert answer.text == "It is 42."


async def test_a_plan_over_two_servers(records: bool, installed: Callable[..., dict[str, Any]]) -> None:
    """Recorded from a calculator and a time server, and a scripted model."""
    steps = [
        {"id": 1, "description": "Calculate 17 * 3 + 4", "tool_type": "calculate"},
        {"id": 2, "description": "Get the time in Asia/Tokyo", "tool_type": "get_current_time"},
        {"id": 3, "description": "Give the answer", "tool_type": "none", "dependencies": [1, 2]},
    ]
    model = Roles(json.dumps(steps), "It is 55.", '{"timezone": "Asia/Tokyo"}') if records else no_model
    async with ToolHub() as hub:
        for name in ("calculator", "time"):
            hub.add_server(name, **(installed(name) if records else GONE))
        answer = await CoordinationAgent(hub, model).answer(
            "What is 17 * 3 + 4, and what time is it in Tokyo?"
        )
    assert (answer.text, answer.success) == ("It is 55.", True)
    assert "Asia/Tokyo" in answer.steps[1]["result"]
