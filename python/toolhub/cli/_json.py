"""JSON that others wrote, where a value has no members or items that it does not have; and files of settings as data."""

import os

from .. import _core

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


def pointed_at(root: "Any", pointer: str) -> "Any":
    """What a pointer such as `#/$defs/Item` leads to; None where it leads nowhere.

    >>> pointed_at({"allOf": [{"a/b": 1}]}, "#/allOf/0/a~1b")
    1
    """
    found = root
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = dict(enumerate(items(found))).get(int(step) if step.isdecimal() else -1)
        else:
            found = members(found).get(step)
    return found


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


_ALLOWED = ("a comment", "a trailing comma")


def read_settings(path: str) -> "dict[str, Any]":
    """A file of settings, in the form that its name tells."""
    end = os.path.splitext(path)[1]
    return {".toml": read_toml, ".yaml": read_yaml, ".yml": read_yaml}.get(end, read_document)(path)


def read_document(path: str) -> "dict[str, Any]":
    """A JSON file, also with comments and trailing commas; an empty one has nothing in it."""
    text = _text(path)
    if not text.strip():
        return {}
    try:
        value, repairs, _ = _core.read_json(text)
    except ValueError as error:
        raise ValueError(f"{path}: is not valid JSON: {error}.") from None
    if wrong := [repair for repair in repairs if repair not in _ALLOWED]:
        raise ValueError(f"{path}: is not valid JSON: {wrong[0]}.")
    if not isinstance(value, dict):
        raise ValueError(f"{path}: must be an object with `mcpServers`, not {kind(value)}.")
    return members(value)


def read_toml(path: str) -> "dict[str, Any]":
    """A TOML file."""
    import tomllib

    try:
        return tomllib.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is not valid TOML: {error}.") from None


def read_yaml(path: str) -> "dict[str, Any]":
    """A YAML file; an empty one has nothing in it."""
    text = _text(path)
    if not text.strip():
        return {}
    try:
        return _core.read_yaml(text)
    except ValueError as error:
        raise ValueError(f"{path}: is not valid YAML: {error}") from None


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is not valid UTF-8.") from None
