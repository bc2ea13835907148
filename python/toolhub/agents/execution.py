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
from .inputs import NoExpressionError, arguments_for, is_object_alone, objects_in, unwrapped, with_results
from .model import AgentModel
from .plans import NONE, Step, StepResult, reasoned_away, result_of, shown
from .profile import AgentProfile, AgentPrompts
from .shapes import STEP_RESULT, wrong
from .view import AgentView, RunStop, ended_unsent

if TYPE_CHECKING:
    from ..hub import ToolHub

_MOST_BY_KIND = 3
"""The number of tools of the same kind that are tried after the tool of a step has failed."""

_MISUNDERSTOOD = (ErrorKind.INVALID_ARGUMENTS, ErrorKind.TOOL_ERROR)
"""The kinds of failures that other arguments may mend."""


class ExecutionAgent:
    """Carries out steps: by their tool, otherwise by a harmless tool of the same kind, otherwise by reasoning.

    The arguments are those of the plan, or what the words of the step tell for sure to a harmless tool; otherwise the model
    writes them, and without a model the step fails. `max_parallel` steps run at a time; those that may act run one after
    another. A step whose tool is not known to be harmless is never reasoned away: if its call fails, or is not allowed, the
    step has failed. The `method` of a result that the model gave in place of a harmless tool is `reasoned`.

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
        await self._view.ready(*([] if step.tool_type == NONE else [step.tool_type]))
        attempt = _Attempt(self._view, self._model, self._prompts, self._profile, step, known)
        try:
            return await attempt.carry_out()
        except RunStop as stop:
            return attempt.failed(str(stop), stop.reason)

    execute_step_sync = kit.blocking(execute_step)
    """`execute_step`, blocking."""

    def may_act(self, step: Step) -> bool:
        """Whether a step may change something; such steps run one at a time."""
        return self._view.step_safety(step) != "harmless"


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
        self._invented = [result.id for result in results if reasoned_away(result) is not None]
        self._texts = {str(result.id).lower(): result.result for result in self._results}
        self._tried: list[dict[str, Any]] = []

    async def carry_out(self) -> StepResult:
        tool = self._step.tool_type
        if tool == NONE:
            return await self._reason()
        is_harmless = self._view.step_safety(self._step) == "harmless"
        if self._invented and not is_harmless:
            ids = ", ".join(map(str, self._invented))
            why = kit.Message(
                "Not sent, because it builds on step {}, which the model answered in place of a tool.", ids
            )
            return self._not_called(tool, "tool", why)
        try:
            result = await self._by_name(tool, "tool", self._given())
        except NoExpressionError as error:
            result = self._not_called(tool, "tool", str(error))
        if result.success:
            return result
        if result.full is not None and ended_unsent(result.full, ErrorKind.PAUSED):
            # Somebody has to decide first; nothing else may take its place.
            result["stopped"] = "paused"
            return result
        if not is_harmless:
            return result
        return await self._by_kind(tool) or await self._reason()

    def _given(self) -> dict[str, Any] | None:
        """The arguments that the plan gave, with the results that they refer to; None if it gave none."""
        if self._step.arguments is None:
            return None
        return {
            name: with_results(value, self._texts) if isinstance(value, str) else value
            for name, value in self._step.arguments.items()
        }

    async def _by_kind(self, failed: str) -> StepResult | None:
        for name in self._view.stand_ins(failed)[:_MOST_BY_KIND]:
            try:
                result = await self._by_name(name, "capability", None)
            except NoExpressionError:
                continue
            if result.success:
                return result
        return None

    async def _by_name(self, tool: str, method: str, given: dict[str, Any] | None) -> StepResult:
        """Call a tool with the arguments of the plan, otherwise with what the words tell, otherwise with those of the model."""
        known = self._view.hub.get(tool)
        if known is None or self._view.forbids(tool):
            # Nobody is asked for the arguments of a call that is refused.
            return await self._call(tool, method, given or {})
        result = None
        if given is not None:
            result = await self._call(tool, method, given)
            if not _is_unfit(result, known):
                return result
        told = self._told(known)
        if told is not None:
            result = await self._call(tool, method, told)
            # Words that the tool did not understand can be said in another way, because nothing has acted.
            if not told or cast("ToolResult", result.full).kind not in _MISUNDERSTOOD:
                return result
        if not self._model:
            unknown = "The step does not state the arguments of {}, and no model is set to write them."
            return result or self._not_called(tool, method, kit.Message(unknown, repr(tool)))
        for _ in range(2):
            written = await self._ask_for_arguments(tool, known, result)
            if written is None:
                result = result or self._not_called(
                    tool, method, kit.Message("The model wrote no arguments for {}.", repr(tool))
                )
                continue
            if result is not None and written == result.arguments:
                return result
            result = await self._call(tool, method, written)
            if not _is_unfit(result, known):
                return result
        return cast("StepResult", result)

    def _told(self, known: ToolInfo) -> dict[str, Any] | None:
        """The arguments that the words of the step tell for sure."""
        if known.safety != "harmless":
            return None
        kind, said = kit.kind_of(known), with_results(self._step.description, self._texts)
        if not known.parameters.get("properties"):
            # A place or a day that the tool cannot be told is not left out in silence.
            return None if kit.names_more(kit.whole(said), f"{known.name} {known.description}") else {}
        is_alone = not (self._step.dependencies or self._texts)
        # "Translate the result" does not tell the result; an expression with the results in their place does.
        if not is_alone and (kind != "calculation" or said == self._step.description):
            return None
        return arguments_for(kind, said, known.parameters, takes_described=not self._model)

    async def _call(self, tool: str, method: str, arguments: dict[str, Any]) -> StepResult:
        full = await self._view.call(tool, arguments)
        text = kit.visible_text(full.text) if full.success else ""
        about = {"method": method, "tool": tool, "arguments": arguments}
        result = self._result(success=full.success, result=text, error=full.error, **about)
        result.full = full
        if full.success:
            result["shown"] = self._view.hub.format(full)
        else:
            self._tried.append({**about, "error": full.error})
        return result

    def _not_called(self, tool: str, method: str, reason: str) -> StepResult:
        error = self._view.say(reason)
        self._tried.append({"method": method, "tool": tool, "error": error})
        return self._result(error=error, method=method, tool=tool)

    async def _ask_for_arguments(
        self, tool: str, known: ToolInfo, before: StepResult | None
    ) -> dict[str, Any] | None:
        """The arguments that the model writes, after others that failed; None if it fails or answers with something else."""
        schema = json.dumps(known.parameters, ensure_ascii=False)
        prompt = self._prompts.text(
            "arguments",
            tool=f"{tool}: {known.description}",
            schema=schema,
            results=shown(self._results),
            step=self._step.description,
        )
        if before is not None:
            failed = json.dumps({"arguments": before.arguments, "error": before.error}, ensure_ascii=False)
            prompt = f"{prompt}\n\n{self._prompts.text('failed_arguments', failed=failed)}"
        try:
            text = await self._model.ask(prompt, "arguments")
        except RunStop as stop:
            if stop.reason != "model":
                raise
            return None
        if known.safety != "harmless" and not is_object_alone(text):
            # What may act is not called with an example out of a refusal.
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
            "reason", profile=self._profile.prompt, results=shown(self._results), step=self._step.description
        ).strip()
        try:
            text = (await self._model.ask(prompt, "reason")).strip()
        except RunStop as stop:
            if stop.reason != "model":
                raise
            return self.failed(str(stop))
        if not text:
            return self.failed(self._view.say("The model answered nothing."))
        method = "reasoning" if self._step.tool_type == NONE else "reasoned"
        return self._result(success=True, result=text, method=method)

    def failed(self, error: str, stopped: str | None = None) -> StepResult:
        """The result of a step that could not be carried out."""
        method = "reasoning" if stopped is None else "none"
        return self._result(error=error, method=method, stopped=stopped)

    def _result(self, **fields: Any) -> StepResult:
        return result_of(self._step, attempts=self._tried, **fields)


def _is_unfit(result: StepResult, known: ToolInfo) -> bool:
    """Whether the arguments do not fit, and nothing has acted: the tool was not called, or only reads."""
    full = cast("ToolResult", result.full)
    if known.safety == "harmless":
        return full.kind is ErrorKind.INVALID_ARGUMENTS
    return ended_unsent(full, ErrorKind.INVALID_ARGUMENTS)
