"""Pydantic AI: a tool's schema, validated and called; less than an agent run does for it."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Tool

NAME = "pydantic-ai validate + call"


def make(tool: Any) -> Any:
    schema = Tool(tool).function_schema

    async def call() -> Any:
        return await schema.call(schema.validator.validate_python({"a": 1, "b": 2}), None)  # type: ignore[arg-type]

    return call
