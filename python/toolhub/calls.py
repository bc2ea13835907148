"""What a tool can tell and ask its caller while it runs: `current_call()`."""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from . import _background, _core
from ._background import blocking
from ._checks import check_finite, check_mapping, check_text, if_given
from .principal import Principal

if TYPE_CHECKING:
    from .questions import Question, Root, Sample


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


def answer_of(given: Any) -> Answer:
    """The answer of a client to a form or a link; what cannot be read is a refusal."""
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


__all__ = ["Answer", "ClientCapability", "CurrentCall", "LogLevel", "current_call"]

ClientCapability = Literal["elicitation", "elicitation.url", "sampling", "sampling.tools", "roots"]
"""What a client can be asked, by the name of its capability in the protocol."""

_CAPABILITIES: dict[str, tuple[str, dict[str, Any]]] = {
    "elicitation": ("elicitation/create", {}),
    "elicitation.url": ("elicitation/create", {"mode": "url"}),
    "sampling": ("sampling/createMessage", {}),
    "sampling.tools": ("sampling/createMessage", {"tools": []}),
    "roots": ("roots/list", {}),
}

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
"""The levels of MCP, which are those of syslog."""

_LEVELS: dict[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    **dict.fromkeys(("critical", "alert", "emergency"), logging.CRITICAL),
}
_log = logging.getLogger("toolhub.tools")


