"""The folders that a hub was given, loaded and loaded again, and which of their tools are in the hub."""

from __future__ import annotations

import importlib
import os
import threading
import types
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .. import _core
from .._checks import check_path
from .._decorator import MARK
from .._signature.callables import name_of
from ..servers import LoadReport, LogOnce
from .members import Member, Outline, members, outline
from .modules import ModuleFile, Modules, is_skill, modules_of, why

if TYPE_CHECKING:
    from ..hub._registration import Registration


@dataclass
class _Known:
    """A module as it was imported: its tools, and what is to be said about it."""

    path: Path
    home: Modules
    tools: list[tuple[str, Member]] = field(default_factory=list[tuple[str, Member]])
    notes: list[str] = field(default_factory=list[str])
    faults: list[str] = field(default_factory=list[str])


class ModuleFolder:
    """A folder of modules. When something in it has changed, all of it is imported again, under new private names."""

    def __init__(self, folder: Path, source: str) -> None:
        self.folder = folder
        self.source = source
        self._imports: list[Modules] = []
        """The import that counts, and before it those that may still be in use."""
        self._known: dict[str, _Known] = {}
        self._files: list[ModuleFile] = []
        self._errors: list[str] = []
        self._is_importing = False
        self._ours: dict[str, list[Any]] = {}
        """All objects that may be registered under a name: the user may interrupt while one replaces another."""
        self._done: dict[str, Any] = {}

    def load(self, hub: Registration, asked: bool) -> LoadReport:
        """Bring the hub up to date with the folder, and report all of it if it was `asked` for, otherwise what has changed.

        What was removed by hand comes back only if the folder was asked for, or has changed.
        """
        # Loose files in a folder of skills are mostly scripts, which must not be run here.
        found = modules_of(self.folder, packages_only=self.source == "skills")
        files, hidden = _without_hidden(found.modules)
        # A module may load its own folder while it is imported.
        if not self._is_importing and self._is_stale(files):
            self._is_importing = True
            try:
                self._import_all(files)
            finally:
                self._is_importing = False
        report = LoadReport([], [*found.skipped, *hidden], [*found.errors, *self._errors])
        self._register_all(hub, asked, report)
        return report

    def close(self) -> None:
        """Forget the modules; what runs keeps what it uses."""
        for modules in self._imports:
            modules.close()

    def _is_stale(self, files: list[ModuleFile]) -> bool:
        # What a broken module needs may be there now, wherever it is.
        return (
            bool(self._errors)
            or files != self._files
            or any(one.have_changed() for one in self._imports[-1:])
        )

    def _import_all(self, files: list[ModuleFile]) -> None:
        """Import all modules; one that is broken stays as it was. When the user interrupts it, all do."""
        importlib.invalidate_caches()
        fresh = Modules(self.folder)
        known: dict[str, _Known] = {}
        errors: list[str] = []
        siblings = {file.name for file in files}
        for file in files:
            try:
                known[file.name] = _imported(fresh, file)
            except KeyboardInterrupt:
                fresh.close()
                raise
            except BaseException as error:
                reason = f"{file.path}: {why(error, file.path, siblings)}"
                if (old := self._known.get(file.name)) is not None:
                    known[file.name] = old
                    fresh.borrow(file.name, old.home)
                    reason += "; its tools stay as they were" if old.tools else ""
                errors.append(reason)
        # Functions of the last import may still run, and import more.
        used = [*(one.home for one in known.values()), *self._imports[-1:]]
        for modules in self._imports:
            if modules not in used:
                modules.close()
        self._imports = [*(one for one in self._imports if one in used), fresh]
        self._known, self._files, self._errors = known, files, errors

    def _register_all(self, hub: Registration, asked: bool, report: LoadReport) -> None:
        wanted = {name for known in self._known.values() for name, _ in known.tools}
        for name in [name for name in self._ours if name not in wanted]:
            for tool in self._registered(hub, name):
                hub.unregister(name, self.source, tool=tool)
                report.removed.append(name)
            del self._ours[name]
            self._done.pop(name, None)
        owners: dict[str, tuple[Path, Any]] = {}
        changed: list[str] = []
        for known in self._known.values():
            report.skipped.extend(known.notes)
            report.errors.extend(known.faults)
            for name, member in known.tools:
                path, tool = owners.get(name, (None, None))
                if tool is member.tool or (
                    not asked and path is None and self._was_removed(hub, name, member)
                ):
                    continue
                try:
                    if path is None and self._register(hub, name, member, changed):
                        owners[name] = known.path, member.tool
                        continue
                except Exception as error:
                    report.errors.append(f"{known.path}: {member.name} is not a tool: {error}")
                    continue
                by = "" if path is None else f" by {path}"
                report.skipped.append(f"{known.path}: the name {name!r} of {member.name} is taken{by}")
        report.loaded.extend(owners if asked else changed)

    def _register(self, hub: Registration, name: str, member: Member, changed: list[str]) -> bool:
        """Register a tool, in place of what was ours; False if the name is taken."""
        ours = self._registered(hub, name)
        if ours and self._done.get(name) is member.tool:
            return True
        if not ours and hub.registered(name, self.source):
            return False
        self._ours[name] = [*ours, member.tool]
        hub.register(member.tool, name=name, source=self.source, instead_of=ours[0] if ours else None)
        self._ours[name], self._done[name] = [member.tool], member.tool
        changed.append(name)
        return True

    def _was_removed(self, hub: Registration, name: str, member: Member) -> bool:
        """Whether the user has removed a tool that was registered."""
        return self._done.get(name) is member.tool and not self._registered(hub, name)

    def _registered(self, hub: Registration, name: str) -> list[Any]:
        """What is registered under a name and is ours."""
        ours = self._ours.get(name, [])
        return [tool for tool in hub.registered(name, self.source) if any(tool is one for one in ours)]


