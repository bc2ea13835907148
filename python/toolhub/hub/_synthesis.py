"""Asking the user's model, for the hub and for servers: a callable, or a client with one of the usual methods."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, cast

from .. import _core
from .._cassette import on_cassette
from .._lazy import asyncio
from .._to_plain import readable
from .._user_functions import call, in_own_task

_AWAITED = ("generate_async", "ainvoke")
_METHODS = (*_AWAITED, "generate")


async def ask_within(llm: Any, prompt: str, seconds: float) -> str:
    """The answer of the model, or `TimeoutError` after this time."""
    async with asyncio.timeout(seconds):
        return text_of(await ask(llm, prompt)).strip()


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
    return await on_cassette(llm, {"prompt": prompt}, lambda: _ask_now(llm, prompt), text_of)


async def _ask_now(llm: Any, prompt: str) -> Any:
    for name in _AWAITED:
        if callable(method := getattr(llm, name, None)):
            return await in_own_task(cast("Any", method(prompt)))
    function: Any = method if callable(method := getattr(llm, "generate", None)) else llm
    return await call(function, prompt)


def text_of(answer: Any) -> str:
    """A string, or the text inside what a client library returns, without the blocks of its thoughts.

    >>> text_of({"content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]})
    'Yes.'
    """
    if isinstance(answer, Mapping):
        mapping = cast("Mapping[str, Any]", answer)
        answer = mapping.get("content", mapping.get("text"))
    for name in ("content", "text"):
        if not isinstance(answer, str) and hasattr(answer, name):
            answer = getattr(answer, name)
    said = None if answer is None or isinstance(answer, str) else said_in(answer)
    return ("" if answer is None else readable(answer)) if said is None else said


def said_in(message: Any) -> str | None:
    """The text of a message of a chat API, or of its blocks, without the thoughts of the model; None for other data."""
    # Here, because most programs never ask a model that answers in blocks.
    from ..parsing import spelt_out

    return _core.message_text(spelt_out(message))


def sampler(llm: Any) -> Callable[[str, Any], Coroutine[Any, Any, dict[str, Any]]]:
    """The sampling function of a hub that has a model and no `sampling` function of the user."""

    async def sample(server: str, request: Mapping[str, Any]) -> dict[str, Any]:
        text = text_of(await ask(llm, prompt_of(request)))
        model = str(getattr(llm, "model", type(llm).__name__))
        return {
            "role": "assistant",
            "content": {"type": "text", "text": text},
            "model": model,
            "stopReason": "endTurn",
        }

    return sample


def prompt_of(request: Mapping[str, Any]) -> str:
    """The texts of a conversation, one turn after another.

    >>> prompt_of({"systemPrompt": "Be brief.", "messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}]})
    'Be brief.\\n\\nuser: Hi'
    """
    turns = [str(request["systemPrompt"])] if request.get("systemPrompt") else []
    for message in cast("list[dict[str, Any]]", request.get("messages") or []):
        content = message.get("content")
        blocks = cast("list[dict[str, Any]]", content if isinstance(content, list) else [content or {}])
        text = "\n".join(block["text"] for block in blocks if block.get("type") == "text")
        turns.append(f"{message.get('role', 'user')}: {text}")
    return "\n\n".join(turns)
