"""Routed calls: what a request is, and the explanation of what would happen to it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ._core import Candidate

__all__ = ["Explanation"]


@dataclass(frozen=True)
class Explanation:
    """What a call would do, and why; nothing was called for it.

    `rule` says where the call goes: `auto`, `alias`, `server`, `source`, or `name` for a call by name; `unknown` when nobody
    knows its source, `unreadable` when it is no call at all. `candidates` are in order, `strategy` is how they are called
    (`none` when nobody is there), `refreshes` are the servers that would be asked for their tools first, and `text` says all
    of it.
    """

    rule: str
    candidates: list[Candidate]
    strategy: str
    text: str
    refreshes: list[str]

    def __str__(self) -> str:
        return self.text


# A call as a model asked for it: name, arguments, id, source, and why it must not be made. A plain tuple, because one is made
# for every routed call.
Request = tuple[str, Any, str | None, str | None, str | None]


def read_request(given: Any) -> Request:
    """Take a mapping, or an object with the attributes of a parsed call.

    >>> read_request({"tool_name": "add", "args": {"a": 1}, "source": "tools"})
    ('add', {'a': 1}, None, 'tools', None)
    """
    if type(given) is dict or isinstance(given, Mapping):
        get = cast("Mapping[str, Any]", given).get
        name = get("tool_name")
        if name is None:
            name = get("name")
        arguments = get("arguments")
        if arguments is None:
            arguments = get("parameters")
            if arguments is None:
                arguments = get("args")
        id, source, error = get("id"), get("source"), get("error")
    elif hasattr(given, "name") and hasattr(given, "arguments"):
        name, arguments = given.name, given.arguments
        id, source = getattr(given, "id", None), getattr(given, "source", None)
        error = getattr(given, "error", None)
    else:
        raise TypeError(
            "a request must be a mapping with tool_name and arguments, or a parsed call, "
            f"got {type(given).__name__}"
        )
    if id is not None and type(id) is not str:
        id = str(id)
    if error is None and type(name) is str and name and (source is None or type(source) is str):
        return name, arguments, id, source, None
    return _odd(name, arguments, id, source, error)


def _odd(name: Any, arguments: Any, id: str | None, source: Any, error: Any) -> Request:
    # Apart, so that the usual call pays for none of it. What a model got wrong is an answer for it, no exception.
    if error is not None:
        error = str(error)
    elif not isinstance(name, str) or not name:
        given = "nothing" if name is None or name == "" else type(name).__name__
        error = f"The call names no tool: expected 'tool_name' as text, got {given}."
    elif not isinstance(source, str | None):
        error = (
            "The source of a call must be text (a server's id, 'tools', 'skills' or 'mcps') or be left out, "
            f"got {type(source).__name__}."
        )
    name = str(name) if isinstance(name, str) else ""
    source = str(source) if isinstance(source, str) else None
    return name, arguments, id, source, error


def as_object(arguments: str) -> Any:
    """The object that a text holds, as models write arguments twice; any other text as it is.

    >>> as_object('{"a": 1}'), as_object("a bare value")
    ({'a': 1}, 'a bare value')
    """
    if not arguments.lstrip().startswith("{"):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
