"""LangChain: a structured tool, invoked with its arguments."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import StructuredTool

NAME = "LangChain StructuredTool.ainvoke"


def make(tool: Any) -> Any:
    structured = StructuredTool.from_function(coroutine=tool, name="add", description="Add two numbers")
    return lambda: structured.ainvoke({"a": 1, "b": 2})