class CurrentCall:
    """The call that a tool runs for. Outside of one, reports go nowhere and questions are declined."""

    def __init__(self, scope: _core.CallScope | None, function: _core.ThreadedFunction | None = None) -> None:
        self._scope = scope
        self._function = function

    def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the caller how far the tool is. Never waits; a caller that asked for no reports gets none.

        A client of a served hub gets MCP progress; `hub.execute(…, progress=function)` calls the function.
        """
        progress = check_finite("progress", progress)
        total = if_given(check_finite, "total", total)
        if_given(check_text, "message", message)
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
    def principal(self) -> Principal | None:
        """Who calls a served hub: id, name and claims, never a token. None if no credentials were shown.

        >>> current_call().principal is None
        True
        """
        caller: Any = None if self._scope is None else self._scope.principal
        return None if caller is None else Principal(**caller)

    @property
    def can_ask(self) -> bool:
        """Whether `ask` reaches the caller. A client may still decline, or be unable to show the question."""
        return self._scope is not None and self._scope.can_ask

    @property
    def cancelled(self) -> bool:
        """Whether the caller of a sync tool has cancelled the call, or waits no more. Async tools are cancelled.

        A tool that works for long looks at it between two steps.
        """
        if self._function is not None and self._function.is_abandoned:
            return True
        return self._scope is not None and self._scope.is_cancelled

    def supports(self, what: ClientCapability) -> bool:
        """Whether the client of this call can be asked that: for a form, a link, its model, its model with tools, its roots."""
        if what not in _CAPABILITIES:
            raise ValueError(f"what must be one of {', '.join(_CAPABILITIES)}; got {what!r}")
        return self._scope is not None and self._scope.supports(*_CAPABILITIES[what])

    async def ask(
        self, message: str, schema: Mapping[str, Any] | None = None, *, key: str = "question"
    ) -> Answer:
        """Ask the caller (MCP elicitation) and wait for the answer. Outside of a served hub it is declined.

        A client that does not support questions is a `ToolError`; if the tool lets it pass, the client
        gets the error of the protocol.

        `schema` is the JSON Schema of a flat object: the form that the caller fills in. Without one the caller only
        accepts or declines. The time of an answer counts for the `timeout` of the call. `key` names the question for
        clients of 2026-07-28, which may answer it before it is asked.

            answer = await current_call().ask("Which city?", {"type": "object", "properties": {"city": {"type": "string"}}})
            if answer.accepted:
                print(answer.content["city"])
        """
        from .questions import Form

        question = Form(message, schema)
        if not self.can_ask:
            return Answer("decline", {})
        return (await self.ask_all({key: question}))[key]

    ask_sync = blocking(ask)
    """`ask`, for sync tools.

    This and the other questions of sync tools raise `asyncio.CancelledError` when the caller goes or cancels the call,
    or when its time is over.
    """

    def _wait(self, asking: Coroutine[Any, Any, Any]) -> Any:
        """Wait for an answer on this thread, for as long as there is a caller to give one."""
        return _background.run(asking, self._scope, self._function)

    async def ask_all(self, questions: Mapping[str, Question]) -> dict[str, Any]:
        """Ask the client several questions at once; the answers have the same keys.

        A `Form` or a `Link` is answered by an `Answer`, `Sampling` by a `Sample`, and `Roots` by a list of `Root`; see
        `toolhub.questions`. A client of 2026-07-28 gets all of them in one result, an older one as requests side by side.
        `ToolError` of kind `not_allowed` if there is no client to ask, or if it does not support one of the questions:
        then none is asked. `supports` tells before.

            answers = await current_call().ask_all({
                "name": Form("What is your name?", {"type": "object", "properties": {"name": {"type": "string"}}}),
                "greeting": Sampling("Write a greeting.", max_tokens=50),
            })
            print(answers["greeting"].text, answers["name"].content)
        """
        check_mapping("questions", questions)
        for key, question in questions.items():
            check_text("a key of questions", key)
            if not hasattr(question, "method"):
                raise TypeError(f"the question {key!r} must be a Form, Link, Sampling or Roots")
        if not questions:
            return {}
        scope = self._scope or _core.CallScope.nowhere()
        asked: Any = scope.ask([(key, one.method, one.params) for key, one in questions.items()])
        given = cast("list[Any]", await asked)
        return {key: one.read(answer) for (key, one), answer in zip(questions.items(), given, strict=True)}

    ask_all_sync = blocking(ask_all)
    """`ask_all`, for sync tools."""

    async def ask_url(self, message: str, url: str, *, key: str = "question") -> Answer:
        """Ask the user to open an address in the browser, for a login or a payment (MCP elicitation in URL mode).

        `accept` means that the user agreed to open it, not that it is done. Errors are those of `ask_all`.
        """
        from .questions import Link

        return (await self.ask_all({key: Link(message, url)}))[key]

    ask_url_sync = blocking(ask_url)
    """`ask_url`, for sync tools."""

    async def sample(
        self,
        messages: str | Sequence[str | Mapping[str, Any]],
        *,
        max_tokens: int = 512,
        system_prompt: str | None = None,
        temperature: float | None = None,
        stop_sequences: Iterable[str] | None = None,
        model_preferences: str | Sequence[str] | Mapping[str, Any] | None = None,
        tools: Iterable[Mapping[str, Any]] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        key: str = "sampling",
    ) -> Sample:
        """Ask the model of the client (MCP sampling) and wait for its answer; see `toolhub.questions.Sampling`.

        Errors are those of `ask_all`.

            sample = await current_call().sample("Summarise this: …", max_tokens=200)
            print(sample.text)
        """
        from .questions import Sampling

        question = Sampling(
            messages,
            max_tokens=max_tokens,
            system_prompt=system_prompt,
            temperature=temperature,
            stop_sequences=stop_sequences,
            model_preferences=model_preferences,
            tools=tools,
            tool_choice=tool_choice,
            metadata=metadata,
        )
        return (await self.ask_all({key: question}))[key]

    sample_sync = blocking(sample)
    """`sample`, for sync tools."""

    async def roots(self, *, key: str = "roots") -> list[Root]:
        """The folders and other places that the user of the client works with. Errors are those of `ask_all`."""
        from .questions import Roots

        return (await self.ask_all({key: Roots()}))[key]

    roots_sync = blocking(roots)
    """`roots`, for sync tools."""


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
    return CurrentCall(_core.current_call_scope(), _core.current_function())
