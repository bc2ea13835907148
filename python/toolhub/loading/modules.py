"""The modules of a folder: found, and imported under private names so that they do not clash with other modules.

The folder is a package of its own: its modules may import each other relatively, whether or not it has an
`__init__.py`. Bytecode is neither read nor written: its stamp is too coarse to notice a file that changed just now.
"""

from __future__ import annotations

import importlib
import itertools
import os
import re
import stat
import sys
import traceback
import weakref
from collections.abc import Iterable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
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


_PREFIX = "_toolhub_folder_"
_PRIVATE = re.compile(rf"\b{_PREFIX}\d+\.?")
_numbers = itertools.count(1)


class _FreshSource(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            # Before it is read: what is written meanwhile is a change.
            module.__spec__.loader_state = mark_of(self.path)
        super().exec_module(module)

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _Finder(MetaPathFinder):
    """Python's own way of finding modules, but for the loader."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_PREFIX) or path is None:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _FreshSource(fullname, spec.loader.path)
        return spec


_finder = _Finder()


class Modules:
    """One import of a folder. Names are those inside of the folder; the folder itself is ''."""

    def __init__(self, folder: Path) -> None:
        self.root = f"{_PREFIX}{next(_numbers)}"
        if _finder not in sys.meta_path:
            sys.meta_path.insert(0, _finder)
        # A hub that is never closed leaves no modules behind either.
        self._end = weakref.finalize(self, _forget, self.root)
        self._end.atexit = False
        package = ModuleType(self.root)
        package.__path__ = [str(folder)]
        package.__package__ = self.root
        sys.modules[self.root] = package

    def load(self, name: str, path: Path) -> ModuleType:
        """The module, imported now unless another one has done that already."""
        if name:
            return importlib.import_module(f"{self.root}.{name}")
        module = sys.modules[self.root]
        loader = _FreshSource(self.root, str(path))
        module.__file__ = str(path)
        module.__spec__ = ModuleSpec(self.root, loader, origin=str(path), is_package=True)
        loader.exec_module(module)
        return module

    def borrow(self, name: str, earlier: Modules) -> None:
        """Use the module of an earlier import, because the new one is broken."""
        if name and (module := sys.modules.get(f"{earlier.root}.{name}")) is not None:
            sys.modules[f"{self.root}.{name}"] = module

    def have_changed(self) -> bool:
        """Whether a file has changed since it was imported, also one that only others import."""
        begin = self.root + "."
        specs = [it.__spec__ for name, it in list(sys.modules.items()) if f"{name}.".startswith(begin)]
        marks = [(spec.loader_state, spec.origin) for spec in specs if spec is not None]
        return any(mark is not None and mark_of(str(path)) != mark for mark, path in marks)

    def close(self) -> None:
        """Forget all modules; what runs keeps what it uses."""
        self._end()


def _forget(root: str) -> None:
    for name in [name for name in sys.modules if name == root or name.startswith(root + ".")]:
        sys.modules.pop(name, None)


def why(error: BaseException, path: Path, siblings: Iterable[str] = ()) -> str:
    """What went wrong when a module was imported, in one sentence."""
    if isinstance(error, SystemExit):
        reason = f"it called sys.exit({'' if error.code is None else repr(error.code)}) when it was imported"
    elif isinstance(error, SyntaxError):
        reason = f"{type(error).__name__}: {error.msg}"
    else:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] in siblings:
        reason += "; modules of one folder import each other relatively, as in 'from .module import name'"
    reason = _PRIVATE.sub(".", reason)  # as it is written in the modules
    line = _line(error, path)
    return reason if line is None else f"{reason} (line {line})"


def _line(error: BaseException, path: Path) -> int | None:
    """The last line of that file in the traceback."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), None)
