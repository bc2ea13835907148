"""From a model's message to the messages that answer it: parse, check permission, route, execute, shape, format."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Unpack

from .. import _core
from .._checks import check_callable, check_seconds, check_whole, if_given
from .._lazy import shown_as
from .._twins import blocking
from .._unknown_options import refuse_unknown
from ..events import ROUTE
from ..exceptions import ErrorKind
from ..options import DispatchOptions, Reasoning, ResultFormat
from ..parsing import read_message
from ..permissions import PATIENCE, Approve, Permissions
from ..result import ToolResult
from ._call_methods import carry_out
from ._dispatch_methods import DispatchMethods
from ._prompt_methods import report_cut
from ._servers import ServerManager

_NATIVE = ("openai", "openai_responses", "anthropic", "gemini")
_MIN_LIMIT = _core.min_result_limit()


@dataclass(slots=True)
class RunOutcome:
    """The outcome of a model's message. It is true if the model called tools, so that its next turn is due."""

    text: str
    """The model's text around its calls; without calls, its answer."""
    calls: list[_core.ParsedCall]
    """The calls in the message."""
    results: list[ToolResult]
    """Their results, in the same order."""
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What to append to the conversation; empty without calls."""
    format: str | None = None
    """The dialect that the message commits to; pass it as `format` with the next message of the same model."""

    @property
    def proposals(self) -> list[_core.ParsedCall]:
        """The calls that may not have been meant, and were not made. `hub.dispatch(proposal)` makes one."""
        pairs = zip(self.calls, self.results, strict=True)
        return [call for call, result in pairs if result.kind is ErrorKind.PROPOSED]

    def __bool__(self) -> bool:
        """Whether the model called tools, so that its next turn is due."""
        return bool(self.calls)

    _repr_mimebundle_ = shown_as("of_run")


class RunMethods(DispatchMethods):
    """`run`."""

    _servers: ServerManager

    async def run(
        self,
        message: Any,
        *,
        allowed: Iterable[str] | None = None,
        approve: Approve | None = None,
        format: str = "auto",
        reasoning: Reasoning = "auto",
        results: ResultFormat = "auto",
        approve_timeout: float = PATIENCE,
        concurrency: int = 16,
        limit: int | None = None,
        admit: "Callable[[_core.ParsedCall], ToolResult | None] | None" = None,
        **options: Unpack[DispatchOptions],
    ) -> RunOutcome:
        """Execute the tool calls in a model's message and return the messages that answer them.

        `message` is the model's text, or a message, response or list of blocks of the OpenAI, Anthropic or Gemini API; `format`
        is the format of a text, and `reasoning` is that of `toolhub.parse`: no call in reasoning is made. Harmless calls run
        concurrently, `concurrency` at a time. A call that is not known to be harmless waits for all calls before it, and later
        ones wait for it; after one that paused, was refused or may have run, such calls are not made: their results have the
        kind `not_sent`.

        Without `approve`, sure calls are made, whatever the tool does; likely and doubtful ones (see `toolhub.parse`) only if
        the tool is known to be harmless. The others are `proposals` of the outcome, and the model is told how to make them.

        `allowed` and `approve` are those of `toolhub.permissions.Permissions`. Each result is cut to `limit` characters, at
        least 1,000; by
        default `result_limit` of the hub; once one was cut, the model has the tool `read_more`. `admit` is called with each
        call, in their order, and may return a result that takes its place; None lets the call be made. Results are
        written in the form of the API that the message came from, with images where it takes them, or in that of `results`
        (`tags`, `openai`, `openai_responses`, `anthropic`, `gemini`); one of these names as `format` means both. `options` are
        those of `dispatch`.

        >>> import asyncio
        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.tool
        ... def add(a: int, b: int) -> int:
        ...     return a + b
        >>> text = 'Let me see. <tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>'
        >>> outcome = asyncio.run(hub.run(text))
        >>> outcome.text, outcome.results[0].result
        ('Let me see. ', 5)
        >>> print(outcome.messages[0]["content"])
        <tool_result>
        {"id": "call_1", "tool_name": "add", "success": true, "result": "5"}
        </tool_result>
        """
        concurrency = check_whole("concurrency", concurrency, 1)
        limit = if_given(check_whole, "limit", limit, _MIN_LIMIT)
        if results not in ("auto", "tags", *_NATIVE):
            raise ValueError(f"results must be auto, tags, {', '.join(_NATIVE)}, got {results!r}")
        if results == "auto" and format in ("tags", *_NATIVE):
            results = format
        if_given(check_callable, "admit", admit)
        approve_timeout = check_seconds("approve_timeout", approve_timeout, above_zero=True)
        permissions = Permissions(allowed, approve, approve_timeout)
        refuse_unknown(self, RunMethods.run, options)
        planned, around = self._planned_options(ROUTE, approve=permissions, **options)
        calls, text, found = self._planned(message, "auto" if format == "tags" else format, reasoning)
        order = _core.MessageOrder(len(calls))

        async def answer(place: int, call: _core.ParsedCall) -> ToolResult:
            if admit is not None and (instead := admit(call)) is not None:
                order.answered(place, call.name, instead)
                return instead
            return await self._made(
                call.name,
                call.arguments,
                around,
                lambda around: _core.dispatch(self._core, call, planned, around, (order, place)),
            )

        answered = await carry_out(calls, concurrency, answer)
        await self._servers.catch_up(answered)
        outcome = RunOutcome(text, calls, answered, format=found)
        if calls:
            outcome.messages = self._answers(outcome, results, limit)
        return outcome

    run_sync = blocking(run)
    """`run`, blocking."""

    def _answers(self, outcome: RunOutcome, format: str, limit: int | None) -> list[dict[str, Any]]:
        """The results as messages in a format."""
        pairs = zip(outcome.calls, outcome.results, strict=True)
        answers = [(call.id, call.id_from_model, call.is_custom, call.name, result) for call, result in pairs]
        messages, cuts = _core.write_answers(self._core, answers, format, outcome.format, limit)
        for result, cut in zip(outcome.results, cuts, strict=True):
            report_cut(self._events, result, cut)
        return messages

    def _planned(
        self, message: Any, format: str, reasoning: Reasoning
    ) -> "tuple[list[_core.ParsedCall], str, str | None]":
        """The calls of a message, the text around them, and the format."""
        planned = read_message(
            message, lambda it, is_spelt_out: _core.plan_run(self._core, it, format, is_spelt_out, reasoning)
        )
        calls, _, found = planned
        repairs = sum(len(call.repairs) for call in calls)
        self._events.emit("parsed", calls=len(calls), format=found, repairs=repairs)
        return planned
