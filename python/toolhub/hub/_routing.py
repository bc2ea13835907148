"""Routing: calls as models ask for them, by the rules of their source."""

import itertools
import time
from collections.abc import Mapping
from typing import Any, Unpack, cast

from .. import _core
from ..events import CALL_ID
from ..exceptions import ErrorKind
from ..options import Prefer, RequestOptions, StrategyName
from ..result import ToolResult
from ..routing import Explanation, as_object, read_request
from ._calling import Calling
from ._numbers import check_seconds
from ._prompts import Prompts
from ._servers import not_asked

# Rule, source, server, and why nobody can be called: kind, sentence, suggestions.
_Routed = tuple[str, str | None, str | None, tuple[str, str, list[str]] | None]


class Routing(Calling):
    """`dispatch`, `explain` and `add_alias`."""

    _prompts: Prompts
    _routed_prefer: Prefer
    _call_ids: "itertools.count[int]"

    def _set_up_routing(self, prefer: Prefer | None, aliases: Any, lookup_timeout: float) -> None:
        check_seconds("lookup_timeout", lookup_timeout)
        self._routed_prefer = prefer or "mcps"
        self._lookup_timeout = lookup_timeout
        self._call_ids = itertools.count(1)
        if not isinstance(aliases, Mapping):
            raise TypeError(f"source_aliases must be a mapping of labels, got {type(aliases).__name__}")
        for label, target in cast("Mapping[str, str | None]", aliases).items():
            self.add_alias(label, target)

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
        **options: Unpack[RequestOptions],
    ) -> ToolResult:
        """Call the tool that a model asked for, where the `source` of its request says.

        `request` is a mapping `{id, tool_name, arguments, source}` (`name`, `parameters` and `args` are other names; `id` and
        `source` may be missing), or a parsed call. Without a source, and with one of the labels that models use loosely, MCP
        servers come first, then native tools and skills, unless `prefer` says otherwise; the id of a server means that server
        and only it, and `tools`, `skills` and `mcps` mean that source. A tool that no server has listed is looked for on those
        whose list is missing or old, for at most `lookup_timeout` of the hub, before it is not found.

        The other options are those of `execute`, without `source` and `server`. `meta` of the result has the `call_id` and the
        `route`, the name of the rule.

        >>> import asyncio
        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length")
        >>> call = {"id": "call_7", "tool_name": "length", "arguments": {"obj": "abc"}, "source": "native"}
        >>> result = asyncio.run(hub.dispatch(call))
        >>> result.result, result.meta["call_id"], result.meta["route"]
        (3, 'call_7', 'alias')
        """
        name, args, id, source, error = read_request(request)
        id = id or f"call_{next(self._call_ids)}"
        if self._closed:
            return self._refused(
                name, id, "unknown", (ErrorKind.CLOSED, "The hub is closed; make a new ToolHub.", [])
            )
        if error is not None:
            return self._refused(name, id, "unreadable", (ErrorKind.INVALID_ARGUMENTS, error, []))
        if args is None:
            args = {}
        elif type(args) is str and options.get("coerce", True):
            args = as_object(args)
        name, args = self._prompts.from_vendor_form(name, args)
        late = 0.0
        rule, where, server, refusal = _core.route(self._core, name, source)
        if refusal is not None:
            begun = time.perf_counter()
            rule, where, server, refusal = await self._look_up(name, source, timeout, deadline)
            late = time.perf_counter() - begun
            if refusal is not None:
                result = self._refused(name, id, rule, refusal)
                result.meta["duration_ms"] = late * 1e3
                return result
            deadline = None if deadline is None else max(0.0, deadline - late)
        self._events.emit("routed", call_id=id, tool=name, source=where, server=server, rule=rule)
        known_by = CALL_ID.set(id)
        try:
            result = await self.execute(
                name,
                args,
                timeout=timeout,
                deadline=deadline,
                source=where,  # pyright: ignore[reportArgumentType]  # the core knows no other sources
                server=server,
                prefer=prefer or self._routed_prefer,
                **options,
            )
        finally:
            CALL_ID.reset(known_by)
        meta = result["_meta"]
        if late:
            meta["duration_ms"] += late * 1e3
        meta["call_id"] = id
        meta["route"] = rule
        return result

    def explain(
        self,
        request_or_name: Any,
        args: Any = None,
        *,
        strategy: StrategyName = "auto",
        prefer: Prefer | None = None,
    ) -> Explanation:
        """Tell what `dispatch` would do with a request, or `execute` with a name, and why. Nothing is called or connected.

        Arguments are checked when there are any: those of the request, or `args`.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> _ = hub.register(len, name="length", read_only=True)
        >>> print(hub.explain({"tool_name": "length", "arguments": {"obj": "abc"}}))
        'length': the call names no source: every source is asked, MCP servers first.
        Candidates, in order:
          1. tools (priority 0, not called yet; harmless: declared at registration)
        Strategy: first, because there is one candidate.
        The arguments fit.
        """
        if isinstance(request_or_name, str):
            options = _core.CallOptions(strategy=strategy, prefer=prefer)
            return Explanation(*_core.explain(self._core, request_or_name, args, options, False))
        name, arguments, _, source, error = read_request(request_or_name)
        if error is not None:
            text = f"The call is answered with 'invalid_arguments' and nobody is called: {error}"
            return Explanation("unreadable", [], "none", text, [])
        if args is None:
            args = {} if arguments is None else arguments
        if isinstance(args, str):
            args = as_object(args)
        name, args = self._prompts.from_vendor_form(name, args)
        options = _core.CallOptions(strategy=strategy, prefer=prefer or self._routed_prefer)
        return Explanation(*_core.explain(self._core, name, args, options, True, source))

    async def _look_up(
        self, name: str, source: str | None, timeout: float | None, deadline: float | None
    ) -> "_Routed":
        """Ask the servers that may have it, and give the route after that."""
        failed: dict[str, Any] = {}
        limits = [self._lookup_timeout, *(limit for limit in (timeout, deadline) if limit is not None)]
        rule, where, server, refusal = _core.route(self._core, name, source)
        if self._servers is not None and rule != "unknown":
            failed = await self._ask_around(name, where, server, min(limits))
            rule, where, server, refusal = _core.route(self._core, name, source)
        if refusal is None or not failed:
            return rule, where, server, refusal
        kind, sentence, suggestions = refusal
        if server in failed:
            # It was named, so why it could not be asked is the answer.
            kind, sentence = failed[server]["kind"], failed[server]["message"]
        elif deadline == min(limits) and any(error["kind"] == "timeout" for error in failed.values()):
            kind = "timeout"
            sentence = (
                f"'{name[:100]}' was not found within the deadline of {deadline} s (nothing was started)."
            )
        else:
            sentence = f"{sentence} {not_asked(failed)}"
        return rule, where, server, (kind, sentence, suggestions)

    def _refused(self, name: str, id: str, rule: str, refusal: tuple[str, str, list[str]]) -> ToolResult:
        """The result of a call that was never made."""
        kind, sentence, suggestions = refusal
        result = _core.failed_result(name, kind, sentence)
        result.meta["error"]["outcome"] = "not_sent"
        if suggestions:
            result.meta["error"]["suggestions"] = suggestions
        result.meta["call_id"] = id
        result.meta["route"] = rule
        self._events.emit(
            "finished", call_id=id, tool=name, success=False, kind=str(result.kind), error=sentence
        )
        return result
