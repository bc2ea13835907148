"""The tools that the conformance suite calls by name, as Python functions of a hub.

A hub has no resources and prompts of its own, so the scenarios about them are not run against it.
"""

from __future__ import annotations

import asyncio
from typing import Any

import common

from toolhub import ToolError, ToolHub, current_call


def add_all(hub: ToolHub) -> None:
    """Give the hub everything that the suite asks for and a hub can have."""
    for name in common.PLAIN_TOOLS:
        hub.register(_plain(name), name=name)
    for name, (message, form) in common.FORMS.items():
        hub.register(_asking(message, form), name=name)
    for tool in (
        test_tool_with_logging,
        test_tool_with_progress,
        test_error_handling,
        test_elicitation,
        test_logging_tool,
    ):
        hub.register(tool)
    for name in common.ASKING_TOOLS:
        rounds = common.rounds(name, {"elicitation": {}}) or []
        questions = [question["params"] for one in rounds for question in one.values()]
        if all("requestedSchema" in question for question in questions):
            hub.register(_asking_for(questions), name=name)
    changes = 0

    def test_trigger_tool_change() -> str:
        """Add a tool."""
        nonlocal changes
        changes += 1
        hub.register(_plain("test_simple_text"), name=f"added_{changes}")
        return "added"

    hub.register(test_trigger_tool_change)


def _plain(name: str) -> Any:
    def plain() -> Any:
        return common.contents(name)

    plain.__doc__ = f"Answer as {name} does."
    return plain


def _asking(message: str, form: dict[str, Any]) -> Any:
    async def asking() -> str:
        """Ask the user."""
        answer = await current_call().ask(message, form)
        return f"Elicitation completed: action={answer.action}, content={dict(answer.content)}"

    return asking


def _asking_for(questions: list[dict[str, Any]]) -> Any:
    async def asking() -> str:
        """Ask the user, one question after the other."""
        for question in questions:
            await current_call().ask(question["message"], question["requestedSchema"])
        return "state-ok"

    return asking


async def test_tool_with_logging() -> str:
    """Write three lines to the log."""
    for line in common.LOG:
        current_call().log("info", line)
        await asyncio.sleep(0.05)
    return "Tool with logging executed successfully"


async def test_logging_tool() -> str:
    """Write a line to the log."""
    current_call().log("info", "working")
    return "logged"


async def test_tool_with_progress() -> str:
    """Report progress three times."""
    for done in (0, 50, 100):
        current_call().report_progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(0.05)
    return "Tool with progress executed successfully"


def test_error_handling() -> str:
    """Fail."""
    raise ToolError(common.FAILURE)


async def test_elicitation(message: str) -> str:
    """Ask the user."""
    answer = await current_call().ask(message, common.form(response={"type": "string"}))
    return f"User response: action={answer.action}, content={dict(answer.content)}"
