"""Tool calls in model text: of the house format, of the formats of model families, and of the chat APIs."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from . import _core
from ._core import ParsedCall, StreamParser

__all__ = ["ParseResult", "ParsedCall", "StreamParser", "formats", "parse"]

_DEEPEST = 100
"""Deeper objects lead back to themselves, or are an attack; the core refuses both."""


class ParseResult(NamedTuple):
    """What a text holds."""

    calls: list[ParsedCall]
    """In the order of the text, those that cannot be read too."""
    text: str
    """All that is not part of a call."""
    format: str | None
    """The format of the first call; the one that was asked for when there is none."""


def parse(text: Any, format: str = "auto", tools: Iterable[Any] | None = None) -> ParseResult:
    """Find the tool calls in a text, with their places and the text around them.

    `text` may also be what a chat API returned: a message or a response of OpenAI, Anthropic or Gemini, as a dict or as the
    object of their package. `format` is a name of `formats()` when it is known which dialect the model speaks (that of an API,
    `openai`, `openai_responses`, `anthropic` or `gemini`, says no more than `auto`). `tools` (`{"name", "parameters"}`, as the
    APIs take them, or as `hub.tools()` gives them) gives values their types in dialects that write them as plain text.

    No text raises an exception. What was mended is listed in `repairs`; what cannot be read is an entry with `error`
    and `raw`.

    >>> found = parse('Let me see. <tool_call>{"name": "read", "args": {"path": "a.txt",}}</tool_call>')
    >>> found.text, found.format
    ('Let me see. ', 'hermes')
    >>> call = found.calls[0]
    >>> call.name, call.arguments, call.id, call.span, call.repairs
    ('read', {'path': 'a.txt'}, 'call_1', (12, 79), ['a trailing comma'])
    >>> parse("<tool_call>{oops!}</tool_call>").calls[0].error
    'The call cannot be read: there is no colon after the key "oops".'
    """
    described = None if tools is None else list(tools)
    try:
        return ParseResult(*_core.parse_text(text, format, described))
    except TypeError:
        message = _spelt_out(text)
        if not isinstance(message, (dict, list)):
            raise
    return ParseResult(*_core.parse_text(message, format, described))


def _spelt_out(value: Any, depth: int = 0) -> Any:
    """A message of objects in plain data: those without a plain form of their own are their attributes.

    >>> from types import SimpleNamespace as Object
    >>> _spelt_out([Object(type="text", text="hi", signature=b"1", _cache={})])
    [{'type': 'text', 'text': 'hi', 'signature': None}]
    """
    if depth > _DEEPEST or isinstance(value, (str, int, type)):
        return value
    if isinstance(value, (bytes, bytearray)):
        return None  # a picture, or the signature of a thought: no call is in there
    if callable(dump := getattr(value, "model_dump", None)):
        value = dump()
    elif not isinstance(value, (Mapping, list, tuple)):
        attributes = getattr(value, "__dict__", {})
        value = {name: of for name, of in attributes.items() if not name.startswith("_")} or value
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {name: _spelt_out(of, depth + 1) for name, of in items}
    if isinstance(value, (list, tuple)):
        return [_spelt_out(of, depth + 1) for of in cast("list[Any]", value)]
    return value


def formats() -> list[str]:
    """The names that a format may have, besides `auto`.

    >>> "hermes" in formats()
    True
    """
    return _core.parse_formats()
