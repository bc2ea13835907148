"""What agents report while they work: one class for each kind of event, all of them plain JSON data."""

import time
from collections.abc import Mapping
from typing import Any, ClassVar


class Record(dict[str, Any]):
    """A dict whose keys are attributes too. It holds plain data, so that `json.dumps` takes it as it is.

    >>> step = Record(id=1, description="Look it up")
    >>> step.description, step["id"]
    ('Look it up', 1)
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}") from None


class AgentEvent(Record):
    """Something that happened in a run. A dict with `type`, `time` (seconds since 1970) and the fields of its class.

    >>> import json
    >>> event = StepStarted(id=1, description="Look it up", tool="search_web")
    >>> event.type, event.tool, json.loads(json.dumps(event))["id"]
    ('step_started', 'search_web', 1)
    """

    kind: ClassVar[str] = "event"
    """The `type` of events of this class."""
    type: str
    """Its kind, such as `step_started`."""
    time: float
    """Seconds since 1970."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(type=self.kind, time=time.time(), **fields)

    @staticmethod
    def of(data: Mapping[str, Any]) -> "AgentEvent":
        """An event from its JSON data, with its class; of a kind that this version does not know, an `AgentEvent`.

        >>> type(AgentEvent.of({"type": "stopped", "time": 0.0, "reason": "budget", "message": "…"})).__name__
        'Stopped'
        """
        kinds = {one.kind: one for one in AgentEvent.__subclasses__()}
        event = kinds.get(str(data.get("type")), AgentEvent)()
        event.clear()
        event.update(data)
        return event


class RunStarted(AgentEvent):
    """A run begins, or goes on after a pause (`resumed`)."""

    kind = "run_started"
    run: str
    agent: str
    question: str
    resumed: bool


class ModelAnswered(AgentEvent):
    """The model has answered: what it was asked for (`purpose`), its text, and the tokens of both (estimated if so)."""

    kind = "model_answered"
    purpose: str
    text: str
    tokens: int


class PlanMade(AgentEvent):
    """There is a plan. `problems` tell what was wrong with the model's plan, and how it was repaired."""

    kind = "plan_made"
    steps: list[dict[str, Any]]
    problems: list[str]


class StepStarted(AgentEvent):
    """A step of the plan begins."""

    kind = "step_started"
    id: int | str
    description: str
    tool: str


class StepFinished(AgentEvent):
    """A step of the plan has ended; `step` is its `StepResult`."""

    kind = "step_finished"
    id: int | str
    success: bool
    step: dict[str, Any]


class CallProposed(AgentEvent):
    """The model's text contains a call that may not have been meant; it was not made. `sentence` is the text around it."""

    kind = "call_proposed"
    id: str
    tool: str
    arguments: dict[str, Any]
    certainty: str
    sentence: str


class CallFinished(AgentEvent):
    """A tool that the model of a chat has called answered, or the call was refused (`error`)."""

    kind = "call_finished"
    id: str
    tool: str
    arguments: dict[str, Any]
    success: bool
    text: str
    error: str | None


class Verified(AgentEvent):
    """A result was checked: `verified`, `confidence` and `issues`."""

    kind = "verified"
    verified: bool
    confidence: float
    issues: list[str]


class Paused(AgentEvent):
    """The run has paused. `state` is plain data from which `resume` goes on, in any process.

    `state["waiting"]` lists the calls that somebody has to decide about: `tool`, `approval` (the id for `hub.approve`) and
    `error`.
    """

    kind = "paused"
    state: dict[str, Any]


class Stopped(AgentEvent):
    """The run ended before there was an answer: `reason` is a word, `message` a sentence."""

    kind = "stopped"
    reason: str
    message: str


class Answered(AgentEvent):
    """The run has ended; `answer` is its `AgentAnswer` without the transcript."""

    kind = "answered"
    success: bool
    text: str
    answer: dict[str, Any]


_NOT_ALWAYS = ("state", "verification", "steps")
"""What only some answers have."""


class AgentAnswer(Record):
    """What a run came to.

    `answer` is the text for the user, `success` whether it is an answer; otherwise `reason` tells why there is none
    (`failed`, `refused`, `budget`, `deadline`, `rounds`, `repeated`, `empty`, `model`, `paused`) and `errors` what went wrong.
    `transcript` has all events of the run. `state` is there after a pause, `verification` if an answer was checked, `steps` if
    there was a plan; each of them is None otherwise. `str()` gives the text.

    >>> AgentAnswer(answer="Hello", success=True).state is None
    True
    """

    answer: str
    success: bool
    reason: str
    errors: list[str]
    spent: dict[str, Any]
    transcript: list[AgentEvent]
    state: dict[str, Any] | None
    verification: dict[str, Any] | None
    steps: list[dict[str, Any]] | None

    def __getattr__(self, name: str) -> Any:
        return self.get(name) if name in _NOT_ALWAYS else super().__getattr__(name)

    @property
    def text(self) -> str:
        """The text for the user."""
        return self["answer"]

    def __str__(self) -> str:
        return self["answer"]
