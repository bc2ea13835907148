"""What a run of a chat loop counts; a pause keeps it."""

from collections.abc import Mapping
from typing import Any, cast

from ..kit import failed_result
from ..result import ToolResult
from .view import RunStop


class ChatState:
    """What a run counts; a pause keeps it."""

    def __init__(self, state: Mapping[str, Any] | None) -> None:
        kept = cast("Mapping[str, Any]", {} if state is None else state.get("talk") or {})
        self.rounds: int = kept.get("rounds", 0)
        self.empty: int = kept.get("empty", 0)
        self.refused: int = kept.get("refused", 0)
        self.repeats: int = kept.get("repeats", 0)
        self.last: str = kept.get("last", "")
        self.text: str = kept.get("text", "")
        self.evidence: list[dict[str, Any]] = list(kept.get("evidence", ()))
        self.stop: RunStop | None = None

    def refuse(self, name: str, stop: RunStop) -> ToolResult:
        """The result of a call after which the run ends; the other calls of the message still get their results."""
        self.stop = stop
        return failed_result(name, "limit", str(stop))

    def state(self) -> dict[str, Any]:
        """The counts as plain data."""
        return {"talk": {name: value for name, value in vars(self).items() if name != "stop"}}
