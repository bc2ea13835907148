"""The signature of a callable, with every hint resolved as far as possible.

A hint that cannot be resolved (imported only for type checkers, defined in a scope that is gone) means
"anything": a hint for a type checker must not prevent registration.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, Union, cast

from . import callables
from .invoke import Layout

NOTHING: Any = inspect.Parameter.empty
Scope = tuple[dict[str, Any], dict[str, Any]]


class Parameter(NamedTuple):
    """One argument that a caller may give."""

    name: str
    hint: Any
    required: bool
    default: Any = NOTHING
    doc: str | None = None
    """The description in the hint itself (`Annotated[int, "how many"]`)."""
    lost: str | None = None
    """The source of a hint that could not be resolved."""


class CallSignature(NamedTuple):
    """All arguments: parameters, the hint of `**kwargs` (or NOTHING), the order for the call."""

    parameters: tuple[Parameter, ...]
    extras: Any
    layout: Layout


def signature_of(obj: Any) -> CallSignature | None:
    """Read the signature of a callable; None when it has none (some builtins).

    >>> [parameter.name for parameter in signature_of(lambda a, *, b=1: 0).parameters]
    ['a', 'b']
    """
    signature = _inspected(obj)
    if signature is None:
        return None
    bound = callables.bound_keywords(obj)
    declared = [
        p for p in signature.parameters.values() if not (p.name in bound and p.kind is p.KEYWORD_ONLY)
    ]
    plain = all(p.annotation is NOTHING or isinstance(p.annotation, type) for p in declared)
    scopes = [] if plain else list(_scopes(callables.innermost(obj)))
    parameters: list[Parameter] = []
    extras: Any = NOTHING
    for p in declared:
        hint, lost = _resolve(p.annotation, scopes)
        if p.kind is p.VAR_POSITIONAL:
            parameters.append(Parameter(p.name, _sequence(hint), required=False, lost=lost))
        elif p.kind is p.VAR_KEYWORD:
            expanded = _expanded(hint)
            parameters.extend(expanded or ())
            extras = hint if expanded is None else NOTHING
        else:
            parameters.append(_parameter(p, hint, lost))
    return CallSignature(tuple(parameters), extras, _layout(declared))


def _inspected(obj: Any) -> inspect.Signature | None:
    try:
        if sys.version_info >= (3, 14):
            from annotationlib import Format

            return inspect.signature(obj, annotation_format=Format.FORWARDREF)
        return inspect.signature(obj)
    except (TypeError, ValueError):
        return None


def _layout(declared: list[inspect.Parameter]) -> Layout:
    positional = [p for p in declared if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return Layout(
        positional=tuple((p.name, p.default) for p in positional),
        fixed=sum(p.kind is p.POSITIONAL_ONLY for p in positional),
        variadic=next((p.name for p in declared if p.kind is p.VAR_POSITIONAL), None),
    )


def _parameter(p: inspect.Parameter, hint: Any, lost: str | None) -> Parameter:
    doc, default = _doc(hint), p.default
    if _is_field(default):
        # `limit: int = Field(10, ge=1)`: the field annotates the parameter and holds the real default.
        hint = _combined(lambda: typing.Annotated[hint, default])
        return Parameter(p.name, hint, default.is_required(), doc=doc, lost=lost)
    if default is NOTHING:
        fields = [note for note in getattr(hint, "__metadata__", ()) if _is_field(note)]
        return Parameter(p.name, hint, all(field.is_required() for field in fields), doc=doc, lost=lost)
    if default is None and not _accepts_none(hint):
        # `x: int = None` is common, and means that None may be given.
        hint = _combined(lambda: typing.Optional[hint])  # noqa: UP045 (a hint may have no `|`)
    return Parameter(p.name, hint, required=False, default=default, doc=doc, lost=lost)


def _combined(make: Callable[[], Any]) -> Any:
    """A hint made of a hint; anything, if that one is not a type."""
    try:
        return make()
    except TypeError:
        return Any


def _is_field(value: Any) -> bool:
    """Whether this is what `pydantic.Field()` gives. Without pydantic loaded it cannot be."""
    fields = sys.modules.get("pydantic.fields")
    # The class alone decides: `isinstance` also asks the value, which may raise anything.
    return fields is not None and issubclass(type(value), fields.FieldInfo)


def _doc(hint: Any) -> str | None:
    """The text in `Annotated[..., "text"]`, or in its `Doc("text")` or `Field(description="text")`."""
    for note in getattr(hint, "__metadata__", ()):
        for text in (note, getattr(note, "documentation", None), getattr(note, "description", None)):
            if isinstance(text, str) and text:
                return text
    return None


def _accepts_none(hint: Any) -> bool:
    if any(hint is free for free in (Any, object, None, type(None))) or isinstance(hint, typing.TypeVar):
        return True
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return _accepts_none(typing.get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return any(_accepts_none(choice) for choice in typing.get_args(hint))
    return origin is Literal and None in typing.get_args(hint)


def _sequence(hint: Any) -> Any:
    """The hint of all of `*args` from the hint of one."""
    if getattr(hint, "__unpacked__", False):  # *args: *tuple[int, str]
        return tuple[typing.get_args(hint)]
    return typing.get_args(hint)[0] if _form(hint) == "Unpack" else list[hint]


def _expanded(hint: Any) -> list[Parameter] | None:
    """The keys of `**options: Unpack[Options]` as parameters; None for any other hint."""
    if _form(hint) != "Unpack":
        return None
    options: Any = typing.get_args(hint)[0]
    required: frozenset[str] = getattr(options, "__required_keys__", frozenset())
    try:
        hints = typing.get_type_hints(options, include_extras=True)
    except Exception:  # whatever a hint evaluates to may fail in any way
        hints = dict.fromkeys(getattr(options, "__annotations__", ()), Any)
    return [Parameter(key, bare(kind), key in required, doc=_doc(kind)) for key, kind in hints.items()]


def bare(hint: Any) -> Any:
    """A TypedDict's hint without Required, NotRequired and the like, which belong to the key."""
    while _form(hint) in ("Required", "NotRequired", "ReadOnly"):
        hint = typing.get_args(hint)[0]
    return hint