def _imported(modules: Modules, file: ModuleFile) -> _Known:
    module = modules.load(file.name, file.path)
    known = _Known(file.path, modules)
    for member in members(module, _outline_of(file.path)):
        if member.reason is None:
            known.tools.append((_name(member.tool), member))
        else:
            (known.faults if member.broken else known.notes).append(f"{file.path}: {member.reason}")
    if not (known.tools or known.faults or known.notes) and file.path.name != "__init__.py":
        known.notes.append(f"{file.path}: nothing in it is marked or has name, description and execute")
    return known


def _without_hidden(files: list[ModuleFile]) -> tuple[list[ModuleFile], list[str]]:
    """Without modules that cannot be imported, because a package has their name; and a word about each."""
    packages = {file.name for file in files if file.path.name == "__init__.py"}
    hidden = [file for file in files if file.name in packages and file.path.name != "__init__.py"]
    notes = [f"{file.path}: the folder of the same name beside it hides it from Python" for file in hidden]
    return [file for file in files if file not in hidden], notes


def _outline_of(path: Path) -> Outline:
    try:
        return outline(path.read_bytes())
    except OSError:
        return Outline()


def _name(tool: Any) -> str:
    """The name that the hub will use."""
    marked: Any = getattr(tool, MARK, None) or {}
    if marked.get("name"):
        return str(marked["name"])
    own: Any = None if isinstance(tool, types.FunctionType) else getattr(tool, "name", None)
    return own if isinstance(own, str) and own else name_of(tool)


_PATIENCE = 30.0


class SkillFolder:
    """A folder of skills: `SKILL.md` files, and Python modules with skill classes."""

    def __init__(self, folder: Path, core: _core.Hub, python: bool) -> None:
        self._core = core
        self._skills = _core.SkillFolder(str(folder))
        self._modules = ModuleFolder(folder, "skills") if python and not is_skill(folder) else None

    def load(self, hub: Registration, asked: bool) -> LoadReport:
        """Bring the hub up to date with the folder; see `ModuleFolder.load`."""
        found = cast("dict[str, list[str]]", self._skills.load(self._core))
        changed = found.pop("changed")
        report = LoadReport(**(found if asked else {**found, "loaded": changed}))
        if self._modules is not None:
            _extend(report, self._modules.load(hub, asked))
        return report

    def close(self) -> None:
        """Forget the modules."""
        if self._modules is not None:
            self._modules.close()


class Folders:
    """The folders of one hub. They are loaded one at a time."""

    def __init__(self, core: _core.Hub, hub: Registration) -> None:
        self._core, self._hub = core, hub
        self._folders: dict[tuple[str, Path], ModuleFolder | SkillFolder] = {}
        self._log_once = LogOnce()
        # Modules run while they are imported, and may load a folder themselves: in the same thread that is fine.
        self._turn = threading.RLock()

    def load(self, source: str, path: str | os.PathLike[str], python: bool = True) -> LoadReport:
        """Load a folder, or load it again; of a folder of skills, without `python` only those that are text."""
        check_path(f"the folder of {source}", path, "; register functions with hub.register")
        folder = Path(os.path.expanduser(path))
        place = folder.resolve()
        if not os.path.isdir(place):
            what = "is not a folder" if os.path.exists(place) else "does not exist"
            return self._log_once.log(LoadReport([], [], [f"{folder}: it {what}; give a folder of {source}"]))
        with self._one_at_a_time():
            known = self._folders.get((source, place))
            if known is None:
                skills = source == "skills"
                known = SkillFolder(place, self._core, python) if skills else ModuleFolder(place, source)
                self._folders[source, place] = known
            return self._log_once.log(known.load(self._hub, asked=True))

    def reload(self) -> LoadReport:
        """Load all folders again and report what has changed."""
        report = LoadReport([], [], [])
        with self._one_at_a_time():
            for folder in list(self._folders.values()):
                _extend(report, self._log_once.log(folder.load(self._hub, asked=False)))
        return report

    def close(self) -> None:
        """Forget all modules."""
        # Without the lock: a module that hangs during import must not block closing.
        folders, self._folders = self._folders, {}
        for folder in folders.values():
            folder.close()

    @contextmanager
    def _one_at_a_time(self) -> Generator[None]:
        if not self._turn.acquire(timeout=_PATIENCE):
            raise RuntimeError(
                f"Another thread has been loading a folder for {_PATIENCE:g} s; a module may hang while it is imported."
            )
        try:
            yield
        finally:
            self._turn.release()


def _extend(report: LoadReport, more: LoadReport) -> None:
    for part, entries in vars(more).items():
        getattr(report, part).extend(entries)
