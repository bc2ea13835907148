"""What `execute` of an object takes beside its input, and how it is called: looked up at each call, with what is passed on.

`execute(self, input, task_ctx=None)` has one argument for a model, `input`. The others come from the orchestrator.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from types import CoroutineType, FunctionType
from typing import Any, NamedTuple

from .callables import cells_of

PASSED_ON: ContextVar[Mapping[str, Any] | None] = ContextVar("PASSED_ON", default=None)
"""What the caller hands to the tools that take it."""

_INPUTS = frozenset(
    (
        "input",
        "inputs",
        "input_data",
        "input_text",
        "tool_input",
        "args",
        "arguments",
        "params",
        "payload",
        "data",
    )
)
# A parameter with such a hint is an argument that a model can give.
_JSON = re.compile(r"\b(int|float|str|bool|list|List|Sequence|Literal|Enum)\b")


class Context(NamedTuple):
    """The name of the input, the names of the other parameters, and whether `execute` has `**kwargs`."""

    input: str
    names: frozenset[str]
    takes_all: bool


def context_of(execute: Callable[..., Any]) -> Context | None:
    """The context parameters of an `execute`; None when it has none, or when they are arguments for a model.

    >>> def execute(input, task_ctx=None, **more): ...
    >>> context_of(execute)
    Context(input='input', names=frozenset({'task_ctx'}), takes_all=True)
    >>> def execute(query, limit=10): ...
    >>> context_of(execute) is None
    True
    """
    try:
        first, *rest = inspect.signature(execute).parameters.values()
    except (TypeError, ValueError):
        return None
    if [first.kind, *(other.kind for other in rest)] == [first.VAR_POSITIONAL, first.VAR_KEYWORD]:
        return _of_wrapper(execute)
    if not rest or first.name not in _INPUTS or first.kind is not first.POSITIONAL_OR_KEYWORD:
        return None
    names: set[str] = set()
    takes_all = False
    for parameter in rest:
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_all = True
        elif parameter.kind is parameter.VAR_POSITIONAL:
            continue  # an orchestrator gives the input alone by position
        elif _is_context(parameter):
            names.add(parameter.name)
        else:
            return None
    return Context(first.name, frozenset(names), takes_all)


def _of_wrapper(execute: Callable[..., Any]) -> Context | None:
    """`execute(*args, **kwargs)`, mostly a decorator without `functools.wraps`: the function it closes over decides."""
    wrapped = [one for one in cells_of(_function(execute)) if isinstance(one, FunctionType)]
    if len(wrapped) != 1:
        return Context("input", frozenset(), takes_all=True)
    # A method of a class takes its object first.
    inner = partial(wrapped[0], None) if _function(execute) is not execute else wrapped[0]
    parameters = list(inspect.signature(inner).parameters)
    return Context(parameters[0], frozenset(), takes_all=False) if len(parameters) == 1 else context_of(inner)


def _is_context(parameter: inspect.Parameter) -> bool:
    if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
        return False
    is_set_by_caller = parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty
    hint = parameter.annotation
    is_free = hint is parameter.empty or not _JSON.search(hint if isinstance(hint, str) else repr(hint))
    return is_free and (parameter.default is None or is_set_by_caller)


def late(tool: Any, context: Context | None, *, is_async: bool) -> Callable[..., Any]:
    """Call `tool.execute` as it is at the time of the call, so that a test can patch it."""

    registered = _function(tool.execute)

    def execute(*args: Any, **arguments: Any) -> Any:
        call = tool.execute
        if context is not None and (given := PASSED_ON.get()):
            names = given if context.takes_all else context.names
            passed = {name: given[name] for name in names if name in given}
            arguments.update(passed if _function(call) is registered else _accepted(call, passed))
        made: Any = call(*args, **arguments)
        if is_async and not _is_awaitable(made):
            return _ready(made)  # patched by a function that is not async
        return made

    return execute


def _function(execute: Any) -> Any:
    return getattr(execute, "__func__", execute)


def _accepted(execute: Callable[..., Any], passed: dict[str, Any]) -> dict[str, Any]:
    """What another function in the place of the registered one takes; all of it, if it does not say."""
    try:
        parameters = inspect.signature(execute).parameters
    except (TypeError, ValueError):
        return passed
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return passed
    return {name: value for name, value in passed.items() if name in parameters}


def _is_awaitable(value: Any) -> bool:
    return type(value) is CoroutineType or inspect.isawaitable(value)


async def _ready(value: Any) -> Any:
    return value
