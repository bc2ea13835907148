"""From the words of a step to the arguments of its tool."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from .phrases import expression_of, history_part, keywords_of

Schema = Mapping[str, Any]

_PATH = r"(?:[\w.~-]*/)*[\w.-]+\.[A-Za-z]\w{0,7}\b|/(?:[\w.-]+/?)+"
_FORMS: list[tuple[str, str]] = [
    # Words in the name of a parameter, and the form of its values.
    (r"url|uri|link|website", r"https?://[^\s\"'<>]+"),
    (r"email|mail|recipient", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    (r"timezone|time_zone|tz", r"\b(?:[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?|UTC|GMT)\b"),
    (r"date|day", r"\b\d{4}-\d{2}-\d{2}\b"),
    (r"path|file|filename|folder|directory|dir", _PATH),
    (r"cell|range", r"\b[A-Z]{1,3}\d+(?::[A-Z]{1,3}\d+)?\b"),
]
_QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|「([^」]+)」|'([^']{2,})'|`([^`]+)`")
_NUMBERS = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w])")
_CONTENT = re.compile(r"text|content|body|data|message|document|input|value", re.I)
_REFERS = re.compile(
    r"\b(?:result|output|answer|above|previous|it|them|that|step \d+)\b|结果|上述|上面|步骤", re.I
)
_STEP_RESULT = re.compile(
    r"\{\{?\s*(?:steps?[_ ]?)?(\w+?)(?:\.result)?\s*\}\}?|(?:the )?(?:result|output|answer|value) (?:of|from) step (\w+)|"
    r"step (\w+)'s (?:result|output|answer)|步骤\s*(\w+)\s*的结果",
    re.I,
)


class NoExpressionError(Exception):
    """A calculation in which nothing can be calculated."""


def with_results(text: str, texts: Mapping[str, str]) -> str:
    """A text with the results that it refers to in their place, if they are short.

    >>> with_results("Multiply the result of step 1 by 3", {"1": "14"})
    'Multiply 14 by 3'
    """

    def put_in(found: re.Match[str]) -> str:
        named = next(group for group in found.groups() if group)
        result = texts.get(named.lower(), "")
        number = _NUMBERS.findall(result)
        if len(number) == 1:
            return number[0]
        return result if 0 < len(result) <= 100 else found.group()

    return _STEP_RESULT.sub(put_in, text)


def arguments_for(
    kind: str, description: str, schema: Schema, texts: Mapping[str, str]
) -> dict[str, Any] | None:
    """The arguments by the kind of the tool; None if its kind tells nothing.

    A calculation without an expression raises `NoExpressionError`.
    """
    said = with_results(description, texts)
    taker = _only_text(schema)
    if kind == "calculation" and taker is not None:
        expression = expression_of(said)
        if expression is None:
            raise NoExpressionError("The step holds no expression to calculate.")
        return {taker: expression}
    if kind == "search" and (
        query := taker or _named(schema, r"query|keywords?|q|search|text|question|input")
    ):
        return {query: keywords_of(said)}
    if kind == "history":
        return _history(said, schema)
    if kind == "calculation" and not _NUMBERS.search(said):
        raise NoExpressionError("The step holds no number to calculate with.")
    return None


def by_schema(description: str, schema: Schema, texts: Mapping[str, str]) -> dict[str, Any]:
    """The arguments that the words of a step and the results before it give, by the schema of the tool.

    >>> by_schema("Read 'Sheet1' of data/a.xlsx", {"properties": {"filepath": {"type": "string"},
    ...     "sheet_name": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["filepath", "sheet_name"]}, {})
    {'filepath': 'data/a.xlsx', 'sheet_name': 'Sheet1'}
    """
    said = with_results(description, texts)
    found: dict[str, Any] = {}
    spare = said
    quoted = [next(part for part in one if part) for one in _QUOTED.findall(said)]
    required = _required(schema)
    properties = _properties(schema)
    for name in sorted(properties, key=lambda name: name not in required):
        value = _by_form(name, properties[name], spare)
        if value is not None:
            found[name] = value
            spare = spare.replace(str(value), " ", 1)
            quoted = [one for one in quoted if one != value]
    numbers = [_number(one) for one in _NUMBERS.findall(_QUOTED.sub(" ", spare))]
    for name in required:
        if name not in found and name in properties:
            value = _required_value(name, properties[name], quoted, numbers, said, texts)
            if value is not None:
                found[name] = value
    left = [name for name in required if name not in found and _is_text(properties.get(name, {}))]
    if len(left) == 1:
        found[left[0]] = said
    return found


def objects_in(value: Any) -> list[dict[str, Any]]:
    """A value that is an object, or the objects in a list."""
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [cast("dict[str, Any]", one) for one in values if isinstance(one, dict)]


def unwrapped(value: dict[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments without the object that some models put around them."""
    for wrapper in ("arguments", "parameters", "args"):
        inner = None if wrapper in named else value.get(wrapper)
        if isinstance(inner, dict):
            value = cast("dict[str, Any]", inner)
    return value


def _required_value(
    name: str,
    schema: Schema,
    quoted: list[str],
    numbers: list[int | float],
    said: str,
    texts: Mapping[str, str],
) -> Any:
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return numbers.pop(0) if numbers else None
    if kind == "array":
        items = list(quoted) or list(numbers)
        quoted.clear()
        return items or None
    if not _is_text(schema):
        return None
    if quoted:
        return quoted.pop(0)
    if texts and _CONTENT.search(name) and _REFERS.search(said):
        return list(texts.values())[-1]
    return None


def _by_form(name: str, schema: Schema, said: str) -> Any:
    """A value that only this parameter can have: one of its choices, one of its form, or a number beside its name."""
    choices = schema.get("enum")
    if isinstance(choices, Sequence) and not isinstance(choices, str):
        return next((one for one in cast("Sequence[Any]", choices) if _says(said, str(one))), None)
    words = name.replace("_", " ")
    if schema.get("type") in ("integer", "number"):
        beside = re.search(
            rf"\b{re.escape(words)}s?\b\s*(?:is|=|:|of|to)?\s*(-?\d+(?:\.\d+)?)|(-?\d+(?:\.\d+)?)\s+{re.escape(words)}s?\b",
            said,
            re.I,
        )
        return None if beside is None else _number(beside.group(1) or beside.group(2))
    if not _is_text(schema):
        return None
    for pattern, form in _FORMS:
        if re.search(rf"(?:^|_)(?:{pattern})|(?:{pattern})(?:$|_)", name, re.I):
            value = re.search(form, said)
            return None if value is None else value.group().rstrip(".,;")
    return None


def _says(said: str, choice: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(choice)}(?!\w)", said, re.I) is not None


def _history(said: str, schema: Schema) -> dict[str, Any]:
    part = history_part(said)
    found: dict[str, Any] = {}
    properties, required = _properties(schema), _required(schema)
    for name, of in properties.items():
        choices = of.get("enum")
        if isinstance(choices, Sequence) and not isinstance(choices, str):
            wanted = {str(part.role), part.which, str(part)}
            value = next((one for one in cast("Sequence[Any]", choices) if str(one).lower() in wanted), None)
        elif of.get("type") in ("integer", "number"):
            value = part.number
        elif re.search(r"role|speaker|sender|author", name, re.I):
            value = part.role
        elif re.search(r"query|keyword|topic|about|search", name, re.I):
            value = part.about
        elif name in required or re.search(r"which|part|range|scope|mode", name, re.I):
            value = str(part)
        else:
            value = None
        if value is not None:
            found[name] = value
    return found


def _properties(schema: Schema) -> dict[str, Schema]:
    given: Any = schema.get("properties") or {}
    return {name: of if isinstance(of, Mapping) else {} for name, of in given.items()}


def _required(schema: Schema) -> list[str]:
    return list(schema.get("required") or ())


def _only_text(schema: Schema) -> str | None:
    """The parameter that takes the whole input: the only required one, or the only one, if it is text."""
    properties, required = _properties(schema), _required(schema)
    names = required or list(properties)
    return names[0] if len(names) == 1 and _is_text(properties.get(names[0], {})) else None


def _named(schema: Schema, pattern: str) -> str | None:
    matching = re.compile(rf"(?:{pattern})", re.I)
    return next((n for n, of in _properties(schema).items() if matching.fullmatch(n) and _is_text(of)), None)


def _is_text(schema: Schema) -> bool:
    kind = schema.get("type")
    kinds = cast("list[Any]", kind) if isinstance(kind, list) else [kind]
    if "anyOf" in schema:
        choices = cast("list[Any]", schema["anyOf"])
        return any(_is_text(cast("Schema", one)) for one in choices if isinstance(one, Mapping))
    return "string" in kinds or kind is None


def _number(text: str) -> int | float:
    plain = text.replace(",", "")
    return float(plain) if "." in plain else int(plain)
