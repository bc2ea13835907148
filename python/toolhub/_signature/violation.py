"""A validation error as a list of violations that a model can act on.

Pydantic reports each branch of a union by itself, under a label that is no key of the arguments ("u.int",
"u.list"). The JSON Schema tells where unions are: their labels are taken out of the path, and their branches
become one violation, or, when one branch fits in kind, the violations of that branch alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from . import wording
from .described import Described

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails, ValidationError

_MOST = 50
_MOST_IN_SUMMARY = 5
_DEEPEST = 20
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
_MISSING = (
    "missing",
    "missing_argument",
    "missing_keyword_only_argument",
    "missing_positional_only_argument",
)


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong with the arguments of a call."""

    path: str
    """Where: `rows[2].age`; empty for the arguments as a whole."""
    expected: str
    given: str
    """What was there instead, at most 60 characters."""
    message: str
    """All of it in a sentence."""


@dataclass(slots=True)
class _Line:
    """One of pydantic's errors, and where it lies."""

    error: ErrorDetails
    path: list[str | int]
    unions: list[tuple[int, str]]
    """Unions on the way: length of the path there, and pydantic's label of the branch."""
    schemas: list[Mapping[str, Any]]
    around: list[Mapping[str, Any]]
    """Schemas of the object that holds the last part of the path."""
    is_key: bool = False
    """Whether the key is wrong, not the value under it."""


def violations(error: ValidationError, about: Described | Mapping[str, Any]) -> list[Violation]:
    """Say what is wrong; `about` is the tool, or its JSON Schema. At most 50 are told."""
    root = about.parameters if isinstance(about, Described) else about
    skip = int(isinstance(about, Described) and _is_whole(about))
    lines = [_locate(line, line["loc"][skip:], root) for line in error.errors(include_url=False)[: _MOST * 4]]
    found: dict[str, Violation] = {}
    for group in _settle(lines, 0):
        violation = _violation(group, root)
        found.setdefault(violation.message, violation)
    return list(found.values())[:_MOST]


def summarize(name: str, found: Iterable[Violation]) -> str:
    """Put all violations in one sentence.

    >>> summarize("add", [Violation("a", "an integer", "null", "a: expected an integer, got null")])
    "Invalid arguments for 'add': a: expected an integer, got null."
    """
    messages = [violation.message for violation in found]
    told = "; ".join(messages[:_MOST_IN_SUMMARY])
    more = len(messages) - _MOST_IN_SUMMARY
    return f"Invalid arguments for {name!r}: {told}{f'; and {more} more' if more > 0 else ''}."


def _is_whole(tool: Described) -> bool:
    """Whether the schema is that of the value itself, so that the parameter's name is no part of a path."""
    return tool.style == "value" and (
        tool.value_key is None or tool.value_key not in tool.parameters.get("properties", {})
    )


def _locate(error: ErrorDetails, loc: Sequence[str | int], root: Mapping[str, Any]) -> _Line:
    line = _Line(error, [], [], _resolved([root], root), [])
    for part in loc:
        choices = _choices(line.schemas, root)
        if choices:
            line.unions.append((len(line.path), str(part)))
            line.schemas = choices
        elif part == "[key]" and _holds_any_key(line):
            line.is_key = True
        else:
            line.path.append(part)
            line.around = line.schemas
            line.schemas = _resolved(_children(line.schemas, part), root)
    return line


def _holds_any_key(line: _Line) -> bool:
    """Whether the path ends at a key of the caller's choice: then pydantic's "[key]" is a mark for it."""
    if not line.path or line.error["type"] in _UNKNOWN + _MISSING:
        return False
    return any(
        schema.get("type") == "object" and line.path[-1] not in schema.get("properties", {})
        for schema in line.around
    )


def _resolved(schemas: Iterable[Any], root: Mapping[str, Any], depth: int = 0) -> list[Mapping[str, Any]]:
    """The schemas without references at their roots, and without the choice of null."""
    found: list[Mapping[str, Any]] = []
    for schema in schemas:
        if not isinstance(schema, Mapping) or depth > _DEEPEST:  # references may form a ring
            continue
        known = cast("Mapping[str, Any]", schema)
        choices = _real_choices(known)
        if "$ref" in known:
            definitions: Mapping[str, Any] = root.get("$defs", {})
            found.extend(_resolved([definitions.get(known["$ref"].rpartition("/")[2])], root, depth + 1))
        elif len(choices) == 1:
            found.extend(_resolved(choices, root, depth + 1))
        else:
            found.append(known)
    return found


