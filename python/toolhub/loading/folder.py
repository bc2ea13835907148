"""One folder of Python modules, and which of its tools are in the hub."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .._marks import MARK
from .._signature.callables import name_of
from .files import ModuleFile, mark_of, modules_of
from .members import Member, members
from .modules import Modules, why
from .outline import Outline, outline


class Registry(Protocol):
    """The part of a hub that a folder uses."""

    def put(self, tool: Any, name: str, source: str, before: Any = None) -> None:
        """Register a tool, in place of the one `before` if there is one."""
        ...

    def take(self, name: str, source: str, tool: Any) -> None:
        """Unregister a tool."""
        ...

    def registered(self, name: str, source: str) -> list[Any]:
        """The objects that are registered under a name."""
        ...


@dataclass
class Outcome:
    """The outcome of loading or reloading a folder."""

    loaded: list[str] = field(default_factory=list[str])
    changed: list[str] = field(default_factory=list[str])
    removed: list[str] = field(default_factory=list[str])
    skipped: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])


@dataclass
class _Known:
    """A module as it was when it was imported, and how far its tools have come into the hub.

    Each step is recorded, because the user may interrupt anywhere: the next load does the rest.
    """

    path: Path
    mark: Any
    outline: Outline
    tools: dict[str, Member] = field(default_factory=dict[str, Member])
    waiting: list[tuple[str, Member]] = field(default_factory=list[tuple[str, Member]])
    """Tools to register, now or when their name becomes free."""
    before: dict[str, Member] = field(default_factory=dict[str, Member])
    """Tools of the previous import, until the new ones have replaced them."""
    notes: list[str] = field(default_factory=list[str])
    faults: list[str] = field(default_factory=list[str])
    retry: bool = False
    """The previous module, if it has to be imported again."""


class ModuleFolder:
    """A folder of modules. Loading it again imports what is new or has changed, and what imports that."""

    def __init__(self, folder: Path, source: str) -> None:
        self.folder = folder
        self.source = source
        self._modules = Modules(folder)
        self._known: dict[str, _Known] = {}
        self._helpers: dict[str, _Known] = {}

    def load(self, hub: Registry, asked: bool) -> Outcome:
        """Bring the hub up to date with the folder.

        What was removed by hand comes back only if the folder was `asked` for, and not because anything has changed.
        """
        outcome = Outcome()
        # Loose files in a folder of skills are mostly scripts, which must not be run here.
        found = modules_of(self.folder, packages_only=self.source == "skills")
        files, hidden = _without_hidden(found.modules)
        outcome.skipped, outcome.errors = found.skipped + hidden, found.errors
        self._settle(hub)
        importlib.invalidate_caches()
        self._note_helpers(set())  # what calls have imported since
        gone = self._known.keys() - {file.name for file in files}
        stale = self._stale() | gone
        for name in stale & self._known.keys():
            self._known[name].retry = True
        for name in gone:
            known = self._known[name]
            outcome.removed += self._withdraw(hub, known.before) + self._withdraw(hub, known.tools)
            del self._known[name]
        self._import_all(files, stale, outcome)
        modules = [self._known[file.name] for file in files if file.name in self._known]
        for known in modules if asked else ():
            lost = {name: one for name, one in known.tools.items() if not self._is_there(hub, name, one)}
            known.waiting = [*lost.items(), *known.waiting]
            known.tools = {name: one for name, one in known.tools.items() if name not in lost}
        # What has moved from one module to another must be free before it is taken.
        for known in modules:
            names = known.tools.keys() | {name for name, _ in known.waiting}
            left = {name: member for name, member in known.before.items() if name not in names}
            outcome.removed += self._withdraw(hub, left)
        for known in modules:
            self._enroll(hub, known, outcome)
        self._note_helpers(stale)
        for known in modules:
            outcome.loaded += [name for name, one in known.tools.items() if self._is_there(hub, name, one)]
            outcome.skipped += known.notes + self._taken(hub, known)
            outcome.errors += known.faults
        outcome.removed = [name for name in outcome.removed if name not in outcome.changed]
        return outcome

    def close(self) -> None:
        """Forget the modules; what runs keeps what it uses."""
        self._modules.close()

    def _stale(self) -> set[str]:
        """What has changed since it was imported, and what imports that."""
        everything = {**self._helpers, **self._known}
        changed = (
            (name, known.retry or mark_of(known.path) != known.mark) for name, known in everything.items()
        )
        stale = {name for name, is_changed in changed if is_changed}
        grown = True
        while grown:
            more = {name for name, known in everything.items() if known.outline.needs & stale} - stale
            stale |= more
            grown = bool(more)
        return stale

    def _import_all(self, files: list[ModuleFile], stale: set[str], outcome: Outcome) -> None:
        """Import what is new and what is stale. When the user interrupts it, what was not imported stays as it was."""
        dropped = self._modules.drop(stale)
        siblings = {file.name for file in files}
        try:
            for file in files:
                known = self._known.get(file.name)
                if known is None or known.retry:
                    self._import(file, dropped.get(file.name), siblings, outcome)
        except KeyboardInterrupt:
            for name in sorted(dropped.keys() - self._modules.present().keys()):
                self._modules.restore(name, dropped[name])
            raise

    def _import(
        self, file: ModuleFile, before: types.ModuleType | None, siblings: Iterable[str], outcome: Outcome
    ) -> None:
        """Import a module; one that is broken stays as it was."""
        mark = mark_of(file.path)
        old = self._known.get(file.name)
        try:
            module = self._modules.load(file.name, file.path)
            contents = _outline_of(file.path, file.name)
            found = [(_name(member.tool), member) for member in members(module, contents)]
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            reason = f"{file.path}: {why(error, file.path, siblings)}"
            if old is not None:
                if before is not None:
                    self._modules.restore(file.name, before)
                if old.tools:
                    reason += "; its tools stay as they were"
            outcome.errors.append(reason)
            return
        known = _Known(file.path, mark, contents, before={} if old is None else {**old.before, **old.tools})
        for name, member in found:
            if member.reason is None:
                known.waiting.append((name, member))
            else:
                (known.faults if member.broken else known.notes).append(f"{file.path}: {member.reason}")
        if not found and file.path.name != "__init__.py":
            known.notes.append(f"{file.path}: nothing in it is marked or has name, description and execute")
        self._known[file.name] = known

    def _enroll(self, hub: Registry, known: _Known, outcome: Outcome) -> None:
        """Register the tools of a module that wait for it, if their names are free."""
        for waiting in known.waiting.copy():
            name, member = waiting
            if not self._is_free(hub, known, name):
                continue
            try:
                before = known.before.get(name)
                hub.put(member.tool, name, self.source, None if before is None else before.tool)
            except Exception as error:
                known.faults.append(f"{known.path}: {member.name} is not a tool: {error}")
            else:
                known.tools[name] = member
                outcome.changed.append(name)
            known.waiting = [one for one in known.waiting if one is not waiting]
        known.before = {}

    def _is_free(self, hub: Registry, known: _Known, name: str) -> bool:
        """Whether the name is free, or taken only by what the tool replaces."""
        there, before = hub.registered(name, self.source), known.before.get(name)
        is_ours = before is not None and any(one is before.tool for one in there)
        return name not in known.tools and (not there or is_ours)

    def _settle(self, hub: Registry) -> None:
        """Note what an interrupt prevented from being noted: tools that are registered, and yet wait for it."""
        for known in self._known.values():
            for name, member in known.waiting:
                if self._is_there(hub, name, member) and self._owner(name) is None:
                    known.tools[name] = member
            known.waiting = [(name, one) for name, one in known.waiting if known.tools.get(name) is not one]

    def _taken(self, hub: Registry, known: _Known) -> list[str]:
        """Which tools wait for their name. One that another module has registered waits for nothing."""
        return [
            f"{known.path}: the name {name!r} of {member.name} is taken{self._by(name)}"
            for name, member in known.waiting
            if not self._is_there(hub, name, member)
        ]

    def _is_there(self, hub: Registry, name: str, member: Member) -> bool:
        return any(one is member.tool for one in hub.registered(name, self.source))

    def _by(self, name: str) -> str:
        owner = self._owner(name)
        return f" by {owner}" if owner is not None else ""

    def _owner(self, name: str) -> Path | None:
        """The file whose tool has the name."""
        return next((known.path for known in self._known.values() if name in known.tools), None)

    def _withdraw(self, hub: Registry, tools: dict[str, Member]) -> list[str]:
        """Remove tools, unless they were replaced by something else."""
        ours = [name for name, member in tools.items() if self._is_there(hub, name, member)]
        for name in ours:
            hub.take(name, self.source, tools[name].tool)
        return ours

    def _note_helpers(self, stale: set[str]) -> None:
        """Modules that are imported by the others only."""
        before, self._helpers = self._helpers, {}
        for name, module in self._modules.present().items():
            path = getattr(module, "__file__", None)
            if name in self._known or path is None:
                continue
            if name in before and name not in stale:
                self._helpers[name] = before[name]
            else:
                mark = getattr(module.__spec__, "loader_state", None) or mark_of(path)
                self._helpers[name] = _Known(Path(path), mark, _outline_of(Path(path), name))


def _without_hidden(files: list[ModuleFile]) -> tuple[list[ModuleFile], list[str]]:
    """Without modules that cannot be imported, because a package has their name; and a word about each."""
    packages = {file.name for file in files if file.path.name == "__init__.py"}
    hidden = [file for file in files if file.name in packages and file.path.name != "__init__.py"]
    notes = [f"{file.path}: the folder of the same name beside it hides it from Python" for file in hidden]
    return [file for file in files if file not in hidden], notes


def _outline_of(path: Path, name: str) -> Outline:
    try:
        return outline(path.read_bytes(), name, path.name == "__init__.py")
    except OSError:
        return Outline()


def _name(tool: Any) -> str:
    """The name that the hub will use."""
    marked: Any = getattr(tool, MARK, None) or {}
    if marked.get("name"):
        return str(marked["name"])
    own: Any = None if isinstance(tool, types.FunctionType) else getattr(tool, "name", None)
    return own if isinstance(own, str) and own else name_of(tool)
