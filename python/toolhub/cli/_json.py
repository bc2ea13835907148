"""JSON that others wrote: what it is not, it does not have."""

TYPE_CHECKING = False
if TYPE_CHECKING:
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


def kind(value: "Any") -> str:
    """What a value is, for a sentence.

    >>> kind([]), kind("x"), kind(None)
    ('a list', 'a string', 'null')
    """
    if value is None:
        return "null"
    names = {bool: "a boolean", str: "a string", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")  # pyright: ignore[reportUnknownArgumentType]