def _real_choices(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices: Sequence[Mapping[str, Any]] = schema.get("anyOf") or schema.get("oneOf") or ()
    return [choice for choice in choices if choice.get("type") != "null"]


def _choices(schemas: Iterable[Mapping[str, Any]], root: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The branches when there is a union here: then pydantic's next part is a label."""
    found = [choice for schema in schemas for choice in _real_choices(schema)]
    return _resolved(found, root) if len(found) > 1 else []


def _children(schemas: Iterable[Mapping[str, Any]], part: str | int) -> list[Any]:
    found: list[Any] = []
    for schema in schemas:
        if isinstance(part, int):
            places: Sequence[Any] = schema.get("prefixItems", ())
            found.append(places[part] if part < len(places) else schema.get("items"))
        else:
            found.append(schema.get("properties", {}).get(part, schema.get("additionalProperties")))
    return found


def _settle(lines: list[_Line], level: int) -> list[list[_Line]]:
    """Group the lines: one group for one violation."""
    groups: list[list[_Line]] = []
    unions: dict[tuple[str | int, ...], dict[str, list[_Line]]] = {}
    for line in lines:
        if level >= len(line.unions):
            groups.append([line])
            continue
        depth, label = line.unions[level]
        place = tuple(line.path[:depth])
        if place not in unions:
            unions[place] = {}
            groups.append([])  # keeps the order of the arguments
        unions[place].setdefault(label, []).append(line)
    settled = iter(unions.items())
    done: list[list[_Line]] = []
    for group in groups:
        done.extend([group] if group else _settle_union(*next(settled), level))
    return done


def _settle_union(
    place: tuple[str | int, ...], branches: dict[str, list[_Line]], level: int
) -> list[list[_Line]]:
    """A branch with errors inside was the right kind of thing: it alone is told. Else all kinds are."""
    inside = [lines for lines in branches.values() if any(len(line.path) > len(place) for line in lines)]
    if inside:
        return _settle(min(inside, key=_distance), level + 1)
    return [[line for lines in branches.values() for line in lines]]


def _distance(lines: list[_Line]) -> tuple[int, int]:
    """How far off a branch is: by what is wrong, and then by what is not there at all."""
    return len(lines), sum(line.error["type"] in _MISSING for line in lines)


def _violation(group: list[_Line], root: Mapping[str, Any]) -> Violation:
    line = group[0]
    path = wording.path_of(line.path)
    kind = line.error["type"]
    if kind in _UNKNOWN and line.path:
        return _unknown(line, path)
    if kind in _MISSING:
        expected = wording.expected_by_schema(_choices(line.schemas, root) or line.schemas) or "a value"
        return Violation(
            path, expected, "nothing", f"{path}: required argument is missing, expected {expected}"
        )
    given = _given(line)
    if not path:
        names = wording.cut(", ".join(_properties(line.schemas)), 200)
        expected = f"an object with the arguments {names}" if names else "an object"
        return Violation("", expected, given, f"expected {expected}, got {given}")
    words = dict.fromkeys(
        wording.expected_by_error(one.error["type"], one.error["msg"], one.error.get("ctx", {}))
        for one in group
    )
    expected = " or ".join(words) + (" as a key" if line.is_key else "")
    said = expected if kind in ("value_error", "assertion_error") else f"expected {expected}"
    return Violation(path, expected, given, f"{path}: {said}, got {given}")


def _unknown(line: _Line, path: str) -> Violation:
    names = _properties(line.around)
    near = _nearest(str(line.path[-1]), names)
    meant = f"did you mean {near!r}? " if near is not None else ""
    expected = f"only {wording.cut(', '.join(names), 200)}" if names else "no arguments"
    return Violation(
        path,
        expected if near is None else repr(near),
        _given(line),
        f"{path}: unknown argument ({meant}expected {expected})",
    )


def _given(line: _Line) -> str:
    hidden = any(schema.get("writeOnly") is True for schema in line.schemas)
    return wording.given(line.error["input"], line.path, hidden=hidden)


def _properties(schemas: Iterable[Mapping[str, Any]]) -> list[str]:
    return [name for schema in schemas for name in schema.get("properties", {})]


def _nearest(name: str, names: Sequence[str]) -> str | None:
    """The name that was probably meant: the same letters in another style, or nearly the same letters."""
    plain = {_letters(known): known for known in names}
    close = difflib.get_close_matches(_letters(name[:100]), plain, n=1, cutoff=0.6)
    return plain[close[0]] if close else None


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
