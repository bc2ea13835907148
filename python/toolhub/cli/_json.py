"""JSON that others wrote: a value has no members or items that it does not have."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def members(value: "Any") -> "dict[str, Any]":
    """The members of an object; none of anything else.

    >>> members({"a": 1}), members(5)
    ({'a': 1}, {})
    """
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def items(value: "Any") -> "list[Any]":
    """The items of an array; none of anything else."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def texts(value: "Any") -> list[str]:
    """The texts in an array; none of anything else."""
    return [one for one in items(value) if isinstance(one, str)]


def with_texts(value: "Any", change: "Callable[[str], str]") -> "Any":
    """A value whose texts are changed.

    >>> with_texts({"a": ["x", 1]}, str.upper)
    {'a': ['X', 1]}
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [with_texts(one, change) for one in items(value)]
    if isinstance(value, dict):
        return {key: with_texts(one, change) for key, one in members(value).items()}
    return value


def kind(value: "Any") -> str:
    """What a value is, for a sentence.

    >>> kind([]), kind("x"), kind(None)
    ('a list', 'a string', 'null')
    """
    if value is None:
        return "null"
    names = {bool: "a boolean", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")  # pyright: ignore[reportUnknownArgumentType]
