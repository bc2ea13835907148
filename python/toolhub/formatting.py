"""Tool results in the form that a model's API expects."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, cast

from . import _core
from .result import ToolResult

__all__ = ["format_results"]

Format = Literal["tags", "openai", "openai_responses", "anthropic", "gemini"]


class Answer:
    """The id and tool of one call, and the text for the model."""

    __slots__ = ("id", "id_from_model", "images", "success", "text", "tool", "warnings")

    def __init__(self, call: Any, result: ToolResult, text: str | None = None) -> None:
        meta = result.meta
        own = call if isinstance(call, str) else _of(call, "id")
        self.id = str(own or meta.get("call_id") or "")
        self.id_from_model = bool(self.id) and getattr(call, "id_from_model", True)
        self.tool = str(_of(call, "name") or _of(call, "tool_name") or meta.get("tool") or "")
        self.success = result.success
        if text is None:
            text = _core.visible_text(result.text if result.success else f"Error: {result.error}")
        self.text = text
        self.warnings: list[str] = meta.get("warnings") or []
        self.images = [block for block in result.content if block.get("type") == "image"]

    @property
    def note(self) -> str:
        """The warnings as one sentence; empty if there are none."""
        return f"Note: {'; '.join(self.warnings)}." if self.warnings else ""

    @property
    def noted(self) -> str:
        """The text followed by the note, for an API that accepts only text."""
        return f"{self.text}\n\n{self.note}" if self.note else self.text


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
    write = _WRITERS.get(format)
    if write is None:
        raise ValueError(f"format must be one of {', '.join(_WRITERS)}, got {format!r}")
    return write([_answer(entry) for entry in _entries(results)])


def write_answers(answers: list[Answer], format: str) -> Any:
    """As `format_results`, for answers that `hub.run` has prepared."""
    return _WRITERS[format](answers)


def _entries(results: Any) -> Iterable[Any]:
    is_one = isinstance(results, Mapping) or not isinstance(results, Iterable) or _pair(results)
    return [results] if is_one else cast("Iterable[Any]", results)


def _pair(entry: Any) -> tuple[Any, Any] | None:
    """A call and its result; two results are not a pair."""
    pair = cast("tuple[Any, ...]", entry) if isinstance(entry, tuple) else ()
    return (pair[0], pair[1]) if len(pair) == 2 and not isinstance(pair[0], ToolResult) else None


def _answer(entry: Any) -> Answer:
    call, result = _pair(entry) or (None, entry)
    if isinstance(result, Mapping) and "success" in result:
        return Answer(
            call, result if isinstance(result, ToolResult) else ToolResult(cast("Mapping[str, Any]", result))
        )
    got = type(cast("object", result)).__name__
    raise TypeError(f"expected a ToolResult or a pair of a call and one, got {got}")


def _of(call: Any, name: str) -> Any:
    if isinstance(call, Mapping):
        return cast("Mapping[str, Any]", call).get(name)
    return getattr(call, name, None)


def _tags(answers: list[Answer]) -> str:
    return "\n".join(f"<tool_result>\n{_tagged(answer)}\n</tool_result>" for answer in answers)


def _tagged(answer: Answer) -> str:
    block: dict[str, Any] = {
        "id": answer.id,
        "tool_name": answer.tool,
        "success": answer.success,
        "result" if answer.success else "error": answer.text,
    }
    if answer.warnings:
        block["warnings"] = answer.warnings
    # A result may contain our own tags. Escaped in JSON they are the same text, but cannot open or close a block.
    return json.dumps(block, ensure_ascii=False).replace("</", "<\\/").replace("<tool_", "\\u003ctool_")


def _openai(answers: list[Answer]) -> list[dict[str, Any]]:
    return [{"role": "tool", "tool_call_id": answer.id, "content": answer.noted} for answer in answers]


def _openai_responses(answers: list[Answer]) -> list[dict[str, Any]]:
    return [
        {"type": "function_call_output", "call_id": answer.id, "output": answer.noted} for answer in answers
    ]


def _anthropic(answers: list[Answer]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for answer in answers:
        content: Any = answer.text
        if answer.images or answer.note:
            texts = [{"type": "text", "text": text} for text in (answer.text, answer.note) if text]
            content = [*texts, *map(_anthropic_image, answer.images)]
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": answer.id, "content": content}
        blocks.append(block if answer.success else {**block, "is_error": True})
    return [{"role": "user", "content": blocks}] if blocks else []


def _anthropic_image(block: dict[str, Any]) -> dict[str, Any]:
    source = {"type": "base64", "media_type": block.get("mimeType"), "data": block.get("data")}
    return {"type": "image", "source": source}


def _gemini(answers: list[Answer]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for answer in answers:
        response: dict[str, Any] = {"result" if answer.success else "error": answer.text}
        if answer.warnings:
            response["warnings"] = answer.warnings
        # Gemini rejects an id that it did not issue, and then matches results by position.
        given = {"id": answer.id} if answer.id_from_model else {}
        parts.append({"functionResponse": {**given, "name": answer.tool, "response": response}})
    return [{"role": "user", "parts": parts}] if parts else []


_WRITERS: dict[str, Callable[[list[Answer]], Any]] = {
    "tags": _tags,
    "openai": _openai,
    "openai_responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
