"""All folders that a hub was given: loaded, and loaded again."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .. import _core
from .._checks import check_path
from ..servers import LoadReport, LogOnce
from .files import is_skill
from .folder import ModuleFolder, Outcome

if TYPE_CHECKING:
    from ..hub._registration import Registration

_PATIENCE = 30.0


class SkillFolder:
    """A folder of skills: `SKILL.md` files, and Python modules with skill classes."""

    def __init__(self, folder: Path, core: _core.Hub, python: bool) -> None:
        self.folder = folder
        self._core = core
        self._skills = _core.SkillFolder(str(folder))
        self._modules = ModuleFolder(folder, "skills") if python and not is_skill(folder) else None

    def load(self, hub: Registration, asked: bool) -> Outcome:
        """Bring the hub up to date with the folder."""
        outcome = Outcome(**cast("dict[str, Any]", self._skills.load(self._core)))
        if self._modules is not None:
            classes = self._modules.load(hub, asked)
            for part, more in vars(classes).items():
                getattr(outcome, part).extend(more)
        return outcome

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
            return self._report(known.load(self._hub, asked=True), complete=True)

    def reload(self) -> LoadReport:
        """Load all folders again and report what has changed."""
        report = LoadReport([], [], [])
        with self._one_at_a_time():
            for folder in list(self._folders.values()):
                part = self._report(folder.load(self._hub, asked=False), complete=False)
                for word, more in vars(part).items():
                    getattr(report, word).extend(more)
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

    def _report(self, outcome: Outcome, complete: bool) -> LoadReport:
        loaded = outcome.loaded if complete else outcome.changed
        return self._log_once.log(
            LoadReport(loaded, outcome.skipped, outcome.errors, outcome.warnings, outcome.removed)
        )
