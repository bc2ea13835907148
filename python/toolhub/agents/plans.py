"""Plans: steps, what was repaired, and what the steps came to."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from ..kit import shown_as
from ..result import ToolResult
from .events import Record
from .shapes import STEP, wrong

NONE = "none"
"""The tool of a step that needs only thinking."""


class Step(Record):
    """One step of a plan.

    >>> Step(1, "Add the numbers", "calculate").dependencies
    []
    """

    id: int | str
    description: str
    tool_type: str
    dependencies: list[int | str]
    complexity: Any
    arguments: dict[str, Any] | None

    def __init__(
        self,
        id: int | str,
        description: str,
        tool_type: str = NONE,
        dependencies: Iterable[int | str] = (),
        complexity: Any = "medium",
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            id=id,
            description=description,
            tool_type=tool_type,
            dependencies=list(dependencies),
            complexity=complexity,
            arguments=None if arguments is None else dict(arguments),
        )

    @classmethod
    def of(cls, given: "Step | Mapping[str, Any]") -> "Step":
        """A step, or data of that shape as one."""
        if isinstance(given, Step):
            return given
        if not isinstance(cast("object", given), Mapping):
            raise TypeError(f"a step must be a Step or a mapping, got {type(given).__name__}")
        if (problem := wrong(STEP, given)) is not None:
            raise TypeError(f"a step cannot be read: {problem}")
        fields: dict[str, Any] = {"id": 1} | {
            name: given[name] for name in Step.__annotations__ if given.get(name) is not None
        }
        return cls(**fields)


class Plan(list[Step]):
    """The steps of a plan, in their order; `problems` tell what was repaired.

    >>> plan = Plan([Step(1, "Think")], ["The plan was empty."])
    >>> plan.steps[0].description, plan.problems
    ('Think', ['The plan was empty.'])
    """

    def __init__(self, steps: Iterable[Step] = (), problems: Iterable[str] = ()) -> None:
        super().__init__(steps)
        self.problems = list(problems)

    @property
    def steps(self) -> list[Step]:
        """The steps as a plain list."""
        return list(self)

    _repr_mimebundle_ = shown_as("of_plan")


class StepResult(Record):
    """What a step came to.

    `result` is the whole text; prompts get `shown`, which is cut by the kind of the tool. `method` is how it was got: `tool`,
    `capability`, `reasoning`, or `reasoned` if the model answered in place of a tool; that is never verified. `attempts` list
    what failed on the way. `stopped` names the limit of the run that ended the step,
    or is `paused` if its call waits for a decision.
    """

    id: int | str
    description: str
    success: bool
    result: str
    error: str | None
    method: str
    tool: str | None
    arguments: Any
    attempts: list[dict[str, Any]]
    stopped: str | None

    full: ToolResult | None = None
    """The whole result of the tool; it is not part of the data, so not kept over a pause."""


def result_of(step: Step, **fields: Any) -> StepResult:
    """What a step came to; what is not given is that of a step that failed."""
    empty = {"success": False, "result": "", "error": None, "method": "none", "tool": None}
    more: dict[str, Any] = {"arguments": None, "attempts": [], "stopped": None}
    return StepResult(id=step.id, description=step.description, **{**empty, **more, **fields})


def shown(results: Iterable[StepResult]) -> str:
    """Results for a prompt: each as a JSON text, so that nothing in it looks like a part of the prompt."""
    lines = [
        json.dumps({"step": one.id, "result": one.get("shown", one.result)}, ensure_ascii=False)
        for one in results
    ]
    return "\n".join(lines) or "-"


def reasoned_away(result: Any) -> str | None:
    """Why the model answered in place of a tool; None for every other result.

    >>> reasoned_away({"method": "reasoned", "attempts": [{"error": "no network"}]}), reasoned_away("42")
    ('no network', None)
    """
    if not isinstance(result, Mapping):
        return None
    given = cast("Mapping[str, Any]", result)
    attempts: list[Mapping[str, Any]] = given.get("attempts") or [{}]
    return str(attempts[-1].get("error")) if given.get("method") == "reasoned" else None
