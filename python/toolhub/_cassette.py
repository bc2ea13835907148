"""Questions to models on a cassette. The core decides whether one is recorded or replayed; see `toolhub.testing`."""

import sys
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, cast

from . import _core
from ._lazy import asyncio
from ._to_plain import readable, whole
from .exceptions import ToolError

_inside: ContextVar[bool] = ContextVar("toolhub_model_on_cassette", default=False)
"""True inside a question that is on a cassette: what a client asks on its way is part of it."""


async def on_cassette(
    llm: object, request: object, question: Callable[[], Awaitable[Any]], plain: Callable[[Any], Any]
) -> Any:
    """What the model answers, or answered when it was recorded. `plain` makes JSON of an answer that is none."""
    kept = None if _inside.get() else _core.question_on_cassette(_name_of(llm), request)
    if kept is None:
        return await question()
    if kept.is_replayed:
        await asyncio.sleep(kept.delay)
        try:
            return kept.answer()
        except ToolError as error:
            raise _as_recorded(error, kept.exception) from None
    token = _inside.set(True)
    try:
        answer = await question()
    except Exception as error:
        _record(kept, error)
        raise
    finally:
        _inside.reset(token)
    try:
        kept.answered(answer)
    except ValueError:
        kept.answered(plain(answer))
    return answer


def _record(question: _core.CassetteQuestion, error: Exception) -> None:
    message = whole(readable(error))
    known = error if isinstance(error, ToolError) else ToolError(message)
    exception = None
    if type(error).__module__ != ToolError.__module__:
        args = [whole(one) if isinstance(one, str) else one for one in error.args]
        exception = {"type": f"{type(error).__module__}:{type(error).__qualname__}", "args": args}
    question.failed(known, message, exception)


def _as_recorded(error: ToolError, exception: Any) -> Exception:
    """The exception that the model raised when it was recorded, or one with its name and its text.

    >>> _as_recorded(ToolError("'x'"), {"type": "builtins:KeyError", "args": ["x"]})
    KeyError('x')
    >>> _as_recorded(ToolError("no route"), {"type": "some_client:ConnectError", "args": ["no route"]})
    ConnectError('no route')
    """
    match exception:
        case {"type": str(name), "args": [*args]}:
            module, _, path = name.partition(":")
        case _:
            return error
    if not (short := path.rpartition(".")[2]).isidentifier():
        return error
    found: Any = sys.modules.get(module)  # never imported for this: a cassette must not load code
    for part in path.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type) and issubclass(found, Exception):
        try:
            made = found(*args)
        except Exception:
            made = None  # its arguments are not those of its class
        if made is not None and str(made) == str(error):
            return _with_details(made, error)
    named = type(short, (type(error),), {"__module__": module})
    return _with_details(cast("Exception", named(str(error), error.kind)), error)


def _with_details(made: Exception, error: ToolError) -> Exception:
    if isinstance(made, ToolError):
        made.kind, made.code = error.kind, error.code
        made.status, made.retry_after = error.status, error.retry_after
    return made


def _name_of(llm: object) -> str:
    """The name of the model where it has one: another function may stand for it in a replay."""
    name = cast("object", getattr(llm, "model", None))
    return name if isinstance(name, str) else "model"
