"""Answers a server's sampling request with the hub's model. Only servers with `allow_sampling` may send one."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, cast

from ._synthesis import ask, text_of


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
