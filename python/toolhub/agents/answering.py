"""What all agents that answer questions have: one run at a time, its events, pause and resume."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from typing import Any, ClassVar

from .. import kit
from ..kit import check_text
from .events import AgentAnswer, AgentEvent
from .model import AgentModel
from .profile import AgentProfile
from .running import AgentRun, events_of
from .shapes import check_state
from .view import AgentView


class AnsweringAgent(ABC):
    """An agent that answers one question at a time."""

    profile: AgentProfile
    view: AgentView
    _kind: ClassVar[str]
    """What a paused state says of the agent that made it."""
    _model: AgentModel
    _run: AgentRun | None = None

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
