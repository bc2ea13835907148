"""The methods of `ToolHub` for calls as models ask for them: one request, routed by its source, or all calls of a message."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Unpack

from .. import _core
from .._background import blocking
from .._checks import check_callable, check_seconds, check_whole, if_given
from .._lazy import shown_as
from .._unknown_options import refuse_unknown
from ..events import ROUTE
from ..exceptions import ErrorKind
from ..options import DispatchOptions, Prefer, Reasoning, RequestOptions, ResultFormat, StrategyName
from ..permissions import PATIENCE, Approve, Permissions, permissions_of
from ..result import ToolResult
from ..routing import Explanation
from ._call_methods import CallMethods, carry_out
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


class RunMethods(CallMethods):
    """`dispatch`, `explain`, `add_alias` and `run`."""

    _servers: ServerManager

    def add_alias(self, label: str, target: str | None = None) -> None:
        """Let routed calls give `label` as their source.

        It stands for `target`: `tools`, `skills`, `mcps` or the id of a server, which may be added later. Without a target it
        stands for every source, MCP servers first, unless a server has that id.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length")
        >>> hub.add_alias("builtin", "tools")
        >>> hub.explain({"tool_name": "length", "source": "builtin"}).rule
        'alias'
        """
        _core.add_alias(self._core, label, target)

    async def dispatch(
        self,
        request: Any,
        *,
        prefer: Prefer | None = None,
        timeout: float | None = None,
        deadline: float | None = None,
        approve: "Approve | Permissions | None" = None,
        **options: Unpack[RequestOptions],
    ) -> ToolResult:
        """Call the tool that a model asked for, where the `source` of its request says.

        `request` is a mapping `{id, tool_name, arguments, source}` (`name`, `parameters` and `args` are other names; `id` and
        `source` may be missing), or a parsed call. Without a source, and with one of the labels that models use loosely, MCP
        servers come first, then native tools and skills, unless `prefer` says otherwise; the id of a server means that server
        and only it, and `tools`, `skills` and `mcps` mean that source. A tool that no server has listed is looked for on those
        whose list is missing or old, for at most `lookup_timeout` of the hub, before it is not found.

        `approve` and the other options are those of `execute`, without `source` and `server`. `meta` of the result has the
        `call_id` and the `route`, the name of the rule.

        >>> import asyncio
        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length")
        >>> call = {"id": "call_7", "tool_name": "length", "arguments": {"obj": "abc"}, "source": "native"}
        >>> result = asyncio.run(hub.dispatch(call))
        >>> result.result, result.meta["call_id"], result.meta["route"]
        (3, 'call_7', 'alias')
        """
        refuse_unknown(self, RunMethods.dispatch, options)
        planned, around = self._planned_options(
            ROUTE, prefer=prefer, timeout=timeout, deadline=deadline, approve=approve, **options
        )
        # The core reads the request; only a span has to know before what it is about.
        tool, args = ("", None) if self._tracing is None else _core.read_request(self._core, request)[:2]
        return await self._made(
            tool, args, around, lambda around: _core.dispatch(self._core, request, planned, around)
        )

    dispatch_sync = blocking(dispatch)
    """`dispatch`, blocking."""

    def explain(
        self,
        request_or_name: Any,
        args: Any = None,
        *,
        strategy: StrategyName = "auto",
        prefer: Prefer | None = None,
        approve: "Approve | None" = None,
    ) -> Explanation:
        """Tell what `dispatch` would do with a request, or `execute` with a name, and why. Nothing is called or connected.

        Arguments are checked when there are any: those of the request, or `args`. With `approve` it tells who would be asked.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length", read_only=True)
        >>> print(hub.explain({"tool_name": "length", "arguments": {"obj": "abc"}}))
        'length': the call names no source: every source is asked, MCP servers first.
        Candidates, in order:
          1. tools (priority 0, not called yet; harmless: declared at registration)
        Approval: not needed; every candidate is known to be harmless.
        Strategy: first, because there is one candidate.
        The arguments fit.
        """
        permissions = permissions_of(approve)
        asked = None if permissions is None else permissions.asked
        options = _core.CallOptions(strategy=strategy, prefer=prefer)
        if isinstance(request_or_name, str):
            return Explanation(*_core.explain(self._core, request_or_name, args, options, False, None, asked))
        name, arguments, source, error = _core.read_request(self._core, request_or_name)
        if error is not None:
            text = f"The call is answered with 'invalid_arguments'; nothing is called: {error}"
            return Explanation("unreadable", [], "none", text, [])
        args = arguments if args is None else args
        return Explanation(*_core.explain(self._core, name, args, options, True, source, asked))

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
        planned = calls, _, found = _core.plan_run(self._core, message, format, reasoning)
        repairs = sum(len(call.repairs) for call in calls)
        self._events.emit("parsed", calls=len(calls), format=found, repairs=repairs)
        return planned
