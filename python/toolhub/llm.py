"""A small client of the OpenAI-compatible chat API: OpenAI, vLLM, llama.cpp, Ollama and many others.

The Rust core does the work. It retries 429 and 5xx within its timeout, can be cancelled, and never shows the key.
"""

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, cast

from . import _background, _core
from ._cassette import on_cassette
from ._checks import check_number, check_seconds, check_text, check_whole, if_given
from ._unknown_options import explain_unknown_options

__all__ = ["OpenAI"]

Messages = str | Sequence[Mapping[str, Any]]


@explain_unknown_options
class OpenAI:
    """One model at one endpoint. Base URL and key come from `OPENAI_BASE_URL` and `OPENAI_API_KEY` when not given.

    `timeout` (seconds) covers a whole request, retries included. Failures raise `ToolError`; its `kind` tells them apart.

    >>> model = OpenAI("http://127.0.0.1:8080/v1", api_key="secret", model="small")
    >>> model
    OpenAI(model='small')
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        model: str = "gpt-4o-mini",
        timeout: float = 10.0,
        *,
        max_retries: int = 2,
        temperature: float | None = None,
        max_tokens: int | None = None,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        check_text("model", model)
        self.model = model
        options = {
            "base_url": base_url,
            "api_key": api_key,
            "timeout": check_seconds("timeout", timeout, above_zero=True),
            "max_retries": check_whole("max_retries", max_retries, 0, 2**32 - 1),
            "temperature": if_given(_checked_temperature, "temperature", temperature),
            "max_tokens": if_given(check_whole, "max_tokens", max_tokens, 1, 2**32 - 1),
            "headers": list((headers or {}).items()),
            "extra": extra or {},
        }
        self._client = _core.ChatClient(model, options)

    async def chat(self, messages: Messages) -> dict[str, Any]:
        """Ask and wait for the whole answer: `text`, `finish_reason`, `usage`, `model`, and all of it as `raw`."""
        asked = _as_messages(messages)
        answer: Any = await on_cassette(self, {"messages": asked}, lambda: self._client.chat(asked), dict)
        return answer

    async def generate_async(self, prompt: str) -> str:
        """Return the text that the model answers to one prompt."""
        return (await self.chat(prompt))["text"]

    def generate(self, prompt: str) -> str:
        """`generate_async`, blocking."""
        return _background.run(self.generate_async(prompt))

    async def stream(self, messages: Messages) -> AsyncIterator[str]:
        """Yield the text of the answer piece by piece; a stream that breaks off raises after what has arrived."""
        asked = _as_messages(messages)
        question = _core.question_on_cassette(self.model, {"messages": asked, "stream": True})
        if question is not None and question.is_replayed:
            for text in cast("list[str]", question.answer()):
                yield text
            return
        stream: Any = self._client.stream(asked)
        pieces: list[str] = []
        try:
            async for text in stream:
                if question is not None:
                    pieces.append(text)
                yield text
        finally:
            # Closes the connection, which tells the server to stop.
            stream.close()
        if question is not None:
            question.answered(pieces)

    async def __call__(self, prompt: str) -> str:
        """`generate_async`: the client is a model for `ToolHub(llm=…)`."""
        return await self.generate_async(prompt)

    def __repr__(self) -> str:
        return f"OpenAI(model={self.model!r})"


def _checked_temperature(what: str, given: float) -> float:
    temperature = check_number(what, given)
    if not 0 <= temperature < math.inf:
        raise ValueError(f"{what} must be a number, 0 or more, got {temperature}")
    return temperature


def _as_messages(given: Messages) -> list[Mapping[str, Any]]:
    return [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
