"""From the words of a step to the arguments of its tool, where they tell everything that the tool needs."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from .. import kit
from .phrases import expression_of, history_part, keywords_of

Schema = Mapping[str, Any]

_STEP_RESULT = re.compile(
    r"\{\{?\s*(?:steps?[_ ]?)?(\w+?)(?:\.result)?\s*\}\}?|(?:the )?(?:result|output|answer|value) (?:of|from) step (\w+)|"
    r"step (\w+)'s (?:result|output|answer)|步骤\s*(\w+)\s*的结果",
    re.I,
)
_TOLD = re.compile(r"(?<![\w.])[\w.@:/+#-]*[A-Z0-9_@/][\w.@:/+#-]*", re.A)
"""Numbers and names: what has a digit, a capital, or a sign that words do not have."""
_THOUGHT = re.compile(r"^.*</\w*(?:think|thought|reason)\w*>", re.I | re.S)
_FENCE = re.compile(r"^\s*```\w*|```\s*$")
_NARROWING = ("enum", "const", "format", "pattern")


class NoExpressionError(Exception):
    """A calculation in which nothing can be calculated."""


def with_results(text: str, texts: Mapping[str, str]) -> str:
    """A text with the results that it refers to in their place, if they are short.

    >>> with_results("Multiply the result of step 1 by 3", {"1": "14"})
    'Multiply 14 by 3'
    """

    def put_in(found: re.Match[str]) -> str:
        named = next(group for group in found.groups() if group)
        result = texts.get(named.lower(), "").strip()
        return result if 0 < len(result) <= 100 else found.group()

    return _STEP_RESULT.sub(put_in, text)


def arguments_for(
    kind: str, said: str, schema: Schema, takes_described: bool = False
) -> dict[str, Any] | None:
    """The arguments of a harmless tool of this kind; None unless they hold every number and name of the words.

    A tool with one free text gets the words themselves; with `takes_described`, also one whose schema says more about that
    text. A calculation without any number, in digits or words, raises `NoExpressionError`.

    >>> schema = {"properties": {"query": {"type": "string"}, "count": {"type": "integer"}}, "required": ["query"]}
    >>> arguments_for("search", "Search the web for the mayor of Lyon", schema)
    {'query': 'mayor of Lyon'}
    """
    properties = _properties(schema)
    required: list[str] = list(schema.get("required") or ())
    names = required or list(properties)
    only = names[0] if len(names) == 1 and _is_text(properties.get(names[0], {})) else None
    has_number = any(sign.isnumeric() for sign in kit.in_digits(said))
    if kind == "calculation":
        if not has_number:
            raise NoExpressionError("The step contains no number to calculate with.")
        expression = expression_of(said)
        return None if only is None or expression is None else {only: expression}
    # A number may be meant for another parameter: a price, a count, a day.
    is_query = kind == "search" and (len(properties) == 1 or not has_number)
    if is_query and only is not None and _covers(keywords := keywords_of(said), said):
        return {only: keywords}
    if kind == "history" and (part := _history(said, properties, required)) is not None:
        return part
    if only is None or len(properties) != 1:
        return None
    of = properties[only]
    is_free = not any(key in of for key in _NARROWING) and (of.get("type") is None or only in required)
    return {only: said} if is_free and (takes_described or "description" not in of) else None


def objects_in(value: Any) -> list[dict[str, Any]]:
    """A value that is an object, or the objects in a list."""
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [cast("dict[str, Any]", one) for one in values if isinstance(one, dict)]


def is_object_alone(text: str) -> bool:
    """Whether the answer of a model is one JSON object, perhaps in a code fence, and says nothing else.

    >>> is_object_alone('```json\\n{"to": "Ada"}\\n```'), is_object_alone('I will not send {"to": "Ada"}.')
    (True, False)
    """
    said = _FENCE.sub("", _THOUGHT.sub("", text)).strip()
    return said[:1] == "{" and said[-1:] == "}" and len(kit.json_in(said)) == 1


def unwrapped(value: dict[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments without the object that some models put around them."""
    for wrapper in ("arguments", "parameters", "args"):
        inner = None if wrapper in named else value.get(wrapper)
        if isinstance(inner, dict):
            value = cast("dict[str, Any]", inner)
    return value


def _covers(taken: str, said: str) -> bool:
    """Whether a text holds the numbers and names of another one; a capital at its beginning makes no name."""
    told = {found.group().rstrip(".:-/") for found in _TOLD.finditer(said) if not _begins(found, said)}
    # The name of the tool itself ("use search_web to …") is nothing that it has to know.
    return all(one in taken or re.fullmatch(r"[a-z]+(?:_[a-z]+)+", one) for one in told)


def _begins(found: re.Match[str], said: str) -> bool:
    return not said[: found.start()].strip() and re.fullmatch(r"[A-Z][a-z]*", found.group()) is not None


def _history(said: str, properties: Mapping[str, Schema], required: Sequence[str]) -> dict[str, Any] | None:
    """Which part of a conversation, for the parameters that can say it; None if words or parameters are left over."""
    part = history_part(said)
    if part is None:
        return None
    found: dict[str, Any] = {}
    left = {name: value for name, value in part._asdict().items() if value is not None}
    for name, of in properties.items():
        choices = cast("Sequence[Any]", of.get("enum") or ())
        if choices:
            told = [key for key, value in left.items() if value in choices]
        elif of.get("type") in ("integer", "number"):
            # The last ones are what a number of them means.
            told = ["number", "which"] if "number" in left and part.which in (None, "last") else []
        elif re.search(r"role|speaker|sender|author", name, re.I):
            told = ["role"] if "role" in left else []
        else:
            told = []
        if told:
            found[name] = left[told[0]]
            left = {key: value for key, value in left.items() if key not in told}
    if not left and all(name in found for name in required):
        return found
    only = len(properties) == 1 and not found and part.which is not None and part.role is None
    return {next(iter(properties)): str(part)} if only and _is_text(*properties.values()) else None


def _properties(schema: Schema) -> dict[str, Schema]:
    given: Any = schema.get("properties") or {}
    return {name: of if isinstance(of, Mapping) else {} for name, of in given.items()}


def _is_text(schema: Schema) -> bool:
    kind = schema.get("type")
    kinds = cast("list[Any]", kind) if isinstance(kind, list) else [kind]
    if "anyOf" in schema:
        choices = cast("list[Any]", schema["anyOf"])
        return any(_is_text(cast("Schema", one)) for one in choices if isinstance(one, Mapping))
    return "string" in kinds or kind is None
