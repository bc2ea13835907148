"""Agents that answer questions: one run at a time, its events as they come, its transcript, pause and resume."""

import asyncio
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict

from .. import kit
from ..kit import check_text, unmissed
from ..options import Model
from ..permissions import Approve
from ..result import ToolResult
from .events import AgentAnswer, AgentEvent, Answered, Paused, RunStarted, Stopped
from .model import AgentModel
from .profile import AgentProfile, AgentPrompts
from .shapes import check_state
from .verification import VerificationAgent
from .view import AgentView

if TYPE_CHECKING:
    from ..hub import ToolHub


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
        answer = self._answer(text, success, reason, errors, **more)
        self.emit(Answered(success=success, text=text, answer=dict(answer)))
        answer["transcript"] = self.transcript
        return answer

    def paused(self, state: dict[str, Any], waiting: "list[Waiting] | None" = None) -> AgentAnswer:
        """The end of a run that goes on later; `waiting` are the calls that somebody has to decide about first."""
        calls = waiting or []
        own = {"version": 1, "question": self.question, "run": self.id, "waiting": calls}
        left = {"spent": self._view.budget.state, "seconds_left": self._view.left()}
        whole = {**state, **own, **left}
        self.emit(Paused(state=whole))
        errors = [call["error"] for call in calls]
        return self._answer("", False, "paused", errors, state=whole, transcript=self.transcript)

    def _answer(self, text: str, success: bool, reason: str, errors: list[str], **more: Any) -> AgentAnswer:
        known = {"answer": text, "success": success, "reason": reason, "errors": errors}
        return AgentAnswer(**known, run=self.id, spent=self._view.budget.spent, **more)


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


class AnsweringAgent(ABC):
    """An agent that answers one question at a time."""

    _kind: ClassVar[str]
    """What a paused state says of the agent that made it."""
    _model: AgentModel
    _run: AgentRun | None = None

    def __init__(
        self,
        hub: "ToolHub",
        profile: "AgentProfile | Mapping[str, Any] | str | PathLike[str] | None",
        approve: Approve | None,
        view: AgentView | None,
        run: str | None,
        prompts: AgentPrompts | None,
        verifier: Any,
    ) -> None:
        self.profile = AgentProfile.of(profile)
        self.view = AgentView.of(hub, self.profile, approve, run=run) if view is None else view
        self._prompts = AgentPrompts(lang=hub.lang) if prompts is None else prompts
        self._verifier = verifier or VerificationAgent(lang=hub.lang, hub=hub, run=self.view.run)

    def sub_agent(
        self,
        profile: "AgentProfile | Mapping[str, Any] | str",
        llm: Model | None = None,
        approve: Approve | None = None,
    ) -> Self:
        """An agent inside this one, by a profile or the name of a view of this agent's profile.

        Its tools, effects, budget and deadline are a part of those of this agent, whatever its profile says.
        """
        own = self.profile.view(profile) if isinstance(profile, str) else AgentProfile.of(profile)
        view = AgentView.of(self.view.hub, own, approve, self.view)
        return self._inside(llm, profile=own, view=view, prompts=self._prompts)

    @abstractmethod
    def _inside(self, llm: Model | None, **parts: Any) -> Any:
        """An agent of this class with other parts; without a model it has the one of this agent."""

    async def answer(self, question: str = "", *, state: Mapping[str, Any] | None = None) -> AgentAnswer:
        """Answer a question, or go on with the `state` of a paused run. A failure is an answer too; see `AgentAnswer`."""
        saved = None if state is None else check_state(state, self._kind)
        return await self._work(self._begin(question, saved), saved)

    answer_sync = kit.blocking(answer)
    """`answer`, blocking."""

    async def stream(
        self, question: str = "", *, state: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[AgentEvent, None]:
        """`answer`, with every event as it happens; the last one is `Answered` or `Paused`. Leaving the loop ends the run."""
        saved = None if state is None else check_state(state, self._kind)
        run = self._begin(question, saved)
        events = events_of(run, self._work(run, saved))
        try:
            async for event in events:
                yield event
        finally:
            await events.aclose()
            self._finish(run)  # also if the work was cancelled before it began

    def resume(self, state: Mapping[str, Any]) -> AsyncGenerator[AgentEvent, None]:
        """`stream` from the state of a paused run, which may come from another process."""
        return self.stream(state=state)

    def pause(self) -> None:
        """Let the run end after the round or the steps that are running; its last event is `Paused`, with the state."""
        if self._run is not None:
            self._run.pausing = True

    def _begin(self, question: str, state: Mapping[str, Any] | None) -> AgentRun:
        if self._run is not None:
            raise RuntimeError("This agent is answering a question; use another agent for a second one.")
        check_text("question", question)
        given: Mapping[str, Any] = {} if state is None else state
        if given:
            question = given["question"]
            self.view.budget.restore(given["spent"])
            self.view.go_on(given)
        elif not question.strip():
            raise ValueError("the question is empty; ask something, or give the state of a paused run")
        self._run = AgentRun(self.profile.name, question, self.view, given.get("run"))
        self.view.start(given.get("seconds_left"))
        self._model.emit = self._run.emit
        return self._run

    def _finish(self, run: AgentRun) -> None:
        """The end of a run, however it came; a second time does nothing."""
        if self._run is run:
            self._run = None
            self.view.go_on(None)
            self.view.finish()

    @abstractmethod
    async def _work(self, run: AgentRun, state: Mapping[str, Any] | None) -> AgentAnswer: ...