def _form(hint: Any) -> str | None:
    """The name of a special form: those of typing and of typing_extensions are different objects."""
    return getattr(typing.get_origin(hint), "_name", None)


def _resolve(annotation: Any, scopes: list[Scope]) -> tuple[Any, str | None]:
    """The hint behind an annotation, and the source text of one that cannot be resolved."""
    if annotation is NOTHING:
        return Any, None
    if isinstance(annotation, type):
        return annotation, None
    for globals_, locals_ in scopes:
        holder = types.SimpleNamespace(__annotations__={"it": annotation})
        try:
            found = typing.get_type_hints(cast(Any, holder), globals_, locals_, include_extras=True)["it"]
        except Exception:  # whatever a hint evaluates to may fail in any way
            continue
        # `InitVar[int]` says where a dataclass keeps the value, not what it is.
        return cast(Any, found).type if isinstance(found, dataclasses.InitVar) else found, None
    source = getattr(annotation, "__forward_arg__", annotation)
    return Any, source.strip("'\"") if isinstance(source, str) else repr(annotation)


def _scopes(function: Any) -> Iterator[Scope]:
    """The scopes in which to look up names of hints, the most likely first."""
    if isinstance(function, type):
        for cls in function.__mro__[:-1]:
            globals_ = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
            yield globals_, {**_enclosing(cls.__qualname__, globals_), **_type_parameters(cls)}
        function = getattr(cast(Any, function), "__init__", None)
    globals_ = getattr(function, "__globals__", {})
    locals_ = _enclosing(getattr(function, "__qualname__", ""), globals_)
    locals_.update(_closure(function))
    locals_.update(_type_parameters(function))
    yield globals_, locals_


def _type_parameters(obj: Any) -> dict[str, Any]:
    return {parameter.__name__: parameter for parameter in getattr(obj, "__type_params__", ())}


def _closure(function: Any) -> Mapping[str, Any]:
    names: tuple[str, ...] = getattr(getattr(function, "__code__", None), "co_freevars", ())
    found = zip(names, callables.cells_of(function), strict=False)
    return {name: value for name, value in found if value is not callables.EMPTY}


def _enclosing(qualname: str, globals_: dict[str, Any]) -> dict[str, Any]:
    """The variables of the functions around a local definition, if they are running now.

    A tool that is defined and registered inside a function may use classes of that function in its hints, and only the frame
    has them. Only frames of these functions, in the same module, are searched.
    """
    around: list[str] = []
    while "<locals>" in qualname:
        qualname = qualname.rpartition(".<locals>.")[0]
        around.append(qualname)
    found: dict[str, Any] = {}
    frame = inspect.currentframe() if around else None
    while frame is not None:
        if frame.f_code.co_qualname in around and frame.f_globals is globals_:
            for name, value in frame.f_locals.items():
                found.setdefault(name, value)
        frame = frame.f_back
    return found
