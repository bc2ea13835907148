"""OpenAI Agents: a function tool, invoked with the JSON that a model sends."""

from __future__ import annotations

from typing import Any

from agents import function_tool
from agents.tool_context import ToolContext

NAME = "openai-agents function_tool"
ARGUMENTS = '{"a": 1, "b": 2}'


def make(tool: Any) -> Any:
    wrapped = function_tool(tool)
    context = ToolContext(context=None, tool_name=wrapped.name, tool_call_id="1", tool_arguments=ARGUMENTS)
    return lambda: wrapped.on_invoke_tool(context, ARGUMENTS)
