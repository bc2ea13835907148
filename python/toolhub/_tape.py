"""Questions to models on tape. The core decides whether one is recorded or replayed; see `toolhub.testing`."""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, cast

from . import _core
from ._lazy import asyncio
from .exceptions import ToolError

_inside: ContextVar[bool] = ContextVar("toolhub_model_on_tape", default=False)
"""True inside a question that is on tape: what a client asks on its way is part of it."""


async def on_tape(
    llm: object, request: object, question: Callable[[], Awaitable[Any]], plain: Callable[[Any], Any]
) -> Any:
    """What the model answers, or answered when it was recorded. `plain` makes JSON of an answer that is none."""
    taped = None if _inside.get() else _core.question_on_tape(_name_of(llm), request)
    if taped is None:
        return await question()
    if taped.is_replayed:
        await asyncio.sleep(taped.delay)
        return taped.answer()
    token = _inside.set(True)
    try:
        answer = await question()
    except Exception as error:
        taped.failed(str(error.kind) if isinstance(error, ToolError) else "tool_error", str(error))
        raise
    finally:
        _inside.reset(token)
    try:
        taped.answered(answer)
    except ValueError:
        taped.answered(plain(answer))
    return answer


def _name_of(llm: object) -> str:
    """The name of the model where it has one: another function may stand for it in a replay."""
    name = cast("object", getattr(llm, "model", None))
    return name if isinstance(name, str) else "model"
