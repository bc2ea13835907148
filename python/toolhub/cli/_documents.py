"""Files of settings that other programs wrote, as data; `ValueError` with a sentence where one cannot be read."""

import os
from typing import Any

from .. import _core
from ._json import kind, members

_ALLOWED = ("a comment", "a trailing comma")


def read_settings(path: str) -> dict[str, Any]:
    """A file of settings, in the form that its name tells."""
    end = os.path.splitext(path)[1]
    return {".toml": read_toml, ".yaml": read_yaml, ".yml": read_yaml}.get(end, read_document)(path)


def read_document(path: str) -> dict[str, Any]:
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


def read_toml(path: str) -> dict[str, Any]:
    """A TOML file."""
    import tomllib

    try:
        return tomllib.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is not valid TOML: {error}.") from None


def read_yaml(path: str) -> dict[str, Any]:
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
