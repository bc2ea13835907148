"""The methods of `ToolHub` for the proof of effects: the ledger, runs and approvals. The core keeps and decides all of it."""

from typing import TYPE_CHECKING, Any, cast

from .. import _core
from .._checks import check_text, check_whole, if_given
from .._core import Hub
from ..ledger import Decision, EffectState, LedgerRow, PendingApproval, ResumedRun, typed

if TYPE_CHECKING:
    from . import ToolHub


class LedgerMethods:
    """`ledger`, `resume`, `settle`, `pending`, `approve` and `deny`."""

    _core: Hub

    def ledger(
        self,
        run: str | None = None,
        *,
        state: EffectState | None = None,
        tool: str | None = None,
        principal: str | None = None,
        limit: int = 1000,
    ) -> list[LedgerRow]:
        """What calls that may have effects have done: the newest `limit` rows, oldest first.

        With a store, every such call has a row, written before anything was sent. Without one, only calls of a run have, and
        only in memory. A row that a process has left behind by ending is `unknown`: it may have happened.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.tool
        ... def send_mail(to: str) -> str:
        ...     return f"sent to {to}"
        >>> hub.call("send_mail", {"to": "ann"}, run="monday").result
        'sent to ann'
        >>> [(row.tool, row.state) for row in hub.ledger("monday")]
        [('send_mail', 'done')]
        """
        for what, text in (("run", run), ("state", state), ("tool", tool), ("principal", principal)):
            if_given(check_text, what, text)
        limit = check_whole("limit", limit, 0)
        return typed(LedgerRow, _core.ledger_rows(self._core, run, principal, state, tool, limit))

    def resume(self, run: str) -> ResumedRun:
        """Take a run and begin it again: equal calls with `run=` give what they gave before, and are not made again.

        A new process needs this only to look at `unknown` rows first, or to let the run go at the end of a `with` block;
        `run=` alone resumes a run too. Raises `ToolError` of kind `not_allowed` if the run was never begun, if another hub
        works on it, if its last call was more than 30 days ago, or if the store that had it was lost.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> sent = []
        >>> @hub.tool
        ... def send_mail(to: str) -> int:
        ...     sent.append(to)
        ...     return len(sent)
        >>> hub.call("send_mail", {"to": "ann"}, run="monday").result
        1
        >>> with hub.resume("monday") as monday:
        ...     again = hub.call("send_mail", {"to": "ann"}, run="monday")
        >>> again.result, again.meta["replayed"], sent
        (1, True, ['ann'])
        """
        check_text("run", run)
        _core.resume_run(self._core, run)
        return ResumedRun(cast("ToolHub", self), run)

    def settle(self, id: str, decision: Decision, result: Any = None) -> None:
        """Decide about a row that is `unknown`, after looking what really happened.

        `done`: it happened, and its run goes on with `result`. `failed`: its run goes on with a failure. `again`: it did not
        happen, and its run makes the call again. Raises `ToolError` of kind `not_found` if no row of this id can be settled.
        """
        check_text("id", id)
        check_text("decision", decision)
        _core.settle_row(self._core, id, decision, result)

    def pending(self, principal: str | None = None) -> list[PendingApproval]:
        """The calls that wait for an approval because of `approve="ask"`, oldest first."""
        if_given(check_text, "principal", principal)
        return typed(PendingApproval, _core.pending_approvals(self._core, principal))

    def approve(self, id: str) -> None:
        """Approve a call that waits: the same call, made again in any process, then runs once.

        The approval holds for this tool with this definition, these arguments, this run and this caller, for
        `approval_lifetime` of the hub. Raises `ToolError` of kind `not_found` if no call of this id waits; the error says
        whether it was approved, denied or used, or has expired.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.tool
        ... def send_mail(to: str) -> str:
        ...     return f"sent to {to}"
        >>> message = '<tool_call>{"name": "send_mail", "arguments": {"to": "ann"}}</tool_call>'
        >>> waiting = hub.run_sync(message, approve="ask").results[0]
        >>> waiting.kind, hub.pending()[0].shown
        (<ErrorKind.PAUSED: 'paused'>, 'send_mail {"to":"ann"}')
        >>> hub.approve(waiting.paused)
        >>> hub.run_sync(message, approve="ask").results[0].result
        'sent to ann'
        """
        self._decide(id, True, None)

    def deny(self, id: str, reason: str | None = None) -> None:
        """Refuse a call that waits; the same call then fails with `reason`."""
        if_given(check_text, "reason", reason)
        self._decide(id, False, reason)

    def _decide(self, id: str, approves: bool, reason: str | None) -> None:
        check_text("id", id)
        _core.decide_approval(self._core, id, approves, reason)
