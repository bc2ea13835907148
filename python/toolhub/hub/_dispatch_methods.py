"""The methods of `ToolHub` for calls as models ask for them, routed by their source."""

from typing import Any, Unpack

from .. import _core
from .._twins import blocking
from .._unknown_options import refuse_unknown
from ..events import ROUTE
from ..options import Prefer, RequestOptions, StrategyName
from ..permissions import Approve, Permissions, permissions_of
from ..result import ToolResult
from ..routing import Explanation
from ._call_methods import CallMethods


class DispatchMethods(CallMethods):
    """`dispatch`, `explain` and `add_alias`."""

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
        refuse_unknown(self, DispatchMethods.dispatch, options)
        planned, around = self._planned_options(
            ROUTE, prefer=prefer, timeout=timeout, deadline=deadline, approve=approve, **options
        )
        # The core reads the request; only a span has to know before what it is about.
        tool, args = ("", None) if self._tracing is None else _core.read_request(self._core, request)[:2]
        return await self._made(
            tool,
            args,
            around,
            lambda around: _core.dispatch(self._core, request, planned, around),
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
        if isinstance(request_or_name, str):
            options = _core.CallOptions(strategy=strategy, prefer=prefer)
            return Explanation(*_core.explain(self._core, request_or_name, args, options, False, None, asked))
        name, arguments, source, error = _core.read_request(self._core, request_or_name)
        if error is not None:
            text = f"The call is answered with 'invalid_arguments'; nothing is called: {error}"
            return Explanation("unreadable", [], "none", text, [])
        options = _core.CallOptions(strategy=strategy, prefer=prefer)
        args = arguments if args is None else args
        return Explanation(*_core.explain(self._core, name, args, options, True, source, asked))
