"""`typing.TypedDict` for pydantic on Python 3.11.

Before 3.12 pydantic refuses the TypedDict of the standard library, since it does not say which inherited keys
are required; `typing_extensions.TypedDict` does. What a user wrote is rebuilt with the latter, so that both
work.
"""

from __future__ import annotations

import sys
import types
import typing
from typing import Any, Union, cast

import typing_extensions

from .parameters import bare

NEEDED = sys.version_info < (3, 12)


def modern(hint: Any, made: dict[Any, Any] | None = None) -> Any:
    """Replace each standard TypedDict in a hint, at any depth, by its twin."""
    made = {} if made is None else made
    if _is_old(hint):
        if hint not in made:
            made[hint] = dict[str, Any]  # what a TypedDict that contains itself sees of itself
            made[hint] = _twin(hint, made)
        return made[hint]
    arguments = typing.get_args(hint)
    changed = tuple(modern(argument, made) for argument in arguments)
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
        hint = modern(bare(hint), made)
        fields[key] = hint if key in old.__required_keys__ else typing_extensions.NotRequired[hint]
    twin = cast(Any, typing_extensions.TypedDict)(old.__name__, fields)
    twin.__doc__, twin.__module__, twin.__qualname__ = old.__doc__, old.__module__, old.__qualname__
    return twin
