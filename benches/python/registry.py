"""Registering and looking up 100,000 tools."""

from __future__ import annotations

from typing import Any

from harness import Group, Row, measure_sync

from toolhub import ToolHub

COUNT = 100_000


def lookup(query: str, limit: int = 10) -> str:
    """Look something up."""
    return query[:limit]


def _register_all() -> ToolHub:
    hub = ToolHub()
    for number in range(COUNT):
        hub.register(lookup, name=f"tool_{number}", description="Look something up in a database")
    return hub


def _plain_all() -> dict[str, dict[str, Any]]:
    """A dict with what a hand-written registry keeps; no schema, no index, no checks."""
    tools: dict[str, dict[str, Any]] = {}
    for number in range(COUNT):
        name = f"tool_{number}"
        tools[name] = {"name": name, "description": "Look something up in a database", "function": lookup}
    return tools


def run(rounds: int) -> list[Row]:
    hub, plain = _register_all(), _plain_all()
    whole = Group(
        f"register {COUNT:,} tools (whole)", note="the dict has no schema, capabilities, index or snapshot"
    )
    whole.add("dict", _plain_all, 1)
    whole.add("toolhub", _register_all, 1)
    rows = measure_sync(whole, 3)
    one = Group(f"add one tool to {COUNT:,}")
    one.add("dict", lambda: plain.__setitem__("extra", {"function": lookup}), 1000)
    one.add("toolhub", lambda: hub.register(lookup, name="extra", description="More"), 100)
    rows += measure_sync(one, rounds)
    find = Group(f"look one up among {COUNT:,}")
    find.add("dict", lambda: plain.get("tool_77777"), 5000)
    find.add("toolhub `in`", lambda: "tool_77777" in hub, 5000)
    find.add("toolhub get", lambda: hub.get("tool_77777"), 2000)
    rows += measure_sync(find, rounds)
    return rows
