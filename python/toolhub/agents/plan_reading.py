"""Plans as models write them: read, and repaired so that they can be carried out; each repair is reported.

Every id is there once, there are no cycles, and steps name only tools that exist.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, cast

from .. import truncate
from ..kit import JsonText, Message, json_in
from ..parsing import parse
from .plans import NONE, Plan, Step

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


_DEEPEST = 8
"""The number of levels below which a plan is not searched for."""

_TOLD = 20
"""The number of entries other than steps that a plan reports one by one."""

_KEYS = {
    "steps": ("steps", "plan", "tasks", "subtasks", "sub_tasks", "步骤", "计划", "任务", "子任务"),
    "id": ("id", "step", "step_id", "number", "编号", "序号", "步骤", "步骤id"),
    "description": (
        *("description", "task", "action", "goal", "instruction", "name"),
        *("描述", "任务", "说明", "内容"),
    ),
    "tool": ("tool_type", "tool", "tool_name", "tooltype", "工具", "工具类型", "工具名称"),
    "dependencies": (
        *("dependencies", "depends_on", "depends", "requires", "deps"),
        *("依赖", "依赖项", "前置步骤"),
    ),
    "complexity": ("complexity", "difficulty", "复杂度", "难度"),
    "arguments": ("arguments", "args", "parameters", "input", "tool_input", "参数", "输入"),
}


_KNOWN = {key for keys in _KEYS.values() for key in keys}


def read_plan(text: str, question: str, find_tool: Callable[[str, str], FoundTool], most: int) -> Plan:
    """The plan in a model's answer; one step if there is none.

    `find_tool` gets the tool and the description of a step and returns the tool to use.
    """
    problems: list[str] = []
    rows = _rows(text, problems) or _called(text, problems)
    if not rows:
        problems.append("The model's answer contains no plan, so the question becomes one step.")
        return Plan([Step(1, question)], problems)
    if len(rows) > most:
        problems.append(Message("The plan has {} steps; only the first {} are kept.", len(rows), most))
        rows = rows[:most]
    steps = [_step(row, at, lambda name: find_tool(name, "").name == name) for at, row in enumerate(rows, 1)]
    for row, step in zip(rows, steps, strict=True):
        tools = _get(_folded(cast("dict[str, Any]", row)), "tool") if isinstance(row, dict) else None
        if isinstance(tools, list) and len(cast("list[Any]", tools)) > 1:
            told = "Step {} names several tools; only the first is used: {}."
            problems.append(Message(told, repr(step.id), step.tool_type))
    repair(steps, find_tool, problems)
    return Plan(steps, problems)


def _rows(text: str, problems: list[str]) -> list[Any]:
    """The steps as they were written: the entries of the plan in the answer. What the model only thought of is left out."""
    read = [one for one in json_in(text) if not _is_call(one.value)]
    found = [(one, entries) for one in read if (entries := _list_in(one.value))]
    if not found:
        return []
    # A model may show a draft before its plan, never after it. A list that only might be a plan does not replace one that is.
    plans = [one for one in found if _is_plan(*one)]
    chosen, entries = plans[-1] if plans else found[0]
    if any(others != entries for _, others in plans):
        problems.append(Message("The model's answer contains {} plans; the last one is used.", len(plans)))
    rows = _usable(entries, problems)
    if rows and chosen.repairs:
        problems.append(Message("The plan's JSON was repaired: {}.", ", ".join(chosen.repairs)))
    if rows and chosen.cut is not None:
        problems.append("The plan is cut off; its complete steps are kept.")
    return rows


def _is_plan(read: JsonText, entries: list[Any]) -> bool:
    """Whether a list of steps is meant as a plan: it is called one, or its steps name tools."""
    fields = _folded(cast("dict[str, Any]", read.value)) if isinstance(read.value, dict) else {}
    rows = [_folded(cast("dict[str, Any]", entry)) for entry in entries if isinstance(entry, dict)]
    return _get(fields, "steps") is not None or any(_get(row, "tool") is not None for row in rows)


def _list_in(value: Any, depth: int = 0) -> list[Any]:
    """The first list that has steps, with all its entries."""
    if depth > _DEEPEST:
        return []
    if isinstance(value, list):
        entries = cast("list[Any]", value)
        if any(_is_step(entry) for entry in entries):
            return entries
        return _first_in(entries, depth)
    if not isinstance(value, dict):
        return []
    fields = cast("dict[str, Any]", value)
    named = [field for key, field in fields.items() if key.lower() in _KEYS["steps"]]
    if rows := _first_in(named, depth) or _numbered(fields):
        return rows
    if depth == 0 and _describes(fields) and _get(_folded(fields), "tool") is not None:
        return [fields]
    return _first_in(fields.values(), depth)


def _first_in(fields: Iterable[Any], depth: int) -> list[Any]:
    lists = (_list_in(field, depth + 1) for field in fields if isinstance(field, (list, dict)))
    return next(filter(None, lists), cast("list[Any]", []))


def _numbered(fields: Mapping[str, Any]) -> list[Any]:
    """The steps of an object that has them by their ids, `{"1": {…}, "2": {…}}`."""
    steps = [(key, cast("dict[str, Any]", one)) for key, one in fields.items() if isinstance(one, dict)]
    named = any(_get(_folded(step), "tool") is not None for _, step in steps)
    if len(steps) < len(fields) or not named:
        return []
    return [step if _get(_folded(step), "id") is not None else {"id": key, **step} for key, step in steps]


def _is_step(entry: Any) -> bool:
    if isinstance(entry, str):
        return len(entry.strip()) > 5
    return isinstance(entry, dict) and _describes(entry)


def _usable(entries: list[Any], problems: list[str]) -> list[Any]:
    """The entries that can be steps. Each other one is a problem, with its number."""
    has_objects = any(isinstance(entry, dict) and _describes(entry) for entry in entries)
    steps: list[Any] = []
    left_out = 0
    for number, entry in enumerate(entries, 1):
        # Among objects a short text is a step too; a list of short texts is none.
        is_text = has_objects and isinstance(entry, str) and bool(entry.strip())
        if is_text or _is_step(entry):
            steps.append(entry)
        else:
            left_out += 1
            if left_out <= _TOLD:
                shown = truncate(json.dumps(entry, ensure_ascii=False, default=str), 60).text
                problems.append(
                    Message("Entry {} of the plan is not a step and was left out: {}", number, shown)
                )
    if left_out > _TOLD:
        problems.append(
            Message("{} more entries of the plan are not steps and were left out.", left_out - _TOLD)
        )
    return steps


def _is_call(value: Any) -> bool:
    """Whether a value is a tool call and not a step; lists in its arguments are not a plan."""
    fields = _folded(cast("dict[str, Any]", value)) if isinstance(value, dict) else {}
    named = _get(fields, "tool") is not None or "name" in fields
    planned = "description" in fields or _get(fields, "dependencies") is not None
    return named and not planned and _get(fields, "arguments") is not None


def _describes(row: Any) -> bool:
    """Whether an object can be a step: it says something, or names a tool."""
    fields = _folded(row)
    return any(_get(fields, one) is not None for one in ("description", "tool")) or _longest(row) != ""


def _called(text: str, problems: list[str]) -> list[Any]:
    """The tool calls in an answer, as steps: some models call where they should plan."""
    calls = [call for call in parse(text).calls if call.error is None]
    if calls:
        problems.append("The model called tools instead of planning; each call is a step.")
    return [{"description": "", "tool_type": call.name, "arguments": call.arguments} for call in calls]


def _folded(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its keys as they are compared, without what is null."""
    return {
        str(key).strip().lower().replace(" ", "_"): value for key, value in row.items() if value is not None
    }


