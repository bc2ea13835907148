"""Extensions of the protocol on servers that others wrote: skills on FastMCP, tasks on the demonstration server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import catalogue
import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio

SKILLED = catalogue.ROOT / "tests/mcp/servers/skilled.py"

GREET = """---
name: greet
description: >-
  Greet people: politely,
  and in their own language.
license: MIT
metadata:
  version: "1.0"
---
# Greet

Take the words from [words](references/words.md).
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one skill and one of its files."""
    (tmp_path / "greet/references").mkdir(parents=True)
    (tmp_path / "greet/SKILL.md").write_text(GREET, "utf-8")
    (tmp_path / "greet/references/words.md").write_text("你好, grüß Gott\n", "utf-8")
    return tmp_path


@pytest.fixture
async def skilled(
    hub: ToolHub, folder: Path, forked: Callable[..., Any], connected: Callable[..., Any]
) -> ToolHub:
    await connected(hub, "school", **forked("fastmcp", folder, program=SKILLED))
    return hub


async def test_a_skill_is_listed_under_its_servers_label(skilled: ToolHub) -> None:
    (skill,) = skilled.tools(source="skills")
    assert skill.name == "school/greet"
    assert skill.description == "Greet people: politely, and in their own language."


async def test_a_call_gives_the_instructions_and_then_the_files(skilled: ToolHub) -> None:
    result = await skilled.execute("school/greet")
    assert result.success, result.error
    assert (result.meta["source"], result.meta["server"]) == ("skills", "school")
    assert result.result["instructions"].startswith("# Greet")
    (path,) = result.result["resources"]
    assert (await skilled.execute("school/greet", {"file": path})).result["text"] == "你好, grüß Gott\n"
    assert (await skilled.execute("school/greet", {"file": "secret.md"})).kind == "invalid_arguments"


async def test_a_skill_that_changed_is_read_as_it_is_now(skilled: ToolHub, folder: Path) -> None:
    (folder / "greet/SKILL.md").write_text(GREET.replace("# Greet", "# Wave"), "utf-8")
    result = await skilled.execute("school/greet")
    assert result.success, result.error
    assert result.result["instructions"].startswith("# Wave")


async def test_a_tool_that_only_runs_as_a_task(
    installed: Callable[..., Any], connected: Callable[..., Any]
) -> None:
    questions: list[Any] = []

    def ask(server: str, request: Any) -> dict[str, Any]:
        questions.append(request["message"])
        return {"action": "accept", "content": {"interpretation": "technical"}}

    async with ToolHub(elicitation=ask) as hub:
        await connected(hub, "everything", **installed("everything", "stdio"))
        plain, asking = await asyncio.gather(
            hub.execute("simulate-research-query", {"topic": "bread"}),
            hub.execute("simulate-research-query", {"topic": "python", "ambiguous": True}),
        )
    assert plain.success, plain.error
    assert "bread" in plain.result
    assert asking.success, asking.error
    assert "technical" in asking.result
    assert len(questions) == 1
