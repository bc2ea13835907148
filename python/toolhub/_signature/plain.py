"""Hints and signatures whose values are JSON as they are: `str`, `int | None`, `list[float]`, `Literal`, …

Their schema needs no pydantic, which takes longer to import than everything else together. It is loaded only when a value has
to be built after all, such as a float from an integer.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, Union, cast

from . import schema
from .parameters import NOTHING, CallSignature
from .schema import Arguments, Build

_SCALARS: tuple[tuple[Any, dict[str, Any]], ...] = (
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (type(None), {"type": "null"}),
    (Any, {}),
    (list, {"type": "array", "items": {}}),
    (dict, {"type": "object", "additionalProperties": True}),
)
_OPTIONS: dict[type, str] = {str: "string", int: "integer", bool: "boolean"}


def is_plain(hint: Any) -> bool:
    """Whether values of this hint are JSON as they are, so that nothing has to be built.

    >>> is_plain(list[int] | None), is_plain(Literal["a", "b"]), is_plain(set[int])
    (True, True, False)
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is None:
        return any(hint is plain for plain, _ in _SCALARS)
    if origin is Literal:
        return all(type(option) in (str, int, bool, type(None)) for option in arguments)
    if origin is dict:
        return arguments[0] is str and is_plain(arguments[1])
    return origin in (list, Union, types.UnionType) and all(map(is_plain, arguments))


def plain_names(signature: CallSignature) -> tuple[str, ...] | None:
    """The plain parameters, if all required parameters are among them."""
    plain = [parameter for parameter in signature.parameters if is_plain(parameter.hint)]
    if any(parameter.required and parameter not in plain for parameter in signature.parameters):
        return None
    return tuple(parameter.name for parameter in plain)


def schema_of(hint: Any) -> dict[str, Any]:
    """The JSON Schema of a plain hint, the same as pydantic's.

    >>> schema_of(list[int] | None)
    {'anyOf': [{'type': 'array', 'items': {'type': 'integer'}}, {'type': 'null'}]}
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return _literal(arguments)
    if origin is list:
        return {"type": "array", "items": schema_of(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(arguments[1]) or True}
    if origin is not None:
        return _union(arguments)
    return dict(next(made for plain, made in _SCALARS if hint is plain))


def _literal(options: tuple[Any, ...]) -> dict[str, Any]:
    made: dict[str, Any] = {"const": options[0]} if len(options) == 1 else {"enum": list(options)}
    kinds: set[type[Any]] = {cast("type[Any]", type(option)) for option in options}
    if len(kinds) == 1 and (name := _OPTIONS.get(kinds.pop())) is not None:
        made["type"] = name
    return made


def _union(choices: tuple[Any, ...]) -> dict[str, Any]:
    made: list[dict[str, Any]] = []
    for choice in map(schema_of, choices):
        if choice not in made:
            made.append(choice)
    return made[0] if len(made) == 1 else {"anyOf": made}


def covers(signature: CallSignature) -> bool:
    """Whether all parameters are plain."""
    extras = signature.extras is NOTHING or is_plain(signature.extras)
    return extras and all(is_plain(parameter.hint) for parameter in signature.parameters)


def build(signature: CallSignature, param_docs: Mapping[str, str]) -> Arguments:
    """The schema of a plain signature, and a builder that loads pydantic at its first call."""
    properties = {parameter.name: schema_of(parameter.hint) for parameter in signature.parameters}
    if signature.extras is not NOTHING:
        properties[schema.EXTRAS] = schema_of(signature.extras)
    raw: dict[str, Any] = {"properties": properties}
    if required := [parameter.name for parameter in signature.parameters if parameter.required]:
        raw["required"] = required
    made = schema.assemble(raw, signature, param_docs)
    return Arguments(made, _LazyBuilder(signature), plain_names(signature), ())


class _LazyBuilder:
    def __init__(self, signature: CallSignature) -> None:
        self._signature = signature
        self._build: Build | None = None

    def __call__(self, arguments: Any) -> dict[str, Any]:
        if self._build is None:
            from .arguments import builder

            self._build = builder(self._signature)
        return self._build(arguments)