def _get(folded: Mapping[str, Any], field: str) -> Any:
    return next((folded[key] for key in _KEYS[field] if key in folded), None)


def _longest(row: Mapping[str, Any]) -> str:
    return max((value for value in row.values() if isinstance(value, str)), key=len, default="")


def _step(row: Any, at: int, is_tool: Callable[[str], bool]) -> Step:
    if isinstance(row, str):
        return Step(at, row)
    row = _folded(row)
    description, tool = _get(row, "description"), _get(row, "tool")
    if tool is None:
        # Keys in another language: a value that is the name of a tool can only be that.
        tool = next((value for value in row.values() if isinstance(value, str) and is_tool(value)), None)
    if not isinstance(description, str) or not description.strip():
        description = _longest({key: value for key, value in row.items() if value != tool})
    if isinstance(tool, dict):
        tool = cast("dict[str, Any]", tool).get("name")
    if isinstance(tool, list):
        tool = next(iter(cast("list[Any]", tool)), None)
    id = _get(row, "id")
    arguments = _get(row, "arguments")
    needed = _get(row, "dependencies")
    if needed is None:
        # Keys in another language: a list of numbers or words can only be the dependencies.
        needed = next(
            (value for key, value in row.items() if key not in _KNOWN and _are_scalars(value)), None
        )
    return Step(
        id if isinstance(id, (int, str)) and not isinstance(id, bool) and id != "" else at,
        description.strip() or f"Call {tool}",
        tool if isinstance(tool, str) else NONE,
        _scalars(needed),
        _get(row, "complexity") or "medium",
        cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else None,
    )


def _are_scalars(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, (int, str)) for one in cast("list[Any]", value))


def _scalars(needed: Any) -> list[int | str]:
    if isinstance(needed, str):
        needed = [one.strip() for one in re.split(r"[,;，；、]|\band\b|和", needed) if one.strip()]
    if isinstance(needed, int):
        needed = [needed]
    if not isinstance(needed, list):
        return []
    return [one for one in cast("list[Any]", needed) if isinstance(one, (int, str)) and one != ""]
