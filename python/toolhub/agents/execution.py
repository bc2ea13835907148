"""Carrying out the steps of a plan."""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from .. import ToolInfo, kit
from ..exceptions import ErrorKind
from ..kit import check_whole
from ..options import Model
from ..permissions import Approve
from ..result import ToolResult
from .inputs import NoExpressionError, arguments_for, by_schema, objects_in, unwrapped, with_results
from .model import AgentModel
from .plans import NONE, Step, StepResult, shown
from .profile import AgentProfile
from .prompts import AgentPrompts
from .shapes import STEP_RESULT, wrong
from .view import AgentView, RunStop

if TYPE_CHECKING:
    from ..hub import ToolHub

_MOST_BY_CAPABILITY = 3
"""The number of tools that are tried by capability after the tool of a step has failed."""


class ExecutionAgent:
    """Carries out steps: by their tool, otherwise by a harmless tool of the same capability, otherwise by reasoning.

    `max_parallel` steps run at a time; those that may act run one after another. A step whose tool may act is never reasoned
    away: if its call fails, or is not allowed, the step has failed.

    >>> import asyncio
    >>> from toolhub import ToolHub
    >>> hub = ToolHub()
    >>> @hub.tool
    ... def calculate(expression: str) -> int:
    ...     return eval(expression, {})
    >>> result = asyncio.run(ExecutionAgent(hub).execute_step(
    ...     {"id": 1, "description": "Calculate 6 times 7", "tool_type": "calculate"}))
    >>> result.result, result.method, result.arguments
    ('42', 'tool', {'expression': '6 * 7'})
    """

    def __init__(
        self,
        hub: "ToolHub",
        llm: Model | None = None,
        *,
        profile: AgentProfile | None = None,
        approve: Approve | None = None,
        view: AgentView | None = None,
        model: AgentModel | None = None,
        prompts: AgentPrompts | None = None,
        max_parallel: int = 5,
    ) -> None:
        self._profile = AgentProfile() if profile is None else profile
        self._view = AgentView.of(hub, self._profile, approve) if view is None else view
        self._model = AgentModel(self._view, llm) if model is None else model
        self._prompts = AgentPrompts(lang=hub.lang) if prompts is None else prompts
        self.max_parallel = check_whole("max_parallel", max_parallel, 1)

    async def execute_step(
        self, step: Step | Mapping[str, Any], results: Iterable[StepResult] = ()
    ) -> StepResult:
        """Carry out one step; `results` are those of earlier steps. A failure is a result too."""
        step = Step.of(step)
        known: list[StepResult] = []
        for result in results:
            if (problem := wrong(STEP_RESULT, result)) is not None:
                raise TypeError(f"an earlier result cannot be read: {problem}")
            known.append(result if isinstance(cast("object", result), StepResult) else StepResult(result))
        await self._view.ready()
        attempt = _Attempt(self._view, self._model, self._prompts, self._profile, step, known)
        try:
            return await attempt.carry_out()
        except RunStop as stop:
            return attempt.failed(str(stop), stop.reason)

    def may_act(self, step: Step) -> bool:
        """Whether a step may change something; such steps run one at a time."""
        return self._view.safety(step.tool_type) == "may_act"

    def execute_step_sync(
        self, step: Step | Mapping[str, Any], results: Iterable[StepResult] = ()
    ) -> StepResult:
        """`execute_step`, blocking."""
        return kit.run(self.execute_step(step, results))


