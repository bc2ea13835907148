"""The result of a call: a real dict, with attributes and a short `repr` on top."""

from typing import Any

from . import _core
from ._lazy import shown_as
from ._to_plain import readable
from .exceptions import ErrorKind, ToolError

__all__ = ["ToolResult"]


class ToolResult(dict[str, Any]):
    """What a call gives: `success`, `result`, `error` and `_meta`, as keys and as attributes.

    A tool that returns a mapping with `success` gives its own result: all its keys are keys of the result. `error` is then
    absent or empty if the tool gave it so, and `result` is the rest of the mapping if it has no `result`.

    >>> result = ToolResult(success=True, result=42, error=None, _meta={"tool": "add"})
    >>> result["result"], result.result, result.unwrap()
    (42, 42, 42)
    >>> bool(result)
    True
    >>> result
    ToolResult(success=True, tool='add', text='42')
    >>> print(result)
    42
    """

    _exception: BaseException | None = None
    _full: Any = None
    _blocks: Any = None
    # What merged answers are about, for the model that makes one of them.
    _answer_kind: str = "other"
    # The language of the hub.
    _lang: str = "en"

    @property
    def success(self) -> bool:
        """Whether some candidate answered."""
        return bool(self.get("success"))

    @property
    def result(self) -> Any:
        """The value, or None after a failure."""
        return self.get("result")

    @property
    def error(self) -> str | None:
        """One sentence that says what went wrong; None after a success."""
        if self.success:
            return None
        given = self.get("error")
        # By its type: an array, for example, is neither true nor false.
        if given is None or (type(given) in (str, bool, int, float, list, tuple, dict) and not given):
            given = self.get("_meta", {}).get("error", {}).get("message")
        return None if given is None else readable(given)

    @property
    def meta(self) -> dict[str, Any]:
        """Which candidate answered, how long it took, and the outcome of every attempt."""
        return self.setdefault("_meta", {})

    @property
    def kind(self) -> ErrorKind | None:
        """The kind of the failure; None after a success."""
        kind = self.get("_meta", {}).get("error", {}).get("kind")
        return None if kind is None else ErrorKind(kind)

    @property
    def paused(self) -> str | None:
        """The id for `hub.approve` and `hub.deny`, if the call waits for an approval."""
        return self.get("_meta", {}).get("paused")

    @property
    def exception(self) -> BaseException | None:
        """What a Python tool raised, with its traceback."""
        return self._exception

    @property
    def text(self) -> str:
        """The value as text: a string as it is, data as JSON; the error's sentence after a failure.

        Content blocks of a server are joined by an empty line; a short note such as `[image/png, 5.4 KB]` stands for media.
        A success without a value says so.

        >>> ToolResult(success=True, result={"a": [1, 2]}).text
        '{"a": [1, 2]}'
        >>> ToolResult(success=True, result=None).text
        'Done; the tool returned no value.'
        """
        return _core.result_text(self) if self.success else str(self.error)

    @property
    def content(self) -> list[dict[str, Any]]:
        """The content blocks of an MCP server, also of a failure; for other tools one text block with the value."""
        if self._blocks is not None:
            return self._blocks.content
        return [{"type": "text", "text": self.text}] if self.success else []

    @property
    def structured(self) -> Any:
        """The `structuredContent` of an MCP server's answer; None when there is none."""
        return None if self._blocks is None else self._blocks.structured

    def full(self) -> Any:
        """The whole of it: the value, or every answer with its source when several were put together."""
        return self.result if self._full is None else self._full

    def unwrap(self) -> Any:
        """The value, or a `ToolError` that carries kind, sentence and cause."""
        if self.success:
            return self.result
        info = self.meta.get("error", {})
        details = {key: info.get(key) for key in ("code", "status", "retry_after")}
        kind = self.kind or ErrorKind.TOOL_ERROR
        raise ToolError(str(self.error), kind, self, **details) from self._exception

    def __bool__(self) -> bool:
        return self.success

    def __missing__(self, key: str) -> Any:
        # A tool's own result may lack these two keys; `get` tells that they are missing.
        if key == "error":
            return self.error
        if key == "result":
            return None
        raise KeyError(key)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        tool = self.get("_meta", {}).get("tool")
        named = "" if tool is None else f", tool={tool!r}"
        line = " ".join(self.text.split())
        shown = line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
        return f"ToolResult(success={self.success}{named}, {'text' if self.success else 'error'}={shown!r})"

    _repr_mimebundle_ = shown_as("of_result")


_SHOWN = 60
"""The number of characters of a text that `repr` shows."""
