"""Tools and servers as rows and JSON."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._core import ToolInfo


def group_of(tool: "ToolInfo") -> str:
    """The place that a tool comes from first: a server, or its source."""
    first = tool.candidates[0]
    return first.server or first.source


def where(tool: "ToolInfo") -> str:
    """The other places that a tool comes from; empty for one that has a single candidate."""
    others = [candidate.server or candidate.source for candidate in tool.candidates[1:]]
    return f"(also {', '.join(others)})" if others else ""


def tool_as_json(tool: "ToolInfo") -> "dict[str, Any]":
    """Everything about a tool that can be written down."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "capabilities": tool.capabilities,
        "category": tool.category,
        "version": tool.version,
        "safety": tool.safety,
        "evidence": tool.evidence,
        "annotations": tool.annotations,
        "candidates": [
            {"source": one.source, "server": one.server, "priority": one.priority} for one in tool.candidates
        ],
    }


def server_as_json(row: "dict[str, Any]") -> "dict[str, Any]":
    """The state of a server; its error as a sentence and a kind."""
    error: Any = row["error"]
    shown: dict[str, Any] | None = None
    if isinstance(error, dict):
        shown = {"kind": error["kind"], "message": error["message"]}
    elif error is not None:
        shown = {"kind": str(error.kind), "message": str(error)}
    keys = ("id", "state", "transport", "era", "version", "tools", "notices")
    return {**{key: row[key] for key in keys}, "error": shown}
