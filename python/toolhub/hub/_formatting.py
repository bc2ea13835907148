"""Formatting: results cut for a prompt, and the full text on request. The core cuts, keeps and writes."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from .. import _core
from .._checks import check_whole
from ..events import Events
from ..exceptions import ErrorKind, ToolError
from ..result import ToolResult


class ResultFormatter:
    """Cuts results for a model and reports what was cut."""

    def __init__(self, core: _core.Hub, events: Events) -> None:
        self._core = core
        self._events = events

    def format(self, result: Any, limit: int | None = None) -> str:
        """See `ToolHub.format`."""
        if limit is not None:
            limit = check_whole("limit", limit, 0)
        given = as_result(result)
        text, cut = _core.format_result(self._core, given, limit)
        self._report(given, cut)
        if given is not result and cut is not None:
            result.setdefault("_meta", {}).update(truncated=True, handle=cut[0])
        return text

    def answers(
        self,
        calls: Iterable[_core.ParsedCall],
        results: Iterable[ToolResult],
        format: str,
        found: str | None,
        limit: int | None,
    ) -> list[dict[str, Any]]:
        """The results of a run as messages in a format; `found` is the format of the model's message."""
        pairs = zip(calls, results, strict=True)
        answers = [(call.id, call.id_from_model, call.is_custom, call.name, result) for call, result in pairs]
        messages, cuts = _core.write_answers(self._core, answers, format, found, limit)
        for (*_, result), cut in zip(answers, cuts, strict=True):
            self._report(result, cut)
        return messages

    def _report(self, result: ToolResult, cut: "tuple[str, int, int] | None") -> None:
        if cut is not None:
            handle, shown, total = cut
            about = {"call_id": result.meta.get("call_id"), "tool": result.meta.get("tool")}
            self._events.emit("truncated", **about, handle=handle, shown=shown, total=total)

    def read_more(self, handle: str, offset: int, limit: int) -> str:
        """See `ToolHub.read_more`."""
        offset, limit = check_whole("offset", offset, 0), check_whole("limit", limit, 0)
        page, error = _core.read_more(self._core, handle, offset, limit)
        if page is None:
            raise ToolError(str(error), ErrorKind.NOT_FOUND)
        return page


def as_result(given: Any) -> ToolResult:
    """A result, or a mapping of that shape as one.

    >>> as_result("text")
    Traceback (most recent call last):
    TypeError: format() takes the result of a call, got str; to cut a text, use toolhub.truncate()
    """
    if isinstance(given, ToolResult):
        return given
    if isinstance(given, Mapping) and "success" in given:
        return ToolResult(cast("Mapping[str, Any]", given))
    hint = "; to cut a text, use toolhub.truncate()" if isinstance(given, str) else ""
    raise TypeError(f"format() takes the result of a call, got {type(cast('object', given)).__name__}{hint}")
