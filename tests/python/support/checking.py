"""Argument checks seen from outside: what reaches a function, and the sentence for what does not."""

from functools import cache
from typing import Any

from toolhub import ErrorKind, ToolHub


def reaching(tool: Any, arguments: Any, **options: Any) -> Any:
    """What the tool returns for these arguments; the call must succeed."""
    result = _call(tool, arguments, options)
    assert result.success, result.error
    return result.result


def violations(tool: Any, arguments: Any, **options: Any) -> list[str]:
    """What the refusal lists; the call must be refused."""
    result = _call(tool, arguments, options)
    assert result.kind is ErrorKind.INVALID_ARGUMENTS, (result.kind, result.result, result.error)
    sentence = str(result.error)
    assert sentence.startswith("Invalid arguments for 'tool': ")
    return sentence.removeprefix("Invalid arguments for 'tool': ").removesuffix(".").split("; ")


def taking(hint: Any) -> Any:
    """A function with one parameter of this hint, `it`, which it returns."""

    def tool(it):
        return it

    tool.__annotations__["it"] = hint
    return tool


@cache
def _hub() -> ToolHub:
    """One hub for all: property tests make thousands of calls."""
    return ToolHub()


def _call(tool: Any, arguments: Any, options: dict[str, Any]) -> Any:
    hub = _hub()
    hub.unregister("tool")
    hub.register(tool, name="tool")
    return hub.call("tool", arguments, **options)
