"""All facts about a callable, gathered once and cached as long as the function lives.

The cache must not hold the function itself, or it would never be freed. So facts describe how to call, and each
description makes its own call. Defaults may refer to the function too, through a hub that holds it: functions with such
defaults are not cached.
"""

from __future__ import annotations

import gc
import operator
import types
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from . import callables, docstrings, invoke, parameters, plain
from .callables import Behaviour
from .invoke import Layout
from .parameters import NOTHING, CallSignature, Parameter

if TYPE_CHECKING:
    from .schema import Arguments


class Facts:
    """What one callable is: descriptions, parameters, behaviour, and (on first use) schema and builder."""

    __slots__ = ("_arguments", "behaviour", "description", "param_docs", "signature")

    def __init__(self, obj: Any) -> None:
        """Gather everything that needs no pydantic."""
        read = [docstrings.read(doc) for doc in callables.docs_of(obj)]
        self.description = next((docs.description for docs in read if docs.description), "")
        self.param_docs: dict[str, str] = _field_docs(obj)
        for docs in read:
            self.param_docs = {**docs.parameters, **self.param_docs}
        self.signature: CallSignature | None = parameters.signature_of(obj)
        self.behaviour: Behaviour = callables.behaviour(obj)
        self._arguments: Arguments | None = None

    @property
    def arguments(self) -> Arguments | None:
        """Schema and builder; None for a callable without a signature."""
        if self._arguments is None and self.signature is not None:
            if plain.covers(self.signature):
                self._arguments = plain.build(self.signature, self.param_docs)
            else:
                from . import arguments

                self._arguments = arguments.build(self.signature, self.param_docs)
        return self._arguments

    @property
    def may_change(self) -> bool:
        """Whether a hint names something that may be defined later, further down in its module."""
        return self.signature is not None and any(p.lost is not None for p in self.signature.parameters)

    @property
    def single_parameter(self) -> Parameter | None:
        """The parameter of a callable that takes just one value, by position; else None."""
        if (
            self.signature is None
            or len(self.signature.parameters) != 1
            or self.signature.extras is not NOTHING
        ):
            return None
        layout = self.signature.layout
        by_position = len(layout.positional) == 1 and layout.variadic is None
        return self.signature.parameters[0] if by_position else None

    def call(self, obj: Callable[..., Any], *, by_value: bool = False) -> Callable[..., Any]:
        """The call of `obj`, to which these facts belong."""
        layout = Layout() if self.signature is None or by_value else self.signature.layout
        return invoke.adapt(obj, self.behaviour, layout)


# By function; bound methods lack the first parameter, so they have a cache of their own.
_Known = WeakKeyDictionary[types.FunctionType, tuple[tuple[Any, ...], Facts]]
_functions, _methods = _Known(), _Known()


def facts_of(obj: Any) -> Facts:
    """The facts about a callable, from the cache if it is a known function or bound method.

    >>> facts_of(facts_of) is facts_of(facts_of)
    True
    """
    if type(obj) is types.FunctionType:
        known, function = _functions, obj
    elif type(obj) is types.MethodType and type(cast(Any, obj).__func__) is types.FunctionType:
        known, function = _methods, cast(types.FunctionType, obj.__func__)
    else:
        return Facts(obj)
    # A docstring or a default may change after the first description.
    now = function.__code__, function.__doc__, function.__defaults__, function.__kwdefaults__
    before, facts = known.get(function, ((), None))
    if facts is not None and all(map(operator.is_, before, now)):
        return facts
    facts = Facts(obj)
    if not facts.may_change and not _may_refer(function):
        known[function] = now, facts
    return facts


def _may_refer(function: types.FunctionType) -> bool:
    """Whether a default may refer to other objects, and so, in the end, to the function."""
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    # The class alone decides: `isinstance` also asks the value, which may raise anything.
    return any(gc.is_tracked(value) and not issubclass(type(value), Enum) for value in defaults)


def _field_docs(obj: Any) -> dict[str, str]:
    """The descriptions of the fields of a pydantic model, when its class is the callable."""
    fields: Any = getattr(obj, "model_fields", None) if isinstance(obj, type) else None
    if not isinstance(fields, dict):
        return {}
    return {
        field.alias or name: field.description
        for name, field in cast("dict[str, Any]", fields).items()
        if getattr(field, "description", None)
    }
