"""A model that plays a script, and tools that agents in tests use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from toolhub import ToolHub


class Script:
    """A model: it gives one answer after another and keeps the prompts that it got."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.prompts: list[str] = []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self._answers.pop(0)


class Roles:
    """A model that plans, gives arguments and reasons: an answer for each, by what it was asked for."""

    def __init__(self, plan: str, reason: str | Callable[[str], str] = "", arguments: str = "{}") -> None:
        self._answers: dict[str, Any] = {"plan": plan, "reason": reason, "arguments": arguments}
        self.asked: list[tuple[str, str]] = []

    def __call__(self, prompt: str) -> str:
        beginnings = {"You plan": "plan", "Write the arguments": "arguments"}
        role = next((role for begin, role in beginnings.items() if prompt.startswith(begin)), "reason")
        self.asked.append((role, prompt))
        answer = self._answers[role]
        return answer(prompt) if callable(answer) else answer

    def roles(self) -> list[str]:
        return [role for role, _ in self.asked]


def call(name: str, **arguments: Any) -> str:
    import json

    return f"<tool_call>\n{json.dumps({'tool_name': name, 'arguments': arguments})}\n</tool_call>"


def office() -> tuple[ToolHub, list[tuple[str, Any]]]:
    """A hub with tools of several kinds, and the list of the calls that reach them."""
    hub = ToolHub()
    calls: list[tuple[str, Any]] = []

    @hub.tool
    def calculate(expression: str) -> float:
        "Calculate an arithmetic expression."
        calls.append(("calculate", expression))
        return eval(expression, {"__builtins__": {}})

    @hub.tool
    def search_web(query: str) -> list[dict[str, str]]:
        "Search the web."
        calls.append(("search_web", query))
        return [
            {"title": f"Hit {n}", "snippet": f"{query}: 2102650 people", "url": f"https://x.test/{n}"}
            for n in range(9)
        ]

    @hub.tool(read_only=True, capabilities=["history"])
    def get_conversation_history(limit: int = 10, role: str | None = None) -> str:
        "The conversation so far."
        calls.append(("get_conversation_history", (limit, role)))
        return "user: hello"

    @hub.tool(effects=True)
    def send_mail(to: str, text: str) -> str:
        "Send a mail."
        calls.append(("send_mail", (to, text)))
        return "queued"

    @hub.tool(read_only=True)
    def read_invoice(number: int, part: str = "all") -> dict[str, Any]:
        "Read an invoice."
        calls.append(("read_invoice", (number, part)))
        return {"number": number, "total": 119.0, "part": part}

    return hub, calls


def types(events: Iterable[Any]) -> list[str]:
    return [event.type for event in events]
