"""What an orchestrator needs beside a hub: reading what models write, asking any model, comparing texts, checking options.

`toolhub.agents` is written with it and with the public methods of the hub; so can yours be.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from . import _core, _user_functions
from ._background import blocking
from ._cassette import on_cassette
from ._checks import check_mapping, check_path, check_seconds, check_text, check_whole
from ._core import (
    ToolInfo,
    acting_verb,
    deeds_in,
    meanings,
    names_more,
    sides_of,
    units,
    unknown_options,
    unreached,
    visible_text,
)
from ._lazy import shown_as as shown_as
from ._to_plain import readable, whole
from ._user_functions import unmissed
from .exceptions import ErrorKind
from .hub._synthesis import ask as _ask
from .hub._synthesis import check_llm, said_in, text_of
from .options import Lang
from .result import ToolResult

if TYPE_CHECKING:
    from .hub import ToolHub

__all__ = [
    "MIN_RESULT_LIMIT",
    "JsonText",
    "acting_verb",
    "ask",
    "blocking",
    "call",
    "chat",
    "check_llm",
    "check_mapping",
    "check_path",
    "check_seconds",
    "check_text",
    "check_whole",
    "deeds_in",
    "describe_error",
    "failed_result",
    "in_digits",
    "in_language",
    "json_in",
    "kind_of",
    "meanings",
    "names_more",
    "read_json",
    "read_yaml",
    "readable",
    "said_in",
    "sides_of",
    "similarity",
    "stand_ins",
    "tools_for",
    "units",
    "unknown_options",
    "unmissed",
    "unreached",
    "visible_text",
    "whole",
    "words",
]

T = TypeVar("T")

MIN_RESULT_LIMIT = _core.min_result_limit()
"""The least number of characters that a model may get of a result."""


class JsonText(NamedTuple):
    """A JSON value that a model has written."""

    value: Any
    """The value."""
    repairs: list[str]
    """The repairs that were needed to read it."""
    cut: str | None
    """Why the rest of the outermost list cannot be read, if it was cut off."""


def read_json(text: str) -> JsonText:
    """Read the JSON value at the start of a text, with the mistakes that models make; `ValueError` if there is none.

    Closing brackets may be missing at its end; what follows the value is ignored.

    >>> read_json("[{'id': 1,}, {'id': 2}] is my plan")
    JsonText(value=[{'id': 1}, {'id': 2}], repairs=['single quotes', 'a trailing comma'], cut=None)
    """
    return JsonText(*_core.read_json(text))


def json_in(text: str) -> list[JsonText]:
    """Read the JSON objects and lists in the answer of a model, in their order, each as `read_json` does.

    What the model only thought is left out, by the rule that `parse` has for calls.

    >>> json_in('<think>[1] is wrong.</think>The list is [2], or {"a": 3}.')
    [JsonText(value=[2], repairs=[], cut=None), JsonText(value={'a': 3}, repairs=[], cut=None)]
    """
    return [JsonText(*read) for read in _core.read_documents(text)]


def read_yaml(text: str) -> dict[str, Any]:
    """Read a YAML mapping as plain data; `ValueError` if it is something else. Aliases and types of programs are refused.

    >>> read_yaml("name: clerk\\nmax_rounds: 3")
    {'name': 'clerk', 'max_rounds': 3}
    """
    return _core.read_yaml(text)


def kind_of(tool: ToolInfo) -> str:
    """The kind of a tool: `calculation`, `time`, `search`, `extraction`, `history` or `other`.

    >>> from toolhub import ToolHub
    >>> hub = ToolHub()
    >>> _ = hub.register(len, name="search_notes")
    >>> kind_of(hub.get("search_notes"))
    'search'
    """
    return _core.tool_kind(tool.name, tool.capabilities)


def stand_ins(hub: "ToolHub", tool: str) -> list[str]:
    """The tools that may take the place of one that failed: known to be harmless, and sure to do the same, best first.

    Their names say the same, or, where the names tell no capability, they were registered with one in common.

    >>> from toolhub import ToolHub
    >>> hub = ToolHub()
    >>> for name in ("search_web", "web_search", "search_files", "send_search"):
    ...     _ = hub.register(len, name=name, description="Search the web")
    >>> stand_ins(hub, "search_web")
    ['web_search']
    """
    return hub._core.stand_ins(whole(tool))


def tools_for(hub: "ToolHub", said: str) -> list[str]:
    """The tools that are known to be harmless and of the kind that words ask for, best first."""
    return hub._core.tools_for(whole(said))


def words(text: str) -> list[str]:
    """The words of a name or a text in lower case; a run of Chinese characters is one word.

    >>> words("getCurrent_time 查询")
    ['get', 'current', 'time', '查询']
    """
    return _core.words_of(whole(text))


def in_digits(text: str) -> str:
    """A text with its numbers in digits; what may not be a number stays.

    >>> in_digits("Twenty-five people, 百分之十, 三万五千人, 五月十八日, 王五, one of them")
    '25 people, 10%, 35000人, 5月18日, 王五, one of them'
    """
    return _core.in_digits(whole(text))


def similarity(one: str, other: str) -> float:
    """The Jaccard similarity of two texts by their words, Chinese by its characters: from 0 to 1.

    >>> similarity("The sky is blue.", "the sky is BLUE"), similarity("天气好", "天气坏")
    (1.0, 0.5)
    """
    return _core.similarity(whole(one), whole(other))


def failed_result(tool: str, kind: ErrorKind | str, message: str) -> ToolResult:
    """The result of a call that was not made.

    >>> failed_result("send_mail", "limit", "One mail is enough.").error
    'One mail is enough.'
    """
    return _core.failed_result(tool, ErrorKind(kind), message)


class Message(str):
    """A sentence of the package in English, and what it was made of: a template, by which it is found in other languages."""

    template: str
    arguments: tuple[Any, ...]

    def __new__(cls, template: str, *arguments: Any) -> Self:
        made = super().__new__(cls, template.format(*arguments))
        made.template, made.arguments = template, arguments
        return made

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def in_language(sentence: str, lang: Lang) -> str:
    """A sentence of the package in a language; other texts stay as they are.

    >>> in_language("The result is empty.", "zh")
    '结果为空。'
    """
    if not isinstance(sentence, Message):
        return _core.in_language(sentence, lang)
    given = (in_language(one, lang) if isinstance(one, Message) else one for one in sentence.arguments)
    return _core.in_language(sentence.template, lang).format(*given)


async def ask(llm: Any, prompt: str) -> str:
    """The text that a model answers: a sync or async callable, or an object with `generate_async`, `ainvoke` or `generate`."""
    return text_of(await _ask(llm, prompt))


async def chat(function: Callable[..., Any], messages: list[dict[str, Any]]) -> Any:
    """Ask a chat function, sync or async. Recorded and replayed with `toolhub.testing`, as `ask` is."""
    owner = getattr(function, "__self__", function)
    return await on_cassette(
        owner, {"messages": messages}, lambda: _user_functions.call(function, messages), readable
    )


async def call(function: Callable[..., Any], *args: Any) -> Any:
    """What a function returns, sync or async. A plain function runs on a thread of the hub's."""
    return await _user_functions.call(function, *args)


def describe_error(error: BaseException) -> str:
    """An exception for a reader, without secrets and commands to a terminal.

    >>> describe_error(OSError("no route to host"))
    'OSError: no route to host'
    """
    return f"{type(error).__name__}: {_core.event_error(readable(error))}"
