"""Tool calls in model text: in the house format, in the formats of model families, and in messages of the chat APIs."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from . import _core
from ._core import ParsedCall, StreamParser
from .options import Reasoning

__all__ = ["ParseResult", "ParsedCall", "StreamParser", "formats", "parse"]

_DEEPEST = 100
"""Deeper objects are cyclic or an attack; the core refuses both."""


class ParseResult(NamedTuple):
    """The calls of a text, and the text around them."""

    calls: list[ParsedCall]
    """In the order of the text, including those that cannot be read."""
    text: str
    """Everything that is not part of a call."""
    format: str | None
    """The dialect that the text commits to: the requested one, or that of the first call in a marker; bare forms have none."""


def parse(
    text: Any, format: str = "auto", tools: Iterable[Any] | None = None, *, reasoning: Reasoning = "auto"
) -> ParseResult:
    """Find the tool calls in a text, with their spans and the text around them.

    `text` may also be a message or a response of OpenAI, Anthropic or Gemini, as a dict or as an object of their SDK. `format`
    is one of `formats()` if the model's format is known (the name of an API, `openai`, `openai_responses`, `anthropic` or
    `gemini`, means `auto`). `tools` (`{"name", "parameters"}` as the APIs take them, or `hub.tools()`) give types to values
    in formats that write them as plain text.

    `reasoning` says where a text begins: `"open"`, inside of reasoning, because the prompt template has the opening tag;
    `"closed"`, outside of it; `"auto"` takes everything before the last closing tag without an opening tag for reasoning.
    Calls in reasoning are text.

    Each call has a `certainty`, by its form and its place: `"sure"` in a structure of an API, or in a marker of the committed
    dialect with only white space, end tokens or further calls after it; `"likely"` if words follow, or for a bare form (JSON,
    `[f(x)]`, `Action:`, a fence) that is the whole message; else `"doubtful"`. `hub.run` makes only sure calls unasked.

    No text raises an exception. Repairs are listed in `repairs`; a call that cannot be read is an entry with `error` and
    `raw`.

    >>> found = parse('Let me see. <tool_call>{"name": "read", "args": {"path": "a.txt",}}</tool_call>')
    >>> found.text, found.format
    ('Let me see. ', 'hermes')
    >>> call = found.calls[0]
    >>> call.name, call.arguments, call.id, call.span, call.repairs
    ('read', {'path': 'a.txt'}, 'call_1', (12, 79), ['a trailing comma'])
    >>> call.certainty, parse('I could send {"name": "read", "args": {}}').calls[0].certainty
    ('sure', 'doubtful')
    >>> parse("<tool_call>{oops!}</tool_call>").calls[0].error
    'The call cannot be read: there is no colon after the key "oops".'
    """
    return ParseResult(*_core.parse_text(text, format, tools, reasoning))


def spelt_out(value: Any, depth: int = 0) -> Any:
    """A message of objects as plain data: objects without `model_dump` become their attributes. The core calls it, too.

    >>> from types import SimpleNamespace as Object
    >>> spelt_out([Object(type="text", text="hi", signature=b"1", _cache={})])
    [{'type': 'text', 'text': 'hi', 'signature': b'1'}]
    """
    if depth > _DEEPEST or isinstance(value, (str, bytes, bytearray, int, type)):
        return value
    if callable(dump := getattr(value, "model_dump", None)):
        value = dump()
    elif not isinstance(value, (Mapping, list, tuple)):
        attributes = getattr(value, "__dict__", {})
        value = {name: of for name, of in attributes.items() if not name.startswith("_")} or value
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {name: spelt_out(of, depth + 1) for name, of in items}
    if isinstance(value, (list, tuple)):
        return [spelt_out(of, depth + 1) for of in cast("list[Any]", value)]
    return value


def formats() -> list[str]:
    """The names of all formats, without `auto`.

    >>> "hermes" in formats()
    True
    """
    return _core.parse_formats()
