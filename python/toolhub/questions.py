"""What a tool, a resource or a prompt can ask the client that called it, all at once: `current_call().ask_all({…})`.

>>> from toolhub.questions import Form, Roots, Sampling
>>> Form("Which city?", {"type": "object", "properties": {"city": {"type": "string"}}}).method
'elicitation/create'
>>> Sampling("Name a city.", max_tokens=20).params["messages"]
[{'role': 'user', 'content': {'type': 'text', 'text': 'Name a city.'}}]
>>> Roots().method
'roots/list'
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ._checks import check_finite, check_mapping, check_text, check_whole, if_given
from .calls import Answer, answer_of

__all__ = ["Form", "Link", "Question", "Root", "Roots", "Sample", "Sampling"]


@dataclass(frozen=True)
class Root:
    """A folder or another place that the user of the client works with."""

    uri: str
    name: str | None = None


@dataclass(frozen=True)
class Sample:
    """What the model of the client answered."""

    text: str
    """The texts of the answer, joined by empty lines; empty if the model only wants to call tools."""
    content: list[dict[str, Any]]
    """The content blocks, among them those of type `tool_use` if the question had tools."""
    model: str | None = None
    stop_reason: str | None = None
    role: str = "assistant"
    data: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """The answer as it came."""


class Question(ABC):
    """A question to the client: `Form`, `Link`, `Sampling` or `Roots`."""

    method: str
    params: dict[str, Any]

    @abstractmethod
    def read(self, given: Mapping[str, Any]) -> Any:
        """The client's answer as an object of Python."""


class Form(Question):
    """A form for the user (MCP elicitation). `schema` is the JSON Schema of a flat object; without one the user only agrees.

    Fields are texts, numbers, booleans and choices (`enum`, `oneOf` with titles, lists of them), each perhaps with a
    `default`. The answer is a `toolhub.calls.Answer`.
    """

    def __init__(self, message: str, schema: Mapping[str, Any] | None = None) -> None:
        check_text("message", message)
        form: Any = {"type": "object", "properties": {}} if schema is None else schema
        check_mapping("schema", form)
        self.method = "elicitation/create"
        self.params = {"message": message, "requestedSchema": dict(form)}

    def read(self, given: Mapping[str, Any]) -> Answer:
        """What the user made of the form."""
        return answer_of(given)


class Link(Question):
    """An address that the user opens in a browser (MCP elicitation in URL mode): for logins and payments.

    What the user enters there never passes through the client. `accept` means that the user agreed to open it.
    """

    def __init__(self, message: str, url: str) -> None:
        check_text("message", message)
        check_text("url", url)
        self.method = "elicitation/create"
        self.params = {"mode": "url", "message": message, "url": url, "elicitationId": uuid.uuid4().hex}

    def read(self, given: Mapping[str, Any]) -> Answer:
        """Whether the user agreed."""
        return answer_of(given)


class Sampling(Question):
    """A question to the model of the client (MCP sampling). The answer is a `Sample`.

    `messages` is a text, or a list of texts (of the user) and messages (`{"role": …, "content": …}`). `model_preferences` is
    the name of a model, several names, or the object of the protocol. With `tools` (definitions with `name`, `description`
    and `inputSchema`) the model may want to call them; the client must support that.
    """

    def __init__(
        self,
        messages: str | Sequence[str | Mapping[str, Any]],
        *,
        max_tokens: int = 512,
        system_prompt: str | None = None,
        temperature: float | None = None,
        stop_sequences: Iterable[str] | None = None,
        model_preferences: str | Sequence[str] | Mapping[str, Any] | None = None,
        tools: Iterable[Mapping[str, Any]] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        given = [messages] if isinstance(messages, str) else list(messages)
        self.method = "sampling/createMessage"
        params: dict[str, Any] = {
            "messages": [_message(one) for one in given],
            "maxTokens": check_whole("max_tokens", max_tokens, 1),
            "systemPrompt": if_given(check_text, "system_prompt", system_prompt),
            "temperature": if_given(check_finite, "temperature", temperature),
            "stopSequences": None if stop_sequences is None else list(stop_sequences),
            "modelPreferences": None if model_preferences is None else _preferences(model_preferences),
            "tools": None if tools is None else [dict(tool) for tool in tools],
            "toolChoice": {"mode": tool_choice} if isinstance(tool_choice, str) else _as_dict(tool_choice),
            "metadata": _as_dict(metadata),
        }
        self.params = {key: value for key, value in params.items() if value is not None}

    def read(self, given: Mapping[str, Any]) -> Sample:
        """What the model said."""
        content: Any = given.get("content")
        entries = cast("list[Any]", content) if isinstance(content, list) else [content]
        blocks = [dict(cast("Mapping[str, Any]", one)) for one in entries if isinstance(one, Mapping)]
        texts = [
            one["text"] for one in blocks if one.get("type") == "text" and isinstance(one.get("text"), str)
        ]
        return Sample(
            "\n\n".join(texts),
            blocks,
            given.get("model"),
            given.get("stopReason"),
            given.get("role") or "assistant",
            dict(given),
        )


class Roots(Question):
    """The question for the roots of the client. The answer is a list of `Root`."""

    def __init__(self) -> None:
        self.method = "roots/list"
        self.params = {}

    def read(self, given: Mapping[str, Any]) -> list[Root]:
        """The roots that have a URI."""
        listed: Any = given.get("roots")
        entries = cast("list[Any]", listed) if isinstance(listed, list) else []
        roots = [cast("Mapping[str, Any]", one) for one in entries if isinstance(one, Mapping)]
        return [Root(one["uri"], one.get("name")) for one in roots if isinstance(one.get("uri"), str)]


def _message(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        return {"role": "user", "content": {"type": "text", "text": given}}
    check_mapping("a message", given)
    message = dict(cast("Mapping[str, Any]", given))
    content = message.get("content")
    return {**message, "content": {"type": "text", "text": content}} if isinstance(content, str) else message


def _as_dict(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if given is None else dict(given)


def _preferences(given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return dict(cast("Mapping[str, Any]", given))
    names: list[Any] = [given] if isinstance(given, str) else list(given)
    for name in names:
        check_text("model_preferences", name)
    return {"hints": [{"name": name} for name in names]}
