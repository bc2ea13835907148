"""One answer of several, by a model: asked only when one was given, within its time, and never at the price of the answer."""

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any, cast

from .. import _core
from .._plain import readable
from ..result import ToolResult

TIMEOUT = 10.0
"""Seconds that a model may take."""

_AWAITED = ("generate_async", "ainvoke")
_METHODS = (*_AWAITED, "generate")
_QUESTIONS = ("query", "question", "q", "input", "prompt", "text", "task")


async def synthesize(
    result: ToolResult, llm: Any, args: Any, capabilities: list[str], seconds: float | None
) -> ToolResult:
    """Replace merged answers by what the model makes of them; the merge stays, with the reason, when it cannot."""
    parts = [(part["source"], _core.visible_text(readable(part["result"]))) for part in result.full()]
    prompt, reason = _core.synthesis_prompt(_question(args), parts, capabilities)
    if prompt is not None:
        timeout = TIMEOUT if seconds is None else max(0.0, min(TIMEOUT, seconds))
        try:
            async with asyncio.timeout(timeout):
                answer = text_of(await ask(llm, prompt)).strip()
        except TimeoutError:
            reason = f"the model did not answer within {timeout:g} s"
        except Exception as error:
            reason = f"the model failed: {type(error).__name__}: {error}"
        else:
            if answer:
                result["result"] = answer
                # What the merge had cut is not what is shown now.
                result.meta["synthesis_method"], result.meta["truncated"] = "llm", False
                return result
            reason = "the model gave an empty answer"
    result.meta["synthesis_reason"] = reason
    return result


def check_llm(llm: Any) -> None:
    """Refuse what cannot be asked.

    >>> check_llm(5)
    Traceback (most recent call last):
    TypeError: llm must be callable or have generate, generate_async or ainvoke, got int
    """
    if not callable(llm) and not any(callable(getattr(llm, name, None)) for name in _METHODS):
        raise TypeError(
            f"llm must be callable or have generate, generate_async or ainvoke, got {type(llm).__name__}"
        )


async def ask(llm: Any, prompt: str) -> Any:
    """Ask whatever the user has: an async or sync callable, or an object with `generate_async`, `ainvoke` or `generate`."""
    for name in _AWAITED:
        if callable(method := getattr(llm, name, None)):
            return await cast("Any", method(prompt))
    function: Any = method if callable(method := getattr(llm, "generate", None)) else llm
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return await function(prompt)
    answer: Any = await asyncio.to_thread(function, prompt)
    if inspect.isawaitable(answer):
        answer = await answer
    return answer


def text_of(answer: Any) -> str:
    """A string, or the text inside what a client library returns."""
    if isinstance(answer, Mapping):
        mapping = cast("Mapping[str, Any]", answer)
        answer = mapping.get("content", mapping.get("text"))
    for name in ("content", "text"):
        if not isinstance(answer, str) and hasattr(answer, name):
            answer = getattr(answer, name)
    return "" if answer is None else readable(answer)


def _question(args: Any) -> str:
    """What was asked: the argument that carries it, or all of them."""
    if isinstance(args, Mapping):
        mapping = cast("Mapping[str, Any]", args)
        for name in _QUESTIONS:
            if isinstance(asked := mapping.get(name), str) and asked:
                return asked
    return "" if args is None else readable(args)