class _Attempt:
    """One step on its way to a result."""

    def __init__(
        self,
        view: AgentView,
        model: AgentModel,
        prompts: AgentPrompts,
        profile: AgentProfile,
        step: Step,
        results: list[StepResult],
    ) -> None:
        self._view, self._model, self._prompts, self._profile = view, model, prompts, profile
        self._step = step
        self._results = [result for result in results if result.success]
        self._texts = {str(result.id).lower(): result.result for result in self._results}
        self._tried: list[dict[str, Any]] = []

    async def carry_out(self) -> StepResult:
        tool = self._step.tool_type
        if tool == NONE:
            return await self._reason()
        try:
            # Nobody is asked for the arguments of a call that is refused.
            given = {} if self._view.forbids(tool) else self._given()
            result = await self._call(tool, "tool", given)
            if given is not None and cast("ToolResult", result.full).kind is ErrorKind.INVALID_ARGUMENTS:
                # Nothing was called; what the plan gave does not fit the schema.
                result = await self._call(tool, "tool", None)
        except NoExpressionError as error:
            self._tried.append({"method": "tool", "tool": tool, "error": self._view.say(str(error))})
            return await self._reason()
        if result.success:
            return result
        full = cast("ToolResult", result.full)
        if full.kind is ErrorKind.PAUSED:
            # Somebody has to decide first; nothing else may take its place.
            result["stopped"] = "paused"
            return result
        refused = full.kind is ErrorKind.NOT_ALLOWED
        unclear = (
            full.meta.get("error", {}).get("outcome") == "unknown" and self._view.safety(tool) != "harmless"
        )
        if refused or unclear or self._view.safety(tool) == "may_act":
            return result
        return await self._by_capability(tool) or await self._reason()

    def _given(self) -> dict[str, Any] | None:
        """The arguments that the plan gave, with the results that they refer to; None if it gave none."""
        if self._step.arguments is None:
            return None
        return {
            name: with_results(value, self._texts) if isinstance(value, str) else value
            for name, value in self._step.arguments.items()
        }

    async def _by_capability(self, failed: str) -> StepResult | None:
        inferred = self._view.hub.capability_rules.extract("", self._step.description)
        names = (name for tag in inferred for name in self._view.harmless(tag) if name != failed)
        for _, name in zip(range(_MOST_BY_CAPABILITY), dict.fromkeys(names), strict=False):
            try:
                result = await self._call(name, "capability", None)
            except NoExpressionError:
                continue
            if result.success:
                return result
        return None

    async def _call(self, tool: str, method: str, given: dict[str, Any] | None) -> StepResult:
        arguments = await self._arguments(tool) if given is None else given
        full = await self._view.call(tool, arguments)
        text = self._view.hub.format(full) if full.success else ""
        result = self._result(full.success, text, full.error, method, tool, arguments)
        result.full = full
        if not full.success:
            self._tried.append({"method": method, "tool": tool, "arguments": arguments, "error": full.error})
        return result

    async def _arguments(self, tool: str) -> dict[str, Any]:
        known = self._view.hub.get(tool)
        if known is None:
            return {}
        kind = kit.kind_of(known)
        said, schema = self._step.description, known.parameters
        arguments = arguments_for(kind, said, schema, self._texts)
        if arguments is None and self._model and schema.get("properties"):
            arguments = await self._ask_for_arguments(tool, known)
        return by_schema(said, schema, self._texts) if arguments is None else arguments

    async def _ask_for_arguments(self, tool: str, known: ToolInfo) -> dict[str, Any] | None:
        """The arguments that the model gives; None if it fails or answers with something else."""
        schema = json.dumps(known.parameters, ensure_ascii=False)
        prompt = self._prompts.text(
            "arguments",
            tool=f"{tool}: {known.description}",
            schema=schema,
            results=shown(self._results),
            step=self._step.description,
        )
        try:
            text = await self._model.ask(prompt, "arguments")
        except RunStop as stop:
            if stop.reason != "model":
                raise
            return None
        named = cast("dict[str, Any]", known.parameters.get("properties") or {})
        objects = [unwrapped(one, named) for read in kit.json_in(text) for one in objects_in(read.value)]
        # A model may show a draft before what it means; an object with none of the names is an example of something else.
        fitting = [one for one in objects if named.keys() & one.keys()]
        return next(iter([*fitting[-1:], *objects[-1:]]), None)

    async def _reason(self) -> StepResult:
        if not self._model:
            errors = [one["error"] for one in self._tried]
            return self.failed(" ".join([*errors, self._view.say("There is no model to reason with.")]))
        prompt = self._prompts.text(
            "reason",
            profile=self._profile.prompt,
            results=shown(self._results),
            step=self._step.description,
        ).strip()
        try:
            text = (await self._model.ask(prompt, "reason")).strip()
        except RunStop as stop:
            if stop.reason != "model":
                raise
            return self.failed(str(stop))
        if not text:
            return self.failed(self._view.say("The model answered nothing."))
        return self._result(True, text, None, "reasoning", None, None)

    def failed(self, error: str, stopped: str | None = None) -> StepResult:
        """The result of a step that could not be carried out."""
        result = self._result(False, "", error, "reasoning" if stopped is None else "none", None, None)
        result["stopped"] = stopped
        return result

    def _result(
        self, success: bool, text: str, error: str | None, method: str, tool: str | None, arguments: Any
    ) -> StepResult:
        return StepResult(
            id=self._step.id,
            description=self._step.description,
            success=success,
            result=text,
            error=error,
            method=method,
            tool=tool,
            arguments=arguments,
            attempts=self._tried,
            stopped=None,
        )
