"""Which files of a folder are modules of tools."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_LEFT_OUT = frozenset({"node_modules", "venv", "site-packages", "setup.py"})
_DEEPEST = 10
_SKILL = ("SKILL.md", "skill.md")


class ModuleFile(NamedTuple):
    """A file, and the name of its module inside of the folder; that of the folder's own `__init__.py` is empty."""

    name: str
    path: Path


def modules_of(folder: Path, packages_only: bool = False) -> tuple[list[ModuleFile], list[str]]:
    """The modules of a folder, packages before what is in them; and which folders cannot be read, and why.

    Left out: tests (`test_*.py`, `*_test.py`, `conftest.py`), `setup.py`, files and folders whose name begins with `_` or a
    dot (they can still be imported by the others), and folders with a `SKILL.md`, whose scripts are no modules. With
    `packages_only` also folders without an `__init__.py`.
    """
    walk = _Walk(packages_only)
    return sorted(walk.files(folder, "", 0)), walk.problems


def is_skill(folder: Path) -> bool:
    """Whether a folder is a skill of the Agent Skills format."""
    # Not with `Path`, here and below: it raises where one may not look.
    return any(os.path.isfile(folder / name) for name in _SKILL)


class _Walk:
    def __init__(self, packages_only: bool) -> None:
        self._packages_only = packages_only
        self._seen: set[str] = set()
        self.problems: list[str] = []

    def files(self, folder: Path, package: str, depth: int) -> Iterator[ModuleFile]:
        place = os.path.realpath(folder)
        if place in self._seen or depth > _DEEPEST or is_skill(folder):
            return
        self._seen.add(place)  # links may lead back
        try:
            with os.scandir(folder) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.problems.append(f"{folder}: it cannot be read: {error.strerror}")
            return
        for entry in inside:
            stem, dot, ending = entry.name.rpartition(".")
            path = Path(entry.path)
            if entry.name == "__init__.py":
                yield ModuleFile(package.rstrip("."), path)
            elif entry.name.startswith(("_", ".")) or entry.name in _LEFT_OUT:
                continue
            elif os.path.isdir(path):
                is_package = os.path.isfile(path / "__init__.py")
                if "." not in entry.name and (is_package or not self._packages_only):
                    yield from self.files(path, f"{package}{entry.name}.", depth + 1)
            elif dot and ending == "py" and "." not in stem and not _is_test(stem):
                yield ModuleFile(package + stem, path)


def _is_test(stem: str) -> bool:
    return stem.startswith("test_") or stem.endswith("_test") or stem == "conftest"


def mark_of(path: str | Path) -> tuple[int, int, int] | None:
    """What changes when a file does; None when it is gone."""
    try:
        data = os.stat(path)
    except OSError:
        return None
    return data.st_mtime_ns, data.st_size, data.st_ino
