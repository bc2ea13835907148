"""What a caller made of a question: `toolhub.calls.Answer`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast


@dataclass(frozen=True)
class Answer:
    """What the caller made of a question.

    >>> Answer("accept", {"city": "Oslo"}).accepted
    True
    """

    action: Literal["accept", "decline", "cancel"]
    """`accept`; `decline`: the caller said no, or there is none to ask; `cancel`: the caller dismissed the question."""
    content: Mapping[str, Any]
    """What the caller filled in; empty unless it accepted."""

    @property
    def accepted(self) -> bool:
        """Whether the caller accepted."""
        return self.action == "accept"


def answer_of(given: Any) -> Answer:
    """The answer of a client to a form or a link; what cannot be read is a refusal."""
    match given:
        case {"action": "accept"}:
            content: Any = given.get("content")
            return Answer(
                "accept", cast("Mapping[str, Any]", content) if isinstance(content, Mapping) else {}
            )
        case {"action": "cancel"}:
            return Answer("cancel", {})
        case _:
            return Answer("decline", {})
