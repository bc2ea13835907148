"""The pydantic part: from what a function takes to validators and a JSON Schema.

The arguments are described as a TypedDict, so that the validator is one compiled object and gives a new dict.
Parameters with a default are not required and not filled in: the function's own default applies.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NotRequired, cast

import pydantic_core
from pydantic import ConfigDict, TypeAdapter
from pydantic_core import SchemaValidator, ValidationError
from typing_extensions import TypedDict

from . import schema, typeddict
from .declared import single_of
from .parameters import NOTHING, Takes
from .schema import EXTRAS, Readable

# Rust's regular expressions are safe but have no look-around; Python's have.
_CONFIGS = (
    ConfigDict(extra="forbid", arbitrary_types_allowed=True),
    ConfigDict(extra="forbid", arbitrary_types_allowed=True, regex_engine="python-re"),
)
_DEEPEST = 20
_PLAIN = (str, int, float, bool)
_SCALARS = frozenset({*_PLAIN, type(None)})

Check = Callable[[Any], dict[str, Any]]


class Arguments(NamedTuple):
    """What may be passed, and the two checks of it."""

    schema: dict[str, Any]
    validate: Check
    validate_strict: Check
    single: str | None
    plain: tuple[tuple[str, type, bool], ...] | None


def build(taken: Takes, words: Mapping[str, str]) -> Arguments:
    """Build validators and schema; a hint that pydantic cannot use means "anything" for that parameter."""
    hints = {parameter.name: parameter.hint for parameter in taken.parameters}
    optional = {parameter.name for parameter in taken.parameters if not parameter.required}
    if taken.extras is not NOTHING:
        hints[EXTRAS] = taken.extras
        optional.add(EXTRAS)
    validator, raw = _compile(hints, optional)
    made = schema.assemble(raw, taken, words)
    check: Check = validator.validate_python
    if any(_may_nest(part, made) for part in made["properties"].values()):
        check = _lenient(check)
    return Arguments(made, check, _strict(validator), single_of(made), _plain(taken))


def _plain(taken: Takes) -> tuple[tuple[str, type, bool], ...] | None:
    """The parameters whose hint is a scalar type and nothing more, if that is true of all that are required."""
    plain = [parameter for parameter in taken.parameters if any(parameter.hint is kind for kind in _PLAIN)]
    if any(parameter.required and parameter not in plain for parameter in taken.parameters):
        return None
    return tuple((parameter.name, parameter.hint, parameter.required) for parameter in plain)


def _compile(hints: dict[str, Any], optional: set[str]) -> tuple[SchemaValidator, dict[str, Any]]:
    if typeddict.NEEDED:
        hints = {name: typeddict.modern(hint) for name, hint in hints.items()}
    if (compiled := _attempt(hints, optional)) is not None:
        return compiled
    usable = {name: Any if _attempt({name: hint}, optional) is None else hint for name, hint in hints.items()}
    compiled = _attempt(usable, optional)
    if compiled is None:
        raise TypeError(
            f"The parameters {', '.join(map(repr, hints))} cannot be described: pass parameters= instead."
        )
    return compiled


def _attempt(hints: dict[str, Any], optional: set[str]) -> tuple[SchemaValidator, dict[str, Any]] | None:
    for config in _CONFIGS:
        try:
            fields = {name: NotRequired[hint] if name in optional else hint for name, hint in hints.items()}
            typed = cast(Any, TypedDict)("Arguments", fields)
            typed.__pydantic_config__ = config
            adapter: TypeAdapter[Any] = TypeAdapter(typed)
            validator = cast(SchemaValidator, adapter.validator)
            _ = validator.validate_python  # a type that is not fully defined says so only when it is used
            if EXTRAS in hints:
                validator = SchemaValidator(_open(cast(Any, adapter.core_schema)))
            return validator, adapter.json_schema(schema_generator=Readable)
        except Exception:  # hooks of foreign types run in here, and may fail in any way
            continue
    return None


def _open(core: dict[str, Any]) -> Any:
    """Let the place holder of `**kwargs` stand for all other keys.

    A config with `extra="allow"` would do it too, but would also open dataclasses and TypedDicts inside.
    """
    if core["type"] == "definitions":
        return {**core, "schema": _open(core["schema"])}
    fields = dict(core["fields"])
    extras = fields.pop(EXTRAS)
    return {**core, "fields": fields, "extra_behavior": "allow", "extras_schema": extras["schema"]}


def _may_nest(part: Any, root: dict[str, Any], depth: int = 0) -> bool:
    """Whether a value for this schema may be an object or an array; yes, when that is hard to say."""
    if depth > _DEEPEST:  # references may form a ring
        return True
    if "$ref" in part:
        part = root["$defs"][part["$ref"].rpartition("/")[2]]
    if part.get("type") in ("object", "array"):
        return True
    choices = (choice for key in ("anyOf", "oneOf", "allOf") for choice in part.get(key, ()))
    return any(_may_nest(choice, root, depth + 1) for choice in choices)


def _lenient(check: Check) -> Check:
    """Take JSON text for an object or an array, but only where it does not fit as it is."""

    def validate(arguments: Any) -> dict[str, Any]:
        try:
            return check(arguments)
        except ValidationError as error:
            unpacked = _unpacked(arguments, error)
            if unpacked is None:
                raise
        return check(unpacked)

    return validate


def _unpacked(arguments: Any, error: ValidationError) -> dict[str, Any] | None:
    if not isinstance(arguments, Mapping):
        return None
    given = cast("Mapping[str, Any]", arguments)
    found: dict[str, Any] = {}
    for name in {
        line["loc"][0] for line in error.errors(include_url=False, include_context=False) if line["loc"]
    }:
        text = given.get(cast(str, name))
        if isinstance(text, str) and text.lstrip()[:1] in ("{", "["):
            try:
                found[cast(str, name)] = json.loads(text)
            except (ValueError, RecursionError):
                continue
    return {**given, **found} if found else None


def _strict(validator: SchemaValidator) -> Check:
    """Check without coercion.

    What JSON could carry is judged by JSON's rules, by which a date is text and a model an object; other
    values must be of the very type.
    """

    def validate_strict(arguments: Any) -> dict[str, Any]:
        if isinstance(arguments, Mapping):
            arguments = dict(cast("Mapping[str, Any]", arguments))
            if (text := _as_json(arguments)) is not None:
                # Older versions of pydantic (2.7) cannot check JSON against a class that they do not know.
                with contextlib.suppress(NotImplementedError):
                    return validator.validate_json(text, strict=True)
        return validator.validate_python(arguments, strict=True)

    return validate_strict


def _as_json(arguments: dict[str, Any]) -> bytes | None:
    """JSON that gives back just these arguments; None when there is none."""
    try:
        if _is_json(arguments):
            text = pydantic_core.to_json(arguments)
            pydantic_core.from_json(text)
            return text
    except (ValueError, RecursionError):  # too deep, too many digits, half a surrogate pair
        pass
    return None


def _is_json(value: Any) -> bool:
    kind = cast(Any, type(value))
    if kind in _SCALARS:
        return True
    if kind is list:
        return all(map(_is_json, value))
    return kind is dict and all(type(key) is str and _is_json(item) for key, item in value.items())
