"""All that is known of a callable, found out once and remembered as long as the function lives.

The memory must not hold the function itself, or it would never be freed: so facts say how to call, and the
call is put together for each description.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from . import callables, docstrings, invoke, parameters
from .callables import Behaviour
from .invoke import Layout
from .parameters import NOTHING, Parameter, Takes

if TYPE_CHECKING:
    from .arguments import Arguments


class Facts:
    """What one callable is: words, parameters, behaviour, and (once asked for) validators."""

    __slots__ = ("_arguments", "behaviour", "description", "takes", "words")

    def __init__(self, obj: Any) -> None:
        """Find out all that needs no pydantic."""
        read = [docstrings.read(doc) for doc in callables.docs_of(obj)]
        self.description = next((words.description for words in read if words.description), "")
        self.words: dict[str, str] = _field_words(obj)
        for words in read:
            self.words = {**words.parameters, **self.words}
        self.takes: Takes | None = parameters.takes(obj)
        self.behaviour: Behaviour = callables.behaviour(obj)
        self._arguments: Arguments | None = None

    @property
    def arguments(self) -> Arguments | None:
        """Validators and schema; None for a callable without a signature."""
        if self._arguments is None and self.takes is not None:
            from . import arguments

            self._arguments = arguments.build(self.takes, self.words)
        return self._arguments

    @property
    def may_change(self) -> bool:
        """Whether a hint names something that may yet be defined, further down in its module."""
        return self.takes is not None and any(p.lost is not None for p in self.takes.parameters)

    @property
    def lone(self) -> Parameter | None:
        """The parameter of a callable that takes just one value, by position; else None."""
        if self.takes is None or len(self.takes.parameters) != 1 or self.takes.extras is not NOTHING:
            return None
        layout = self.takes.layout
        by_position = len(layout.positional) == 1 and layout.variadic is None
        return self.takes.parameters[0] if by_position else None

    def call(self, obj: Callable[..., Any], *, by_value: bool = False) -> Callable[..., Any]:
        """How to call `obj`, of which these are the facts."""
        layout = Layout() if self.takes is None or by_value else self.takes.layout
        return invoke.adapt(obj, self.behaviour, layout)


class _Known(NamedTuple):
    """Facts, and what they were read from: a docstring or default may be set after the first description."""

    code: types.CodeType
    doc: str | None
    defaults: tuple[Any, ...] | None
    keyword_defaults: dict[str, Any] | None
    facts: Facts

    def holds(self, function: types.FunctionType) -> bool:
        return (
            self.code is function.__code__
            and self.doc is function.__doc__
            and self.defaults is function.__defaults__
            and self.keyword_defaults is function.__kwdefaults__
        )


# By function; methods bound to an object lack the first parameter, so they have a memory of their own.
_functions: WeakKeyDictionary[types.FunctionType, _Known] = WeakKeyDictionary()
_methods: WeakKeyDictionary[types.FunctionType, _Known] = WeakKeyDictionary()


def facts_of(obj: Any) -> Facts:
    """The facts about a callable, from memory when it is a function or a bound method that is known.

    >>> facts_of(facts_of) is facts_of(facts_of)
    True
    """
    if type(obj) is types.FunctionType:
        known, function = _functions, obj
    elif type(obj) is types.MethodType and type(cast(Any, obj).__func__) is types.FunctionType:
        known, function = _methods, cast(types.FunctionType, obj.__func__)
    else:
        return Facts(obj)
    found = known.get(function)
    if found is not None and found.holds(function):
        return found.facts
    facts = Facts(obj)
    if not facts.may_change:
        known[function] = _Known(
            function.__code__, function.__doc__, function.__defaults__, function.__kwdefaults__, facts
        )
    return facts


def _field_words(obj: Any) -> dict[str, str]:
    """What the fields of a pydantic model say, when its class is the callable."""
    fields: Any = getattr(obj, "model_fields", None) if isinstance(obj, type) else None
    if not isinstance(fields, dict):
        return {}
    return {
        field.alias or name: field.description
        for name, field in cast("dict[str, Any]", fields).items()
        if getattr(field, "description", None)
    }
