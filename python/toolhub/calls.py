"""What a tool can tell and ask its caller while it runs: `current_call()`."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from . import _background, _core
from ._checks import check_mapping, check_number, check_text

__all__ = ["Answer", "CurrentCall", "LogLevel", "current_call"]

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
"""The levels of MCP, which are those of syslog."""

_LEVELS: dict[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "alert": logging.CRITICAL,
    "emergency": logging.CRITICAL,
}
_log = logging.getLogger("toolhub.tools")


@dataclass(frozen=True)
class Answer:
    """What the caller made of a question.

    >>> Answer("accept", {"city": "Oslo"}).accepted
    True
    """

    action: Literal["accept", "decline", "cancel"]
    """`accept`; `decline`: the caller said no, or there is none to ask; `cancel`: the caller dismissed the question."""
    content: Mapping[str, Any]
    """What the caller filled in; empty unless it accepted."""

    @property
    def accepted(self) -> bool:
        """Whether the caller accepted."""
        return self.action == "accept"


class CurrentCall:
    """The call that a tool runs for. Outside of one, reports go nowhere and questions are declined."""

    def __init__(self, scope: _core.CallScope | None) -> None:
        self._scope = scope

    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the caller how far the tool is. Never waits; a caller that asked for no reports gets none.

        A client of a served hub gets MCP progress; `hub.execute(…, progress=function)` calls the function.
        """
        progress = _finite("progress", progress)
        total = None if total is None else _finite("total", total)
        if message is not None:
            check_text("message", message)
        if self._scope is not None:
            self._scope.report(progress, total, message)

    def log(self, level: LogLevel, message: Any, *, logger: str = "toolhub.tools") -> None:
        """Send a log message, a text or another JSON value, to the client of a served hub that wants such messages.

        It also goes to `logging`, to the logger `toolhub.tools`. Never waits.
        """
        if level not in _LEVELS:
            raise ValueError(f"level must be one of {', '.join(_LEVELS)}; got {level!r}")
        check_text("logger", logger)
        _log.log(_LEVELS[level], "%s", message)
        if self._scope is not None:
            self._scope.log(level, message, logger)

    @property
    def can_ask(self) -> bool:
        """Whether `ask` reaches the caller. A client may still decline, or be unable to show the question."""
        return self._scope is not None and self._scope.can_ask

    @property
    def cancelled(self) -> bool:
        """Whether the caller of a sync tool has cancelled the call, or waits no more. Async tools are cancelled."""
        return self._scope is not None and self._scope.is_cancelled

    async def ask(self, message: str, schema: Mapping[str, Any] | None = None) -> Answer:
        """Ask the caller (MCP elicitation) and wait for the answer. Outside of a served hub it is declined.

        A client that does not support questions is a `ToolError`; if the tool lets it pass, the client
        gets the error of the protocol.

        `schema` is the JSON Schema of a flat object: the form that the caller fills in. Without one the caller only
        accepts or declines. The time of an answer counts for the `timeout` of the call.

            answer = await current_call().ask("Which city?", {"type": "object", "properties": {"city": {"type": "string"}}})
            if answer.accepted:
                print(answer.content["city"])
        """
        check_text("message", message)
        form: Any = {"type": "object", "properties": {}} if schema is None else schema
        check_mapping("schema", form)
        if self._scope is None or not self._scope.can_ask:
            return Answer("decline", {})
        asked: Any = self._scope.ask(
            "elicitation/create", {"message": message, "requestedSchema": dict(form)}
        )
        return _answer(await asked)

    def ask_sync(self, message: str, schema: Mapping[str, Any] | None = None) -> Answer:
        """`ask`, for sync tools."""
        return _background.run(self.ask(message, schema))


def _finite(what: str, value: Any) -> float:
    number = check_number(what, value)
    if not math.isfinite(number):
        raise ValueError(f"{what} must be a finite number, got {number}")
    return number


def _answer(given: Any) -> Answer:
    match given:
        case {"action": "accept"}:
            content: Any = given.get("content")
            return Answer(
                "accept", cast("Mapping[str, Any]", content) if isinstance(content, Mapping) else {}
            )
        case {"action": "cancel"}:
            return Answer("cancel", {})
        case _:
            return Answer("decline", {})


def current_call() -> CurrentCall:
    """The call that this code runs for: in a tool, in functions and tasks that it starts, in sync and async ones.

    Works everywhere: where nothing listens, reports go nowhere and questions are declined.

    >>> from toolhub import ToolHub, current_call
    >>> hub = ToolHub()
    >>> @hub.tool
    ... def count(to: int) -> int:
    ...     for number in range(to):
    ...         current_call().report_progress(number + 1, to)
    ...     return to
    >>> hub.call("count", {"to": 2}, progress=print).result
    {'progress': 1, 'total': 2}
    {'progress': 2, 'total': 2}
    2
    """
    return CurrentCall(_core.current_call_scope())
