"""From a model's message to what it has to read next: parse, check permission, route, execute, shape, format."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Unpack, cast

from .. import _core
from ..events import Events
from ..exceptions import ErrorKind
from ..formatting import Answer, write_answers
from ..options import DispatchOptions, ResultFormat
from ..permissions import PATIENCE, Approval, Permissions
from ..result import ToolResult
from ._base import HubPart
from ._formatting import ResultFormatter
from ._numbers import check_whole
from ._prompts import Prompts

_NATIVE = ("openai", "openai_responses", "anthropic", "gemini")


@dataclass(slots=True)
class RunOutcome:
    """What became of a model's message.

    `text` is what it said around its calls, `calls` what it asked for, `results` what came of each, in the same order;
    `messages` is what to append to the conversation. Without calls `text` is the model's answer and `messages` is empty.
    """

    text: str
    calls: list[_core.ParsedCall]
    results: list[ToolResult]
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def __bool__(self) -> bool:
        """Whether the model asked for something, so that it has to be asked again."""
        return bool(self.calls)


class Running(HubPart):
    """`run`."""

    _events: Events
    dispatch: Callable[..., Awaitable[ToolResult]]
    _prompts: Prompts
    _formatter: ResultFormatter
    _look_up: Callable[..., Awaitable[Any]]
    _refused: Callable[..., ToolResult]

    async def run(
        self,
        message: Any,
        *,
        allowed: Iterable[str] | None = None,
        approve: Callable[[Approval], Any] | None = None,
        format: str = "auto",
        results: ResultFormat = "auto",
        approve_timeout: float = PATIENCE,
        concurrency: int = 16,
        limit: int | None = None,
        **options: Unpack[DispatchOptions],
    ) -> RunOutcome:
        """Do what a model asks for in its message, and give what it has to read next.

        `message` is the model's text, or a message, response or list of blocks of the OpenAI, Anthropic or Gemini API; `format`
        is the dialect of a text. Calls without effects run together, `concurrency` at a time; one with effects runs alone, in
        its place among the others. `allowed` and `approve` are those of `toolhub.permissions.Permissions`. Results are cut
        as `hub.format` cuts them (`limit` characters), and written in the way of the API that the message came from, or in
        that of `results` (`tags`, `openai`, `openai_responses`, `anthropic`, `gemini`); one of these names as `format` means
        both. `options` are those of `dispatch`.

        >>> import asyncio
        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.tool
        ... def add(a: int, b: int) -> int:
        ...     return a + b
        >>> said = 'Let me see. <tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>'
        >>> outcome = asyncio.run(hub.run(said))
        >>> outcome.text, outcome.results[0].result
        ('Let me see. ', 5)
        >>> print(outcome.messages[0]["content"])
        <tool_result>
        {"id": "call_1", "tool_name": "add", "success": true, "result": "5"}
        </tool_result>
        """
        check_whole("concurrency", concurrency, 1)
        if results not in ("auto", "tags", *_NATIVE):
            raise ValueError(f"results must be auto, tags, {', '.join(_NATIVE)}, got {results!r}")
        if results == "auto" and format in ("tags", *_NATIVE):
            results = format
        permissions = Permissions(allowed, approve, approve_timeout)
        parsed = self._parsed(message, "auto" if format == "tags" else format)
        answered = await self._carry_out(parsed.calls, permissions, concurrency, options)
        outcome = RunOutcome(parsed.text, parsed.calls, answered)
        if parsed.calls:
            if results == "auto":
                results = parsed.format if parsed.format in _NATIVE else "tags"
            pairs = zip(parsed.calls, answered, strict=True)
            answers = [Answer(call, result, self._formatter.format(result, limit)) for call, result in pairs]
            written = write_answers(answers, results)
            outcome.messages = [{"role": "user", "content": written}] if results == "tags" else written
        return outcome

    def _parsed(self, message: Any, format: str) -> Any:
        from ..parsing import parse

        parsed: Any = parse(message, format=format)
        if parsed.calls and parsed.format not in _NATIVE:
            # What stands between tags has no type; the schemas of the tools that are named say what was meant.
            known = {
                call.name: self._core.get(self._prompts.from_vendor_form(call.name, None)[0])
                for call in parsed.calls
            }
            tools = [{"name": name, "parameters": tool.parameters} for name, tool in known.items() if tool]
            parsed = parse(message, format=format, tools=tools)
        repairs = sum(len(call.repairs) for call in parsed.calls)
        self._events.emit("parsed", calls=len(parsed.calls), format=parsed.format, repairs=repairs)
        return parsed

    async def _carry_out(
        self, calls: list[Any], permissions: Permissions, concurrency: int, options: Mapping[str, Any]
    ) -> list[ToolResult]:
        results: list[ToolResult | None] = [None] * len(calls)

        async def work(queue: Iterator[tuple[int, Any]]) -> None:
            for at, call in queue:
                results[at] = await self._answer(call, permissions, options)

        for group in _groups(calls, self._has_effects):
            queue = iter(group)
            if len(group) == 1:
                await work(queue)
                continue
            try:
                async with asyncio.TaskGroup() as workers:
                    for _ in range(min(concurrency, len(group))):
                        workers.create_task(work(queue))
            except BaseExceptionGroup as errors:
                # Only a programming error raises in there; it is told as `dispatch` would tell it.
                raise errors.exceptions[0] from None
        return cast("list[ToolResult]", results)

    async def _answer(self, call: Any, permissions: Permissions, options: Mapping[str, Any]) -> ToolResult:
        if call.error is not None:
            return await self.dispatch(call)
        request, refusal = await self._permitted(call, permissions)
        return await self.dispatch(request, **options) if refusal is None else refusal

    async def _permitted(
        self, call: Any, permissions: Permissions
    ) -> tuple[dict[str, Any], ToolResult | None]:
        """The request as it may be made, or the refusal."""
        # What is allowed and approved is the tool itself, whatever an API calls it.
        name, arguments = self._prompts.from_vendor_form(call.name, call.arguments)
        request = {"id": call.id, "tool_name": name, "arguments": arguments, "source": call.source}
        if permissions.names_places and permissions.may_allow(name) and not self._places(name, call.source):
            # Who has it decides whether it is allowed, so those who may have it are asked first.
            rule, _, _, missing = await self._look_up(name, call.source, None, None)
            if missing is not None:
                return request, self._refused(name, call.id, rule, missing)
        reason = self._narrow(request, call.source, permissions)
        tool, places = self._core.get(name), self._places(name, request["source"])
        # A server that has not listed it may have one with effects.
        if reason is None and permissions.asks and (tool is None or tool.needs_approval or not places):
            servers = tuple(sorted({server for _, server in places if server is not None}))
            description = "" if tool is None else tool.description
            reason = await permissions.refusal(Approval(name, dict(arguments), call.id, servers, description))
            # The answer may have taken minutes, and others may have the tool by now.
            reason = reason or self._narrow(request, call.source, permissions)
        return request, None if reason is None else self._not_allowed(call, reason)

    def _places(self, name: str, source: str | None) -> list[tuple[str, str | None]]:
        """Where a call of this source may go, as far as is known: sources and servers."""
        tool: _core.ToolInfo | None = self._core.get(name)
        _, where, server, _ = _core.route(self._core, name, source)
        return [
            (one.source, one.server)
            for one in (tool.candidates if tool else ())
            if where in (None, one.source) and server in (None, one.server)
        ]

    def _narrow(self, request: dict[str, Any], source: str | None, permissions: Permissions) -> str | None:
        """Let the request mean only what is allowed, or say why nothing is."""
        name = request["tool_name"]
        # What nobody has is judged by its name.
        places = self._places(name, source) or [("mcps", None)]
        allowed = [place for place in places if permissions.allows(name, place[1])]
        request["source"] = source
        if not allowed:
            return "it is not among the tools that are allowed here"
        if len(allowed) < len(places):
            # A route can be narrowed to one server or to one source.
            request["source"] = _only(allowed)
            if request["source"] is None:
                return "only some of its providers are allowed here; name one of them as 'source'"
        return None

    def _not_allowed(self, call: Any, reason: str) -> ToolResult:
        sentence = f"Tool '{call.name}' was not called: {reason}."
        self._events.emit("refused", call_id=call.id, tool=call.name, error=sentence)
        result = _core.failed_result(call.name, ErrorKind.NOT_ALLOWED, sentence)
        result.meta["call_id"] = call.id
        return result

    def _has_effects(self, call: Any) -> bool:
        tool: _core.ToolInfo | None = self._core.get(self._prompts.from_vendor_form(call.name, None)[0])
        return tool is not None and tool.effects


def _groups(calls: list[Any], is_alone: Callable[[Any], bool]) -> Iterator[list[tuple[int, Any]]]:
    """Runs of calls that may go together; one that has to be alone is a group of its own."""
    group: list[tuple[int, Any]] = []
    for entry in enumerate(calls):
        if is_alone(entry[1]):
            if group:
                yield group
            yield [entry]
            group = []
        else:
            group.append(entry)
    if group:
        yield group


def _only(places: list[tuple[str, str | None]]) -> str | None:
    """The one `source` that means exactly these places."""
    names = {source if server is None else f"mcps:{server}" for source, server in places}
    return names.pop() if len(names) == 1 else None
