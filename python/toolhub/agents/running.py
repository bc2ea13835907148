"""One run of an agent: its events as they come, its transcript, and whether it shall pause."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Awaitable
from typing import Any, TypedDict

from ..kit import unmissed
from ..result import ToolResult
from .events import AgentAnswer, AgentEvent, Answered, Paused, RunStarted, Stopped
from .view import AgentView


class Waiting(TypedDict):
    """A call that waits: for `hub.approve` with the id in `approval`, or, without one, for what `error` says."""

    tool: str
    approval: str | None
    error: str


def waiting_call(tool: str, result: ToolResult) -> Waiting:
    """A call that ended as paused."""
    return {"tool": tool, "approval": result.paused, "error": str(result.error)}


class AgentRun:
    """The events of one run, and its end."""

    def __init__(self, agent: str, question: str, view: AgentView, run: str | None = None) -> None:
        self.id = run or f"run_{uuid.uuid4().hex[:16]}"
        self.question = question
        self.transcript: list[AgentEvent] = []
        self.queue: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        self.pausing = False
        self.is_streamed = False
        self._view = view
        self.emit(RunStarted(run=self.id, agent=agent, question=question, resumed=run is not None))

    def emit(self, event: AgentEvent) -> None:
        """Report an event."""
        self.transcript.append(event)
        self.queue.put_nowait(event)

    async def may_go_on(self) -> bool:
        """Whether the run shall not pause. Waits until the reader of the stream has seen all events and had its say."""
        if self.is_streamed:
            await self.queue.join()
        return not self.pausing

    def end(
        self, text: str, success: bool, reason: str, errors: list[str], message: str = "", **more: Any
    ) -> AgentAnswer:
        """The answer of the run, reported."""
        if reason not in ("answered", "failed"):
            self.emit(Stopped(reason=reason, message=message))
        answer = AgentAnswer(
            answer=text,
            success=success,
            reason=reason,
            errors=errors,
            run=self.id,
            spent=self._view.budget.spent,
            **more,
        )
        self.emit(Answered(success=success, text=text, answer=dict(answer)))
        answer["transcript"] = self.transcript
        return answer

    def paused(self, state: dict[str, Any], waiting: "list[Waiting] | None" = None) -> AgentAnswer:
        """The end of a run that goes on later; `waiting` are the calls that somebody has to decide about first."""
        left = self._view.left()
        calls = waiting or []
        spent = self._view.budget.state
        whole = {**state, "run": self.id, "spent": spent, "seconds_left": left, "waiting": calls}
        self.emit(Paused(state=whole))
        return AgentAnswer(
            answer="",
            success=False,
            reason="paused",
            errors=[call["error"] for call in calls],
            run=self.id,
            state=whole,
            spent=self._view.budget.spent,
            transcript=self.transcript,
        )


async def events_of(run: AgentRun, work: Awaitable[AgentAnswer]) -> AsyncGenerator[AgentEvent, None]:
    """The events of a run while it works. Leaving the iteration cancels the run."""
    run.is_streamed = True
    task = unmissed(asyncio.ensure_future(work))
    task.add_done_callback(lambda _: run.queue.put_nowait(None))
    try:
        while (event := await run.queue.get()) is not None:
            yield event
            run.queue.task_done()
        task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
