"""Finds the modules of a folder, and files that look like modules but cannot be imported."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_LEFT_OUT = frozenset({"node_modules", "venv", "site-packages", "setup.py"})
_DEEPEST = 10
SKILL = ("SKILL.md", "skill.md")


class ModuleFile(NamedTuple):
    """A file, and the name of its module inside of the folder; that of the folder's own `__init__.py` is empty."""

    name: str
    path: Path


class Found(NamedTuple):
    """The modules of a folder, packages before what is in them; what was passed over, and what cannot be read."""

    modules: list[ModuleFile]
    skipped: list[str]
    errors: list[str]


def modules_of(folder: Path, packages_only: bool = False) -> Found:
    """The modules of a folder.

    Left out: tests (`test_*.py`, `*_test.py`, `conftest.py`), `setup.py`, files and folders whose name begins with `_` or a
    dot (they can still be imported by the others), and folders with a `SKILL.md`, whose scripts are not modules. With
    `packages_only` also folders without an `__init__.py`. Names that Python cannot import are skipped with a
    note.
    """
    walk = _Walk(packages_only)
    return Found(sorted(walk.files(folder, "", 0)), walk.skipped, walk.errors)


def is_skill(folder: Path) -> bool:
    """Whether a folder is a skill of the Agent Skills format, or looks like one: its scripts are not modules."""
    # Not with `Path`, here and below: it raises without read permission.
    return any(os.path.lexists(folder / name) for name in SKILL)


def why_no_file(path: str | Path) -> str | None:
    """Why something that exists is not a readable file; None if it is one."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return "is a broken link"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if stat.S_ISREG(mode):
        return None
    return "is a folder" if stat.S_ISDIR(mode) else "is not a file"


class _Walk:
    def __init__(self, packages_only: bool, seen: Iterable[str] = ()) -> None:
        self._packages_only = packages_only
        self._seen = set(seen)
        self.skipped: list[str] = []
        self.errors: list[str] = []

    def files(self, folder: Path, package: str, depth: int) -> Iterator[ModuleFile]:
        place = os.path.realpath(folder)
        if place in self._seen or depth > _DEEPEST or is_skill(folder):
            return
        self._seen.add(place)  # links may lead back
        try:
            with os.scandir(folder) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.errors.append(f"{folder}: it cannot be read: {error.strerror}")
            return
        for entry in inside:
            path = Path(entry.path)
            if entry.name == "__init__.py":
                if self._is_file(path):
                    yield ModuleFile(package.rstrip("."), path)
            elif entry.name.startswith(("_", ".")) or entry.name in _LEFT_OUT:
                continue
            elif os.path.isdir(path):
                yield from self._below(path, package, depth + 1)
            elif _looks_like_module(path) and self._is_file(path) and self._has_fitting_name(path):
                yield ModuleFile(package + path.stem, path)

    def _below(self, folder: Path, package: str, depth: int) -> Iterator[ModuleFile]:
        if self._packages_only and not os.path.isfile(folder / "__init__.py"):
            return
        if "." not in folder.name:
            yield from self.files(folder, f"{package}{folder.name}.", depth)
        elif any(_Walk(self._packages_only, self._seen).files(folder, "", depth)):
            self._skip(folder, "a folder with a dot in its name cannot be imported", _undotted(folder.name))

    def _is_file(self, path: Path) -> bool:
        why = why_no_file(path)
        if why is not None:
            self.errors.append(f"{path}: it {why}")
        return why is None

    def _has_fitting_name(self, path: Path) -> bool:
        better = _undotted(path.stem) + ".py"
        if "." in path.stem:
            self._skip(path, "a file with a dot in its name cannot be imported", better)
        elif path.suffix != ".py":
            self._skip(path, "only files whose name ends in '.py' are imported", better)
        return path.name == better

    def _skip(self, path: Path, why: str, better: str) -> None:
        self.skipped.append(f"{path}: {why}; call it {better!r}")


def _undotted(name: str) -> str:
    return name.replace(".", "_")


def _looks_like_module(path: Path) -> bool:
    stem = path.stem
    is_test = stem.startswith("test_") or stem.endswith("_test") or stem == "conftest"
    return path.suffix.lower() == ".py" and not is_test


def mark_of(path: str | Path) -> tuple[int, int, int] | None:
    """A stamp that changes with the file; None if it is gone."""
    try:
        data = os.stat(path)
    except OSError:
        return None
    return data.st_mtime_ns, data.st_size, data.st_ino
