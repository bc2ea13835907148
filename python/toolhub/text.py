"""Truncate one text, merge several answers."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from . import _core
from ._checks import check_whole
from ._to_plain import readable
from .exceptions import ErrorKind
from .result import ToolResult

__all__ = ["Truncated", "merge", "tokenizer", "truncate"]


class Truncated(NamedTuple):
    """A text within its limit, and how much of it was cut."""

    text: str
    """The text, within the limit, with a notice if something was cut."""
    cut: int
    """How much was cut, in the unit of the limit."""
    total: int
    """How much there was, in the unit of the limit."""
    estimated: bool
    """Whether the numbers are estimates, because tokens were asked for without a tokenizer."""
    truncated: bool
    """Whether something was cut."""

    def __str__(self) -> str:
        return self.text


def truncate(
    text_or_value: Any,
    limit: int,
    *,
    unit: Literal["chars", "tokens"] = "chars",
    tokenizer: "_core.Tokenizer | str | PathLike[str] | None" = None,
) -> Truncated:
    """Truncate a text, or the readable form of a value, to `limit` characters or tokens.

    The cut is at the end of a sentence if one is near, otherwise between words, never inside a grapheme cluster. JSON is
    shortened structurally and still parses; code fences are closed. The text says how much is missing. Tokens are counted
    with a tiktoken file or a `tokenizer.json`, otherwise estimated. The cost does not depend on the length of the rest.

    >>> cut = truncate("One sentence. " * 100, 80)
    >>> len(cut.text) <= 80, cut.total
    (True, 1400)
    >>> import json
    >>> json.loads(truncate({"numbers": list(range(1000))}, 60).text)["numbers"][:3]
    [0, 1, 2]
    """
    limit = check_whole("limit", limit, 0)
    loaded = _loaded(tokenizer)
    text = text_or_value if isinstance(text_or_value, str) else readable(text_or_value)
    return Truncated(*_core.truncate_text(text, limit, unit, loaded))


def tokenizer(path: str | PathLike[str]) -> _core.Tokenizer:
    """Load a tiktoken encoding (`cl100k_base.tiktoken`) or a Hugging Face `tokenizer.json`; loaded once for each file."""
    return _load(fspath(path), Path(path).stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _load(path: str, changed: int) -> _core.Tokenizer:
    return _core.Tokenizer(Path(path).name, Path(path).read_bytes())


def _loaded(given: "_core.Tokenizer | str | PathLike[str] | None") -> _core.Tokenizer | None:
    if given is None or isinstance(given, _core.Tokenizer):
        return given
    return tokenizer(given)


def merge(results: Iterable[Any], *, limit: int = 300) -> ToolResult:
    """Merge several results, each truncated to `limit` characters and labelled with its source.

    Results may be `ToolResult`s, mappings of that shape, or plain values. A single success is returned unchanged; without
    one, the first error is returned. Equal answers are shown once, with a note.

    >>> merge(["It is 5 pm.", "it is 5 PM", "It is late."]).result
    '[result 1, result 2] (same answer from 2) It is 5 pm.\\n\\n[result 3] It is late.'
    """
    limit = check_whole("limit", limit, 0)
    if isinstance(results, (str, Mapping)):
        raise TypeError(f"results must be a list of results, got one {type(cast(object, results)).__name__}")
    given = [_as_result(result, number) for number, result in enumerate(results, 1)]
    if not given:
        return _core.failed_result("merge", ErrorKind.INVALID_ARGUMENTS, "There is no result to merge.")
    good = [(label, result) for label, result in given if result.success]
    errors = [{"source": label, "error": bad.error} for label, bad in given if not bad.success]
    if not good:
        return _first_failure(given[0][1], errors)
    if len(good) == 1:
        return good[0][1]
    text, cut = _core.merge_texts([(label, result.text) for label, result in good], limit)
    metas = [result.meta for _, result in given]
    answered = [result.meta for _, result in good]
    meta = {
        **_core.empty_meta(answered[0].get("tool")),
        "source": answered[0].get("source"),
        "server": answered[0].get("server"),
        "strategy": "all",
        "synthesized": True,
        "synthesis_method": "simple_merge",
        "source_count": len(good),
        "sources": [result.meta.get("source") or label for label, result in good],
        "attempts": [attempt for one in metas for attempt in one.get("attempts") or ()],
        "duration_ms": sum(one.get("duration_ms") or 0.0 for one in metas),
        "truncated": cut or any(one.get("truncated") for one in answered),
        "cached": all(one.get("cached") for one in answered),
        "errors": errors,
    }
    merged = ToolResult(success=True, result=text, error=None, _meta=meta)
    merged._full = [{"source": label, "result": result.result} for label, result in good]  # pyright: ignore[reportPrivateUsage]
    return merged


def _first_failure(first: ToolResult, errors: list[dict[str, Any]]) -> ToolResult:
    """The first of several failures, with the errors of all; missing details get default values."""
    sentence = first.error or "It reported success: False without an error."
    failed = _core.failed_result(first.meta.get("tool") or "merge", ErrorKind.TOOL_ERROR, sentence)
    failed.meta.update({**first.meta, "errors": errors})
    failed._exception = first.exception  # pyright: ignore[reportPrivateUsage]
    return failed


def _as_result(given: Any, number: int) -> tuple[str, ToolResult]:
    if isinstance(given, Mapping) and "success" in given:
        result = given if isinstance(given, ToolResult) else _whole(cast("Mapping[str, Any]", given))
        source, server = result.meta.get("source"), result.meta.get("server")
        label = f"{source}:{server}" if server else source or f"result {number}"
        return label, result
    return f"result {number}", _whole({"success": True, "result": given})


def _whole(given: Mapping[str, Any]) -> ToolResult:
    """A mapping of that shape, completed to a full result."""
    meta = _core.empty_meta()
    meta.update(given.get("_meta") or {})
    return ToolResult({"result": None, "error": None, **given, "_meta": meta})
