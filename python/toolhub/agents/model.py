"""The user's model as the agents ask it: within the budget and the deadline, and with one kind of failure."""

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from .. import kit, truncate
from ..kit import check_llm, readable
from ..parsing import spelt_out
from .events import AgentEvent, ModelAnswered
from .view import AgentView, RunStop

Message = dict[str, Any]


class AgentModel:
    """Asks the user's model: a callable for a prompt, a client with `generate` and the like, or `chat` for messages."""

    def __init__(
        self, view: AgentView, llm: Any = None, chat: Callable[[list[Message]], Any] | None = None
    ) -> None:
        if llm is not None:
            check_llm(llm)
        if chat is not None and not callable(chat):
            raise TypeError(f"chat must be a function of messages, got {type(chat).__name__}")
        if chat is None and llm is not None and _has_chat(llm):
            chat = llm.chat
        self._view = view
        self._llm = llm
        self._chat = chat
        self.emit: Callable[[AgentEvent], None] = lambda event: None

    def __bool__(self) -> bool:
        """Whether there is a model."""
        return self._llm is not None or self._chat is not None

    async def ask(self, prompt: str, purpose: str) -> str:
        """The text that the model answers to a prompt; `RunStop` if it may not be asked, or fails."""
        if self._llm is None:
            messages = [{"role": "user", "content": prompt}]
            return said(await self.chat(messages, purpose))
        answer = await self._within(lambda: kit.ask(self._llm, prompt))
        text = _clean(answer)
        self._count(purpose, prompt, text, None)
        return text

    async def chat(self, messages: Sequence[Message], purpose: str = "chat") -> Any:
        """The message that the model answers to a conversation: a text, or a message of its API."""
        if self._chat is None:
            return await self.ask(transcript(messages), purpose)
        function = self._chat
        asked = [dict(one) for one in messages]
        answer = await self._within(lambda: kit.chat(function, asked))
        message = _message(answer)
        refusal = _refusal(answer if isinstance(answer, (str, dict)) else spelt_out(answer))
        self._count(purpose, transcript(messages), refusal or _text(message), _usage(answer))
        if refusal:
            raise RunStop("refused", refusal)
        return message

    async def _within(self, question: Callable[[], Any]) -> Any:
        self._view.check_time()
        if refusal := self._view.budget.take_round():
            raise self._view.stop("budget", refusal)
        limit = self._view.timeout()
        try:
            async with limit:
                return await question()
        except Exception as error:
            if isinstance(error, TimeoutError) and limit.expired():
                raise self._view.stop("deadline", "The run's deadline has passed.") from None
            raise self._view.stop(
                "model", kit.Message("The model failed: {}", kit.describe_error(error))
            ) from error

    def _count(self, purpose: str, prompt: str, text: str, counted: int | None) -> None:
        tokens = _tokens(prompt) + _tokens(text) if counted is None else counted
        self._view.budget.take_tokens(tokens)
        self.emit(ModelAnswered(purpose=purpose, text=text, tokens=tokens))


def transcript(messages: Sequence[Message]) -> str:
    """A conversation as one prompt. A longer conversation begins with the same text, so that its prompt stays cached.

    >>> print(transcript([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]))
    Be brief.
    <BLANKLINE>
    ### User
    Hi
    <BLANKLINE>
    ### Assistant
    <BLANKLINE>
    """
    parts: list[str] = []
    for message in messages:
        role, text = str(message.get("role", "user")), _text(message)
        # Text that looks like the beginning of another turn is not one.
        safe = re.sub(r"^### ", r"\\### ", text, flags=re.MULTILINE)
        parts.append(safe if role == "system" else f"### {role.capitalize()}\n{safe}")
    return "\n\n".join([*parts, "### Assistant\n"])


def said(message: Any) -> str:
    """What the model says in a message, without the blocks of its thoughts.

    >>> said({"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]})
    'Yes.'
    """
    text = message if message is None or isinstance(message, str) else kit.said_in(message)
    return _text(message) if text is None else text


def _has_chat(llm: Any) -> bool:
    function: Any = getattr(cast("object", type(llm)), "chat", None)
    return callable(function) and inspect.iscoroutinefunction(function)


def _message(answer: Any) -> Any:
    """The message in what a client returns: the choice of an OpenAI-compatible response, or the answer itself."""
    raw: Any = cast("Message", answer).get("raw") if isinstance(answer, dict) else None
    if isinstance(raw, dict):
        message = _choice(raw)
        return (
            message if message.get("tool_calls") else _clean(str(cast("Message", answer).get("text") or ""))
        )
    return _clean(answer) if isinstance(answer, str) else cast("Any", answer)


def _choice(answer: Any) -> Message:
    """The message in an OpenAI-compatible response, also as `raw` of a client's answer; nothing of anything else."""
    match answer:
        case {"raw": {"choices": [{"message": message}, *_]}} | {"choices": [{"message": message}, *_]}:
            return cast("Message", message) if isinstance(message, dict) else {}
        case _:
            return {}


def _refusal(answer: Any) -> str | None:
    """Why a model refuses, as an OpenAI-compatible message says it in place of a content."""
    message = _choice(answer) or (cast("Message", answer) if isinstance(answer, dict) else {})
    refusal = message.get("refusal")
    has_more = message.get("content") or message.get("tool_calls")
    return None if has_more or not isinstance(refusal, str) else _clean(refusal)


def _text(message: Any) -> str:
    if message is None or isinstance(message, str):
        return message or ""
    content = cast("Message", message).get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    return readable(message)


def _usage(answer: Any) -> int | None:
    match answer:
        case {"usage": {"total_tokens": int(total)}}:
            return total
        case _:
            return None


def _tokens(text: str) -> int:
    return truncate(text, 0, unit="tokens").total


def _clean(text: str) -> str:
    """Text without halves of characters, which some tokenizers leave."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
