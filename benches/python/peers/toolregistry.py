"""toolregistry: looked up by name and run."""

from __future__ import annotations

from typing import Any

from toolregistry import ToolRegistry

NAME = "toolregistry arun"


def make(tool: Any) -> Any:
    registry = ToolRegistry()
    registry.register(tool, name="add")
    return lambda: registry.get_tool("add").arun({"a": 1, "b": 2})
