"""The order of the steps of a plan: each as soon as what it needs is there, several at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from ..kit import Message, unmissed
from .plans import Step, StepResult, result_of

Results = dict[int | str, StepResult]

_UNCERTAIN = "Not sent, because step {} before it may change something and did not succeed."


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

    def acting_before(step: Step) -> list[Step]:
        return acting[: acting.index(step)] if step in acting else []

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
            before = [one.id for one in acting_before(step)]
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
