"""Tool results in the form that a model's API expects."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from . import _core
from .result import ToolResult

__all__ = ["format_results"]

Format = Literal["tags", "openai", "openai_responses", "anthropic", "gemini"]


def format_results(results: Any, format: Format = "tags") -> Any:
    """Format results for a model: one `ToolResult`, several, or pairs of a call (or its id) and its result.

    `tags` gives one text with a `<tool_result>` block for each; `openai` a list of `tool` messages; `openai_responses` a list
    of items for the input of that API; `anthropic` and `gemini` a list with one user message that holds the results. The id
    comes from the call, or from `_meta["call_id"]`. `_meta["warnings"]` (such as unknown arguments) are included, in their own
    field or block, or after the text if an API accepts only text. Terminal escape sequences and invisible characters are
    removed.

    >>> from toolhub import ToolResult
    >>> good = ToolResult(success=True, result=5, error=None, _meta={"tool": "add", "call_id": "call_1"})
    >>> print(format_results(good))
    <tool_result>
    {"id": "call_1", "tool_name": "add", "success": true, "result": "5"}
    </tool_result>
    >>> format_results([good], "openai")
    [{'role': 'tool', 'tool_call_id': 'call_1', 'content': '5'}]
    """
    return _core.write_results([_answer(entry) for entry in _entries(results)], format)


def _entries(results: Any) -> Iterable[Any]:
    is_one = isinstance(results, Mapping) or not isinstance(results, Iterable) or _pair(results)
    return [results] if is_one else cast("Iterable[Any]", results)


def _pair(entry: Any) -> tuple[Any, Any] | None:
    """A call and its result; two results are not a pair."""
    pair = cast("tuple[Any, ...]", entry) if isinstance(entry, tuple) else ()
    return (pair[0], pair[1]) if len(pair) == 2 and not isinstance(pair[0], ToolResult) else None


def _answer(entry: Any) -> tuple[str, bool, bool, str, ToolResult]:
    """The id of a call, whether the model gave it, whether it calls a custom tool, the tool and the result."""
    call, given = _pair(entry) or (None, entry)
    if not isinstance(given, Mapping) or "success" not in given:
        got = type(cast("object", given)).__name__
        raise TypeError(f"expected a ToolResult or a pair of a call and one, got {got}")
    result = given if isinstance(given, ToolResult) else ToolResult(cast("Mapping[str, Any]", given))
    meta = result.meta
    own = str((call if isinstance(call, str) else _of(call, "id")) or meta.get("call_id") or "")
    tool = str(_of(call, "name") or _of(call, "tool_name") or meta.get("tool") or "")
    from_model = bool(own) and getattr(call, "id_from_model", True)
    return own, from_model, getattr(call, "is_custom", False), tool, result


def _of(call: Any, name: str) -> Any:
    if isinstance(call, Mapping):
        return cast("Mapping[str, Any]", call).get(name)
    return getattr(call, name, None)
