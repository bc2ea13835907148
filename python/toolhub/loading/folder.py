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
    """What a folder needs of a hub."""

    def put(self, tool: Any, name: str, source: str) -> None:
        """Register a tool."""
        ...

    def take(self, name: str, source: str) -> None:
        """Take a tool away."""
        ...

    def has(self, name: str, source: str) -> Any | None:
        """The object that is registered under a name; None when there is none."""
        ...


@dataclass
class Outcome:
    """What came of loading a folder, or of loading it again."""

    loaded: list[str] = field(default_factory=list[str])
    changed: list[str] = field(default_factory=list[str])
    removed: list[str] = field(default_factory=list[str])
    skipped: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])


@dataclass
class _Known:
    """A module as it was when it was imported."""

    path: Path
    mark: Any
    outline: Outline
    tools: dict[str, Any] = field(default_factory=dict[str, Any])
    waiting: list[tuple[str, Member]] = field(default_factory=list[tuple[str, Member]])
    """Tools whose name somebody else has, until that one is gone."""
    notes: list[str] = field(default_factory=list[str])
    faults: list[str] = field(default_factory=list[str])
    retry: bool = False
    """It is broken now; this is how it was before."""


@dataclass
class _Fresh:
    """Tools of a module that are to be registered now, and those that it had before."""

    known: _Known
    found: list[tuple[str, Member]]
    before: dict[str, Any]

    @property
    def names(self) -> set[str]:
        return {name for name, member in self.found if member.reason is None}


class ModuleFolder:
    """A folder of modules. Loading it again imports what is new or has changed, and what imports that."""

    def __init__(self, folder: Path, source: str) -> None:
        self.folder = folder
        self.source = source
        self._modules = Modules(folder)
        self._known: dict[str, _Known] = {}
        self._helpers: dict[str, _Known] = {}

    def load(self, hub: Registry) -> Outcome:
        """Bring the hub up to date with the folder."""
        outcome = Outcome()
        # What lies about in a folder of skills is mostly scripts, and those are not ours to run.
        files, outcome.errors = modules_of(self.folder, packages_only=self.source == "skills")
        files, outcome.skipped = _without_hidden(files)
        importlib.invalidate_caches()
        self._note_helpers(set())  # what calls have imported since
        present = {file.name for file in files}
        stale = self._stale() | (self._known.keys() - present)
        dropped = self._modules.drop(stale)
        for name in self._known.keys() - present:
            outcome.removed += self._withdraw(hub, self._known.pop(name).tools)
        fresh: list[_Fresh] = []
        for file in files:
            if file.name not in self._known or file.name in stale:
                made = self._import(file, dropped.get(file.name), present, outcome)
                fresh += [] if made is None else [made]
            elif (known := self._known[file.name]).waiting:
                fresh.append(_Fresh(known, known.waiting, {}))
        # What has moved from one module to another must be free before it is taken.
        for made in fresh:
            gone = {name: tool for name, tool in made.before.items() if name not in made.names}
            outcome.removed += self._withdraw(hub, gone)
        for made in fresh:
            self._enroll(hub, made, outcome)
        self._note_helpers(stale)
        for known in (self._known[file.name] for file in files if file.name in self._known):
            outcome.loaded += [name for name, tool in known.tools.items() if self._is_there(hub, name, tool)]
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

    def _import(
        self, file: ModuleFile, before: types.ModuleType | None, siblings: Iterable[str], outcome: Outcome
    ) -> _Fresh | None:
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
            told = f"{file.path}: {why(error, file.path, siblings)}"
            if old is not None:
                old.retry = True
                if before is not None:
                    self._modules.restore(file.name, before)
                if old.tools:
                    told += "; its tools stay as they were"
            outcome.errors.append(told)
            return None
        self._known[file.name] = known = _Known(file.path, mark, contents)
        return _Fresh(known, found, {} if old is None else old.tools)

    def _enroll(self, hub: Registry, made: _Fresh, outcome: Outcome) -> None:
        known = made.known
        known.waiting = []
        for name, member in made.found:
            if member.reason is not None:
                (known.faults if member.broken else known.notes).append(f"{known.path}: {member.reason}")
                continue
            there = hub.has(name, self.source)
            if name in known.tools or (there is not None and there is not made.before.get(name)):
                known.waiting.append((name, member))
                continue
            try:
                hub.put(member.tool, name, self.source)
            except Exception as error:
                known.faults.append(f"{known.path}: {member.name} is no tool: {error}")
                continue
            known.tools[name] = member.tool
            outcome.changed.append(name)
        if not made.found and known.path.name != "__init__.py":
            known.notes.append(f"{known.path}: nothing in it is marked or has name, description and execute")

    def _taken(self, hub: Registry, known: _Known) -> list[str]:
        """Which tools wait for their name. One that another module has registered waits for nothing."""
        return [
            f"{known.path}: the name {name!r} of {member.name} is taken{self._by(name)}"
            for name, member in known.waiting
            if not self._is_there(hub, name, member.tool)
        ]

    def _is_there(self, hub: Registry, name: str, tool: Any) -> bool:
        return hub.has(name, self.source) is tool

    def _by(self, name: str) -> str:
        owner = next((known.path for known in self._known.values() if name in known.tools), None)
        return f" by {owner}" if owner is not None else ""

    def _withdraw(self, hub: Registry, tools: dict[str, Any]) -> list[str]:
        """Take tools away, unless somebody else has put another one in their place."""
        ours = [name for name, tool in tools.items() if self._is_there(hub, name, tool)]
        for name in ours:
            hub.take(name, self.source)
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
    """What the hub will call it."""
    marked: Any = getattr(tool, MARK, None) or {}
    if marked.get("name"):
        return str(marked["name"])
    own: Any = None if isinstance(tool, types.FunctionType) else getattr(tool, "name", None)
    return own if isinstance(own, str) and own else name_of(tool)
