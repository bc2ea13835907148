"""What saved data looks like. What is not of that shape is told in one sentence, before anything of it is used."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, cast

from .. import parse

_TEXT, _FLAG, _MAPPING, _LIST = "text", "true or false", "a mapping", "a list"
_COUNT, _ID, _SECONDS = "a whole number, at least 0", "a number or text", "seconds, at least 0"
_PAIR, _NOTHING, _MESSAGE = "a pair of texts", "None", "a text or a message"
_FORMAT = "a format of tool calls"


def _is_whole(one: Any) -> bool:
    return isinstance(one, int) and not isinstance(one, bool)


def _is_pair(one: Any) -> bool:
    parts = cast("list[Any]", one) if isinstance(one, list) else []
    return len(parts) == 2 and isinstance(parts[0], str) and isinstance(parts[1], (str, type(None)))


def _is_format(one: Any) -> bool:
    try:
        parse("", format=one)
    except (TypeError, ValueError):
        return False
    return True


_KINDS: dict[str, Callable[[Any], bool]] = {
    _TEXT: lambda one: isinstance(one, str),
    _FLAG: lambda one: isinstance(one, bool),
    _MAPPING: lambda one: (
        isinstance(one, Mapping) and all(isinstance(key, str) for key in cast("Mapping[Any, Any]", one))
    ),
    _LIST: lambda one: isinstance(one, (list, tuple)),
    _PAIR: _is_pair,
    _NOTHING: lambda one: one is None,
    _MESSAGE: lambda one: isinstance(one, (str, dict)) and one not in ("", {}),
    _FORMAT: _is_format,
    _COUNT: lambda one: _is_whole(one) and 0 <= one < 2**63,
    _ID: lambda one: _is_whole(one) or isinstance(one, str),
    _SECONDS: lambda one: (_is_whole(one) or isinstance(one, float)) and 0 <= one <= sys.float_info.max,
}


class Maybe:
    """A field that may be missing or None."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape


class Each:
    """A mapping of texts to values of one shape."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape


_SPENT = dict.fromkeys(("rounds", "calls", "tokens"), Maybe(_COUNT)) | {"uses": Maybe(Each(_COUNT))}
_RUN = {
    "question": _TEXT,
    "run": _TEXT,
    "spent": {**_SPENT, "above": Maybe([_SPENT])},
    "seconds_left": Maybe(_SECONDS),
    "waiting": Maybe([{"approval": Maybe(_TEXT)}]),
}
_HELD = {"message": _MESSAGE, "done": [{"place": _COUNT, "key": _TEXT, "result": _MAPPING}]}
_TALK = dict.fromkeys(("rounds", "empty", "refused", "repeats"), Maybe(_COUNT)) | {
    "last": Maybe(_TEXT),
    "text": Maybe(_TEXT),
    "made": Maybe([_PAIR]),
    "evidence": Maybe([_MAPPING]),
    "held": Maybe(_HELD),
}
STEP = {
    "id": Maybe(_ID),
    "description": _TEXT,
    "tool_type": Maybe(_TEXT),
    "dependencies": Maybe([_ID]),
    "arguments": Maybe(_MAPPING),
}
_STEP = {**STEP, "id": _ID, "tool_type": _TEXT, "dependencies": [_ID]}
STEP_RESULT = {"id": _ID, "success": _FLAG, "result": _TEXT}
_ATTEMPT = {"method": _TEXT, "tool": _TEXT, "arguments": Maybe(_MAPPING), "error": _TEXT}
_RESULT = dict.fromkeys(("description", "result", "method"), _TEXT) | {
    "id": _ID,
    "success": _FLAG,
    "error": Maybe(_TEXT),
    "tool": Maybe(_TEXT),
    "shown": Maybe(_TEXT),
    "attempts": [_ATTEMPT],
    "stopped": _NOTHING,
}
STATES = {
    "ChatLoop": {**_RUN, "messages": [_MAPPING], "format": Maybe(_FORMAT), "talk": _TALK},
    "CoordinationAgent": {**_RUN, "plan": [_STEP], "results": [_RESULT]},
}


def wrong(shape: Any, given: Any, place: str = "it") -> str | None:
    """What is wrong with data; None if it has the shape.

    >>> wrong({"steps": [{"id": _COUNT}]}, {"steps": [{"id": "one"}]})
    "steps[0].id must be a whole number, at least 0, got 'one'"
    """
    if isinstance(shape, Maybe):
        return None if given is None else wrong(shape.shape, given, place)
    kind = shape if isinstance(shape, str) else _LIST if isinstance(shape, list) else _MAPPING
    if not _KINDS[kind](given):
        said = (
            repr(given)
            if isinstance(given, (str, int, float)) and len(repr(given)) < 60
            else type(given).__name__
        )
        return f"{place} must be {kind}, got {said}"
    inner: list[tuple[Any, Any, str]] = []
    if isinstance(shape, list):
        inner = [(cast("list[Any]", shape)[0], one, f"{place}[{at}]") for at, one in enumerate(given)]
    elif isinstance(shape, Each):
        inner = [(shape.shape, one, f"{place}[{name!r}]") for name, one in given.items()]
    elif isinstance(shape, dict):
        fields = cast("dict[str, Any]", shape)
        if missing := [
            name for name, one in fields.items() if name not in given and not isinstance(one, Maybe)
        ]:
            return f"{place} has no {missing[0]!r}"
        inner = [
            (one, given.get(name), f"{place}.{name}".removeprefix("it.")) for name, one in fields.items()
        ]
    return next((problem for part in inner if (problem := wrong(*part)) is not None), None)


def check_state(state: Any, kind: str) -> dict[str, Any]:
    """The state of a paused run of this kind of agent; `ValueError` with a sentence for anything else."""
    refusal = f"this is not the state of a paused run of {kind}"
    given = cast("dict[str, Any]", state) if isinstance(state, dict) else {}
    if given.get("kind") != kind or given.get("version") != 1:
        raise ValueError(refusal)
    try:
        # A copy: the run goes on from what was saved, and does not change it.
        given = json.loads(json.dumps(given))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{refusal}: it is not JSON ({error})") from None
    problem = wrong(STATES[kind], given)
    if problem is None and kind == "CoordinationAgent":
        problem = _wrong_plan(given["plan"], given["results"])
    if problem is not None:
        raise ValueError(f"{refusal}: {problem}")
    return given


def _wrong_plan(plan: list[Any], results: list[Any]) -> str | None:
    """What does not fit together in a plan and its results."""
    ids = [step["id"] for step in plan]
    if len({*ids}) < len(ids):
        return "two steps of the plan have the same id"
    needed = [one for step in plan for one in step["dependencies"]]
    done = {result["id"] for result in results}
    if unknown := [one for one in (*needed, *done) if one not in ids]:
        return f"the plan has no step {unknown[0]!r}"
    early = [step for step in plan if step["id"] in done and not done.issuperset(step["dependencies"])]
    return f"step {early[0]['id']!r} has a result, but a step that it depends on has none" if early else None
