"""The examples work, with real servers and a model that plays a script."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import catalogue
import pytest

from support.agents import Roles, Script, call
from support.examples import EXAMPLES, example, page

pytestmark = pytest.mark.anyio

TOTAL = {"path": "sales.xlsx", "sheet": "Sales", "at": "B6", "rows": [["=SUM(B2:B5)"]]}


@pytest.fixture(name="page")
def _page() -> Iterator[str]:
    with page() as address:
        yield address


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    return Path(shutil.copy(EXAMPLES / "sales.xlsx", tmp_path))


def cell(workbook: Path, name: str) -> Any:
    """What is in a cell, read by another program than the server."""
    code = "import openpyxl, sys; print(openpyxl.load_workbook(sys.argv[1])['Sales'][sys.argv[2]].value)"
    python = catalogue.SERVERS / "excel/bin/python"
    done = subprocess.run([python, "-c", code, workbook, name], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(("said", "verified"), [("4,132 miles", True), ("5,132 miles", False)])
async def test_research_reads_pages_calculates_and_checks(
    page: str, installed: Callable[..., dict[str, Any]], said: str, verified: bool
) -> None:
    steps = [
        {"id": 1, "description": f"Read {page}", "tool_type": "fetch"},
        {
            "id": 2,
            "description": "Calculate the miles",
            "tool_type": "calculate",
            "dependencies": [1],
            "arguments": {"expression": "6650 / 1.60934"},
        },
        {"id": 3, "description": "Answer the question", "tool_type": "none", "dependencies": [1, 2]},
    ]
    model = Roles(json.dumps(steps), f"The Nile is about {said} long.", json.dumps({"url": page}))
    server = installed("fetch", "--ignore-robots-txt", "--allow-private-ips")
    answer = await example("research").research("How long is the Nile, in miles?", [page], model, server)
    assert answer.text == f"The Nile is about {said} long."
    assert "6,650 km" in answer.steps[0]["result"]
    assert answer.verification["verified"] is verified


@pytest.mark.parametrize("is_allowed", [True, False])
async def test_the_excel_assistant_reads_and_writes_only_what_is_approved(
    workbook: Path, installed: Callable[..., dict[str, Any]], is_allowed: bool
) -> None:
    model = Script(
        call("describe_workbook", path="sales.xlsx"),
        call("read_range", path="sales.xlsx", sheet="Sales"),
        call("write_range", **TOTAL),
        call("read_range", path="../sales.xlsx", sheet="Sales"),
        call("read_range", path="sales.xlsx", sheet="Sales", range="B6"),
        "South sold most: 1,850. I wrote the total into B6: 5,470.",
    )
    asked: list[Any] = []

    def approve(question: Any) -> bool:
        asked.append((question.name, dict(question.arguments)))
        return is_allowed

    question = "Which region sold most? Write the total into B6."
    assist = example("excel_assistant").assist
    answer = await assist(question, workbook, model, installed("excel"), approve)
    assert asked == [("write_range", TOTAL)]
    assert "not allowed" in model.prompts[4] or "outside" in model.prompts[4], model.prompts[4][-600:]
    assert cell(workbook, "B6") == ("=SUM(B2:B5)" if is_allowed else "None")
    assert answer.verification["verified"] is is_allowed
    if not is_allowed:
        issues = " ".join(answer.verification["issues"])
        assert "5,470" in issues
        assert "'I wrote'" in issues
