"""Modules of a folder, imported under private names so that they do not clash with other modules.

The folder is a package of its own: its modules may import each other relatively, whether or not it has an
`__init__.py`. Bytecode is neither read nor written: its stamp is too coarse to notice a file that changed just now.
"""

from __future__ import annotations

import importlib
import itertools
import re
import sys
import traceback
import weakref
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from .files import mark_of

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
