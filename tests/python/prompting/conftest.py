"""Hubs with the tools that real servers have listed, without the servers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

sys.path.insert(0, str(Path(__file__).parent))

ROOT = Path(__file__).parents[3]
LISTS = ROOT / "tests" / "fixtures" / "tool_lists"
GOLDEN = ROOT / "tests" / "golden" / "prompt"


def add(hub: ToolHub, tool: dict[str, Any]) -> None:
    """Registers one entry of a `tools/list`."""
    hub.register(
        lambda **arguments: arguments,
        name=tool["name"],
        description=tool.get("description", ""),
        parameters=tool["inputSchema"],
        annotations=tool.get("annotations"),
        source="mcps",
        server="captured",
    )


@pytest.fixture(name="listed")
def _listed() -> Callable[[str], ToolHub]:
    def listed(server: str) -> ToolHub:
        hub = ToolHub()
        for tool in json.loads((LISTS / f"{server}.json").read_text("utf-8"))["tools"]:
            add(hub, tool)
        return hub

    return listed


@pytest.fixture(name="golden")
def _golden() -> Callable[[str, str], None]:
    """Compares with the file of that name; `GOLDEN=write` writes it again, to be reviewed before it is committed."""

    def golden(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("GOLDEN") == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        assert text == path.read_text("utf-8"), (
            f"{name} differs; GOLDEN=write pytest … shows how, by git diff"
        )

    return golden
