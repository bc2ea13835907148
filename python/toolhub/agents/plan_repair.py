"""Plans that can be carried out: every id once, only tools that exist, no cycles; each repair is reported."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..kit import Message
from .plans import NONE, Step

_NO_TOOL = [
    "",
    "none",
    "null",
    "no",
    "n/a",
    "no tool",
    "reasoning",
    "llm",
    "无",
    "没有",
    "不需要",
    "无工具",
    "推理",
]


class FoundTool(NamedTuple):
    """The tool for a step, or None if the model has to answer without it.

    `is_forbidden`: the plan named a tool that exists and that the profile does not allow. `fails`: it is this one, because
    nothing may take its place; its call is refused.
    """

    name: str | None
    is_forbidden: bool = False
    fails: bool = False


def repair(steps: list[Step], find_tool: Callable[[str, str], FoundTool], problems: list[str]) -> None:
    """Repair the steps in place."""
    _number(steps, problems)
    for step in steps:
        _name_tool(step, find_tool, problems)
    _connect(steps, problems)


def _key(id: int | str) -> str:
    """An id as it is compared: `1`, `"1"`, `"step 1"`, `"Step_1"` and `"步骤1"` are the same.

    >>> {_key(id) for id in (1, "1", "step 1", "Step_1", "步骤1", "#1")}
    {'1'}
    """
    return re.sub(r"step|步骤|第|步|[\W_]", "", str(id).lower()) or str(id)


def _number(steps: list[Step], problems: list[str]) -> None:
    taken: set[str] = set()
    for at, step in enumerate(steps, 1):
        if _key(step.id) in taken:
            fresh = next(n for n in range(at, at + len(steps) + 1) if str(n) not in taken)
            problems.append(Message("Two steps have the id {}; the second is {} now.", repr(step.id), fresh))
            step["id"] = fresh
        taken.add(_key(step.id))


def _name_tool(step: Step, find_tool: Callable[[str, str], FoundTool], problems: list[str]) -> None:
    given = step.tool_type.strip()
    if given.lower() in _NO_TOOL:
        step["tool_type"] = NONE
        return
    found = find_tool(given, step.description)
    # Without the tool the step keeps its name, so that its result tells that the model answered in its place.
    step["tool_type"] = found.name or given
    if found.name == given and not found.is_forbidden and not found.fails:
        return
    wrong = Message("the profile does not allow" if found.is_forbidden else "does not exist")
    instead = Message("{} is used", repr(found.name))
    if found.fails or found.name is None:
        instead = Message("the step fails" if found.fails else "it is done by reasoning")
    problems.append(Message("Step {} names a tool that {}: {}; {}.", step.id, wrong, repr(given), instead))


def _connect(steps: list[Step], problems: list[str]) -> None:
    """Make the dependencies point to steps that exist, without cycles."""
    ids: dict[str, int | str] = {_key(step.id): step.id for step in steps}
    needs: dict[str, set[str]] = {key: set() for key in ids}
    for step in steps:
        kept: list[int | str] = []
        for given in step.dependencies:
            own, other = _key(step.id), _key(given)
            if other not in ids:
                if str(given).strip().lower() not in _NO_TOOL:
                    told = "Step {} depends on {}, which does not exist; that is dropped."
                    problems.append(Message(told, step.id, repr(given)))
            elif _reaches(needs, other, own):
                told = "Step {} and step {} wait for each other; step {} no longer waits."
                problems.append(Message(told, step.id, ids[other], step.id))
            elif ids[other] not in kept:
                needs[own].add(other)
                kept.append(ids[other])
        step["dependencies"] = kept


def _reaches(needs: Mapping[str, set[str]], start: str, goal: str) -> bool:
    todo, seen = [start], {start}
    while todo:
        at = todo.pop()
        if at == goal:
            return True
        fresh = needs[at] - seen
        seen |= fresh
        todo += fresh
    return False
