"""A server on its way into the user's file: its entry, what it may not do, where its paths lead, and what to say about it."""

import os
from fnmatch import fnmatchcase
from typing import Any

from ._clients import ClientFile, folder_of
from ._json import items, members, with_texts

Rules = list[tuple[str, str]]


class Draft:
    """A server on its way into the user's file."""

    def __init__(self, id: str, client: str) -> None:
        self.id, self.client = id, client
        self.entry: Any = {}
        self.notes: list[str] = []
        self.is_left_out = False

    def translate(self, server: dict[str, Any], names: dict[str, str]) -> None:
        """Take keys over by a table of their names and ours, and say which are not in it.

        Those without a name of ours mean nothing to a hub. `toolhub.` leads to our own options, and ` ms` is a time in
        milliseconds where we have seconds.
        """
        left: list[str] = []
        for key, value in server.items():
            ours, _, unit = names.get(key, "").partition(" ")
            if key in ("enabled", "disabled"):
                if value is (key == "disabled"):
                    self.entry["disabled"] = True
            elif key not in names:
                left.append(key)
            elif value is not None and ours:
                if unit and isinstance(value, (int, float)) and not isinstance(value, bool):
                    value = value * 0.001
                inner = ours.removeprefix("toolhub.")
                entry = self.entry.setdefault("toolhub", {}) if inner != ours else self.entry
                entry[inner] = value
        if left:
            self.note(f"keys of '{self.id}' that are not imported: {', '.join(left)}")

    def note(self, sentence: str) -> None:
        """Say something about it when it is imported."""
        self.notes.append(sentence)

    def disable(self, why: str) -> None:
        """Turn the server off, and say why."""
        self.entry["disabled"] = True
        self.note(why)

    def leave_out(self, why: str) -> None:
        """Do not import the server, and say why."""
        self.is_left_out = True
        self.note(why)

    def obey(self, rules: Rules) -> None:
        """Exclude what rules forbid."""
        denied, excepted = _excluded(rules)
        asked = [name for name, effect in rules if effect == "ask" and name in denied]
        if "*" in denied and not excepted:
            if "*" in asked:
                self.disable(
                    f"'{self.id}' is imported disabled, because {self.client} asks before each call of its tools, "
                    "and toolhub does not"
                )
            self.entry["disabled"] = True
            return
        if asked:
            names = ", ".join(asked)
            self.note(
                f"tools of '{self.id}' that are left out, because {self.client} "
                f"asks before they run and toolhub does not: {names}"
            )
        own = self.entry.get("excludeTools", [])
        if denied and isinstance(own, list):
            self.entry["excludeTools"] = [*items(own), *denied, *(f"!{name}" for name in excepted)]


def _excluded(rules: Rules) -> tuple[list[str], list[str]]:
    """The patterns that are excluded, and the exceptions. Where they cannot say what the rules do, more is excluded."""
    denied: list[str] = []
    excepted: list[str] = []
    for pattern, effect in rules:
        if effect == "allow":
            denied = [one for one in denied if not fnmatchcase(one, pattern)]
            excepted = [*excepted, pattern] if denied else []
        else:
            denied = [one for one in denied if one != pattern] + [pattern]
            excepted = [one for one in excepted if not _may_overlap(one, pattern)]
    return denied, excepted


def _may_overlap(one: str, other: str) -> bool:
    has_wildcards = all(set("*?[") & set(pattern) for pattern in (one, other))
    return has_wildcards or fnmatchcase(one, other) or fnmatchcase(other, one)


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
