"""Paths of a project: an imported server finds its program and its files also from another folder."""

import os
from typing import Any

from ._clients import ClientFile, folder_of
from ._draft import Draft
from ._json import items, members, with_texts

_FOLDER, _NAME = "${workspaceFolder}", "${workspaceFolderBasename}"


def settle(draft: Draft, file: ClientFile) -> None:
    """Write what the file's folder means into an entry: a client starts the servers of a project in its folder."""
    folder = os.path.abspath(file.project or folder_of(file.path))
    if file.project is None and (_FOLDER in str(draft.entry) or _NAME in str(draft.entry)):
        draft.note(f"`{_FOLDER}` of '{draft.id}' is {folder} from now on, whatever project is open")
    name = os.path.basename(folder)
    entry = draft.entry = with_texts(
        draft.entry, lambda text: text.replace(_FOLDER, folder).replace(_NAME, name)
    )
    if "command" not in entry:
        return
    cwd = _absolute(entry.get("cwd"), folder)
    if cwd is not None:
        entry["cwd"] = cwd
    elif file.project is not None and (file.is_known or _is_relative(entry, folder)):
        entry["cwd"] = cwd = folder
    if (path := _absolute(entry.get("envFile"), folder)) is not None:
        entry["envFile"] = path
    command = entry["command"]
    if isinstance(command, dict):
        inner = dict(members(command))
        inner["path"] = _program(inner.get("path"), cwd or folder)
        entry["command"] = inner
    else:
        entry["command"] = _program(command, cwd or folder)


def _absolute(path: Any, folder: str) -> str | None:
    """A path inside the folder; None for anything else than a text. Variables and `~` are for the core."""
    if not isinstance(path, str) or not path:
        return None
    return path if path.startswith(("$", "~")) else os.path.normpath(os.path.join(folder, path))


def _program(command: Any, folder: str) -> Any:
    """A program that is named by a relative path; other names are looked up on PATH."""
    if not isinstance(command, str) or command.startswith(("$", "~")) or os.path.isabs(command):
        return command
    path = os.path.normpath(os.path.join(folder, command))
    return path if os.path.dirname(command) and os.path.exists(path) else command


def _is_relative(entry: dict[str, Any], folder: str) -> bool:
    """Whether an entry names something in the folder."""
    command = entry["command"]
    words = [
        *items(entry.get("args")),
        *items(members(command).get("args")),
        members(command).get("path", command),
    ]
    return any(isinstance(word, str) and _names_inside(word, folder) for word in words)


def _names_inside(word: str, folder: str) -> bool:
    if word in (".", "..") or word.startswith(("./", "../")):
        return True
    looks_like_path = not os.path.isabs(word) and ("/" in word or "." in word)
    return looks_like_path and os.path.exists(os.path.join(folder, word))
