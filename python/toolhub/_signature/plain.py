"""Signatures whose values are all JSON as they are.

Their schema needs no pydantic, which takes longer to import than everything else together. It is loaded only when a value has
to be built after all, such as a float from an integer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import schema
from .declared import single_of
from .hints import is_plain, plain_names, schema_of
from .parameters import NOTHING, CallSignature
from .schema import Arguments, Build


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
    return Arguments(made, _LazyBuilder(signature), single_of(made), plain_names(signature), ())


class _LazyBuilder:
    def __init__(self, signature: CallSignature) -> None:
        self._signature = signature
        self._build: Build | None = None

    def __call__(self, arguments: Any) -> dict[str, Any]:
        if self._build is None:
            from .arguments import builder

            self._build = builder(self._signature)
        return self._build(arguments)
