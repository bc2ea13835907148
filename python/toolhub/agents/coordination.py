"""From a question to an answer: plan, carry out, verify."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from ..kit import Message, check_whole, unmissed
from ..options import Model
from ..permissions import Approve
from .events import AgentAnswer, PlanMade, StepFinished, StepStarted, Verified
from .execution import ExecutionAgent
from .model import AgentModel
from .planning import PlanningAgent
from .plans import Plan, Step, StepResult, reasoned_away, result_of
from .profile import AgentProfile, AgentPrompts
from .run_log import AgentRun, AnsweringAgent, Waiting, waiting_call
from .verification import verified_in_time
from .view import AgentView, RunStop

if TYPE_CHECKING:
    from ..hub import ToolHub


Results = dict[int | str, StepResult]

_UNCERTAIN = "Not sent, because step {} before it may change something and did not succeed."
_CALLED = ("tool", "capability")
"""The methods of steps whose result a tool has given."""


class CoordinationAgent(AnsweringAgent):
    """Plans how to answer a question, carries the plan out and verifies the result.

    The answer is the last successful result that is not empty; without one, the errors. `planner`, `executor` and `verifier`
    replace a part by one of your own with the same method (`decompose_task`, `execute_step`, `verify_result`). One agent
    answers one question at a time. `run` names the run that its calls are a part of: an agent that is killed and started again
    with the same plan does nothing twice, see `hub.resume`.

    >>> import asyncio
    >>> from toolhub import ToolHub
    >>> hub = ToolHub()
    >>> @hub.tool
    ... def calculate(expression: str) -> int:
    ...     return eval(expression, {})
    >>> def model(prompt: str) -> str:
    ...     return '[{"id": 1, "description": "Calculate 17 * 3", "tool_type": "calculate"}]'
    >>> answer = asyncio.run(CoordinationAgent(hub, model).answer("What is 17 times 3?"))
    >>> answer.text, answer.success, answer.verification["verified"]
    ('51', True, True)
    """

    _kind = "CoordinationAgent"

    def __init__(
        self,
        hub: "ToolHub",
        llm: Model | None = None,
        *,
        profile: "AgentProfile | Mapping[str, Any] | str | PathLike[str] | None" = None,
        approve: Approve | None = None,
        view: AgentView | None = None,
        run: str | None = None,
        prompts: AgentPrompts | None = None,
        planner: Any = None,
        executor: Any = None,
        verifier: Any = None,
        max_parallel: int = 5,
    ) -> None:
        super().__init__(hub, profile, approve, view, run, prompts, verifier)
        self._llm = llm
        self._model = AgentModel(self.view, llm)
        parts: dict[str, Any] = {"profile": self.profile, "view": self.view, "model": self._model}
        self._planner = planner or PlanningAgent(hub, prompts=self._prompts, **parts)
        self._executor = executor or ExecutionAgent(hub, prompts=self._prompts, **parts)
        self._max_parallel = check_whole("max_parallel", max_parallel, 1)

    def _inside(self, llm: Model | None, **parts: Any) -> "CoordinationAgent":
        model = self._llm if llm is None else llm
        return CoordinationAgent(self.view.hub, model, max_parallel=self._max_parallel, **parts)

    async def _work(self, run: AgentRun, state: Mapping[str, Any] | None) -> AgentAnswer:
        try:
            plan = await self._plan(run, state)
            results: Results = {one["id"]: StepResult(one) for one in (state or {}).get("results", [])}
            await carry_out(
                plan,
                self._executor.execute_step,
                max_parallel=self._max_parallel,
                may_act=getattr(self._executor, "may_act", None),
                results=results,
                started=lambda step: run.emit(
                    StepStarted(id=step.id, description=step.description, tool=step.tool_type)
                ),
                finished=lambda step, result: _report(run, step, result),
                goes_on=run.may_go_on,
            )
            waiting = _take_waiting(plan, results)
            stopped = any(result.stopped for result in results.values())
            if (waiting or run.pausing) and len(results) < len(plan) and not stopped:
                kept = [dict(result) for result in results.values()]
                steps = [dict(step) for step in plan]
                return run.paused({"kind": self._kind, "plan": steps, "results": kept}, waiting)
            return await self._conclude(run, plan, results)
        except RunStop as stop:
            return run.end(str(stop), False, stop.reason, [str(stop)], str(stop), steps=[], verification=None)
        finally:
            self._finish(run)

    async def _plan(self, run: AgentRun, state: Mapping[str, Any] | None) -> Plan:
        if state is not None and "plan" in state:
            return Plan(Step.of(one) for one in state["plan"])
        made: Any = await self._planner.decompose_task(run.question)
        plan = Plan((Step.of(one) for one in made), getattr(made, "problems", ()))
        run.emit(PlanMade(steps=[dict(step) for step in plan], problems=plan.problems))
        return plan

    async def _conclude(self, run: AgentRun, plan: Plan, results: Results) -> AgentAnswer:
        ordered = [results[step.id] for step in plan if step.id in results]
        failed = [(one.id, reasoned_away(one) if one.success else one.error) for one in ordered]
        errors = [
            self.view.say(Message("Step {}: {}", id, error)) for id, error in failed if error is not None
        ]
        steps = [dict(one) for one in ordered]
        stop = next((one for one in ordered if one.stopped), None)
        message = "" if stop is None else str(stop.error)
        good = [one for one in ordered if one.success and one.result.strip()]
        if not good:
            reason = "failed" if stop is None else str(stop.stopped)
            text = "\n".join(errors) or self.view.say("No step gave a result.")
            return run.end(text, False, reason, errors, message, steps=steps, verification=None)
        last = good[-1]
        # A tool's own answer is what happened; what the model says is looked up, also in the record that nothing was called.
        calls = [
            {**call, "title": self.view.title(str(call["tool"]))}
            for one in ordered
            for call in _as_records(one)
        ]
        evidence = None if last.method in _CALLED else calls
        earlier = [one for one in good if one is not last]
        # What could have changed something and failed is not made up for by another result.
        undone = [
            Message("The call of {} did not succeed: {}", repr(step.tool_type), result.error)
            for step in plan
            if (result := results.get(step.id)) is not None
            if not result.success and self.view.step_safety(step) != "harmless"
        ]
        checked = await verified_in_time(
            self.view,
            self._verifier.verify_result(last, earlier, evidence=evidence, question=run.question),
            undone,
        )
        run.emit(Verified(**checked))
        reason = ("failed" if undone else "answered") if stop is None else str(stop.stopped)
        success = reason == "answered"
        return run.end(last.result, success, reason, errors, message, steps=steps, verification=dict(checked))


def _report(run: AgentRun, step: Step, result: StepResult) -> None:
    # A step that waits has not ended: it starts again when the run goes on.
    if result.stopped != "paused":
        run.emit(StepFinished(id=step.id, success=result.success, step=dict(result)))


def _take_waiting(plan: Plan, results: Results) -> list[Waiting]:
    """The calls of steps that wait for a decision. Their steps have no result yet, and keep the arguments that are shown."""
    waiting: list[Waiting] = []
    for step in plan:
        result = results.get(step.id)
        if result is not None and result.stopped == "paused" and result.full is not None:
            waiting.append(waiting_call(str(result.tool), result.full))
            step["arguments"] = result.arguments
            del results[step.id]
    return waiting


def _as_records(result: StepResult) -> list[dict[str, Any]]:
    """The calls of a step: the one that gave its result, or those that failed before the model reasoned."""
    if result.method not in _CALLED:
        attempts = cast("list[dict[str, Any]]", result.get("attempts") or [])
        return [{**attempt, "success": False} for attempt in attempts]
    value = result.result if result.full is None else result.full.result
    return [
        {
            "tool": result.tool,
            "arguments": result.arguments,
            "result": value,
            "success": result.success,
            "error": result.error,
        }
    ]


async def carry_out(
    plan: Iterable[Step],
    execute: Callable[[Step, list[StepResult]], Awaitable[StepResult]],
    *,
    max_parallel: int,
    may_act: Callable[[Step], bool] | None = None,
    results: Results | None = None,
    started: Callable[[Step], Any] | None = None,
    finished: Callable[[Step, StepResult], Any] | None = None,
    goes_on: Callable[[], Awaitable[bool]] | None = None,
) -> Results:
    """Carry out all steps of a plan that have no result yet, independent ones concurrently; the results by the ids.

    `execute` gets a step and the results of the steps that it depends on, direct or not. A step whose dependency failed is
    not started. After `goes_on` says no, or after a step was stopped by a limit of the run, no other step starts; those
    that run end first. Steps of which `may_act` is true run one at a time, in the order of the plan; after one of them that
    failed, the others are not started.
    """
    steps = list(plan)
    done: Results = {} if results is None else results
    running: dict[asyncio.Future[StepResult], Step] = {}
    acting = [] if may_act is None else list(filter(may_act, _in_order(steps)))

    def report(step: Step, result: StepResult) -> None:
        done[step.id] = result
        if finished is not None:
            finished(step, result)

    def start_ready() -> None:
        if any(result.stopped for result in done.values()):
            return
        busy = {step.id for step in running.values()}
        for step in steps:
            if step.id in done or step.id in busy or any(one not in done for one in step.dependencies):
                continue
            before = [one.id for one in acting[: acting.index(step)]] if step in acting else []
            if failed := [one for one in step.dependencies if not done[one].success]:
                report(step, _not_started(step, failed, "Not started, because step {} failed."))
            elif failed := [one for one in before if one in done and not done[one].success]:
                report(step, _not_started(step, failed[:1], _UNCERTAIN))
            elif len(running) < max_parallel and all(one in done for one in before):
                if started is not None:
                    started(step)
                needed = _needed(step, steps, done)
                running[unmissed(asyncio.ensure_future(execute(step, needed)))] = step

    try:
        while True:
            before = -1
            while before != len(done) and (goes_on is None or await goes_on()):
                # A step that fails because another did may be what a third one waits for.
                before = len(done)
                start_ready()
            if not running:
                return done
            ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(ended, key=lambda task: steps.index(running[task])):
                report(running.pop(task), task.result())
    finally:
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)


def _needed(step: Step, steps: list[Step], done: Mapping[int | str, StepResult]) -> list[StepResult]:
    """The results that a step builds on, in the order of the plan."""
    by_id = {one.id: one for one in steps}
    wanted: set[int | str] = set()
    todo = list(step.dependencies)
    while todo:
        one = todo.pop()
        if one not in wanted:
            wanted.add(one)
            todo += by_id[one].dependencies
    return [done[one.id] for one in steps if one.id in wanted]


def _in_order(steps: list[Step]) -> list[Step]:
    """The steps in the order of the plan, except that each comes after those that it depends on."""
    placed: list[Step] = []
    left = list(steps)
    while left:
        ids = {step.id for step in placed}
        ready = next((step for step in left if ids.issuperset(step.dependencies)), left[0])
        left.remove(ready)
        placed.append(ready)
    return placed


def _not_started(step: Step, failed: list[int | str], why: str) -> StepResult:
    return result_of(step, error=Message(why, ", ".join(map(str, failed))), method="none")
