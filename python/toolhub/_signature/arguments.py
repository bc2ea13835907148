"""The pydantic part: from what a function takes to a JSON Schema and a builder of Python values.

The core checks and coerces arguments by the JSON Schema. The builder gets arguments that fit and makes what the hints name:
models, dates, enums. It also runs validators and judges Python objects that have no JSON form.

The arguments are described as a TypedDict, so that the builder is one compiled object and returns a new dict.
Parameters with a default are not required and not filled in: the function's own default applies.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Mapping
from typing import Any, NotRequired, Union, cast

import typing_extensions
from pydantic import ConfigDict, TypeAdapter
from pydantic_core import SchemaValidator
from typing_extensions import TypedDict

from . import schema
from .exact import exact, safe
from .parameters import NOTHING, CallSignature, bare
from .plain import plain_names
from .readable import Readable
from .schema import EXTRAS, Arguments, Build

# pydantic accepts look-around only with Python's engine; `patterns` then takes it out of the validator.
_CONFIGS = (
    ConfigDict(extra="forbid", arbitrary_types_allowed=True),
    ConfigDict(extra="forbid", arbitrary_types_allowed=True, regex_engine="python-re"),
)


def build(signature: CallSignature, param_docs: Mapping[str, str]) -> Arguments:
    """Make schema and builder; a hint that pydantic cannot use means "anything" for that parameter."""
    validator, raw = _compile(signature)
    made = schema.assemble(raw, signature, param_docs)
    hidden: tuple[str, ...] = ()
    if len(made["properties"]) < len(signature.parameters):
        names = {parameter.name for parameter in signature.parameters}
        hidden = tuple(sorted(names - made["properties"].keys()))
    return Arguments(made, validator.validate_python, plain_names(signature), hidden)


def builder(signature: CallSignature) -> Build:
    """Only the builder."""
    return _compile(signature)[0].validate_python


def _compile(signature: CallSignature) -> tuple[SchemaValidator, dict[str, Any]]:
    hints = {parameter.name: parameter.hint for parameter in signature.parameters}
    optional = {parameter.name for parameter in signature.parameters if not parameter.required}
    if signature.extras is not NOTHING:
        hints[EXTRAS] = signature.extras
        optional.add(EXTRAS)
    if _NEEDED:
        hints = {name: _modern(hint) for name, hint in hints.items()}
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
            _ = (
                adapter.validator.validate_python
            )  # a type that is not fully defined fails only when it is used
            core, described = cast(Any, adapter.core_schema), adapter.json_schema(schema_generator=Readable)
            if EXTRAS in hints:
                core = _open(core)
            return _validator(exact(safe(core, described))), described
        except Exception:  # hooks of foreign types run in here, and may fail in any way
            continue
    return None


def _validator(core: Any) -> SchemaValidator:
    try:
        # The validators that models were built with have other patterns and scalars.
        return SchemaValidator(core, _use_prebuilt=False)
    except TypeError:  # older versions always build their own
        return SchemaValidator(core)


def _open(core: dict[str, Any]) -> Any:
    """Let the placeholder of `**kwargs` stand for all other keys.

    A config with `extra="allow"` would do it too, but would also open dataclasses and TypedDicts inside.
    """
    if core["type"] == "definitions":
        return {**core, "schema": _open(core["schema"])}
    fields = dict(core["fields"])
    extras = fields.pop(EXTRAS)
    return {**core, "fields": fields, "extra_behavior": "allow", "extras_schema": extras["schema"]}


_NEEDED = sys.version_info < (3, 12)


def _modern(hint: Any, made: dict[Any, Any] | None = None) -> Any:
    """Replace each standard TypedDict in a hint, at any depth, by its twin of `typing_extensions`.

    Before 3.12 pydantic refuses those of the standard library, since they do not say which inherited keys are required.
    """
    made = {} if made is None else made
    if _is_old(hint):
        if hint not in made:
            made[hint] = dict[str, Any]  # what a TypedDict that contains itself sees of itself
            made[hint] = _twin(hint, made)
        return made[hint]
    arguments = typing.get_args(hint)
    changed = tuple(_modern(argument, made) for argument in arguments)
    if all(new is old for new, old in zip(changed, arguments, strict=True)):
        return hint
    origin: Any = typing.get_origin(hint)
    if origin is typing.Annotated:
        return typing.Annotated[(changed[0], *hint.__metadata__)]
    if origin in (Union, types.UnionType):
        return Union[changed]  # noqa: UP007 (a tuple of choices has no other spelling)
    return origin[changed]


def _is_old(hint: Any) -> bool:
    return (
        isinstance(hint, type)
        and type(hint).__name__ == "_TypedDictMeta"
        and type(hint).__module__ == "typing"
    )


def _twin(old: Any, made: dict[Any, Any]) -> Any:
    try:
        hints = typing.get_type_hints(old, include_extras=True)
    except Exception:  # whatever a hint evaluates to may fail in any way; pydantic will refuse the old one
        return old
    fields: dict[str, Any] = {}
    for key, hint in hints.items():
        hint = _modern(bare(hint), made)
        fields[key] = hint if key in old.__required_keys__ else typing_extensions.NotRequired[hint]
    twin = cast(Any, typing_extensions.TypedDict)(old.__name__, fields)
    twin.__doc__, twin.__module__, twin.__qualname__ = old.__doc__, old.__module__, old.__qualname__
    return twin
