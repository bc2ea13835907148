"""The methods of `ToolHub` for folders, skills and the store. Each hands over to the part that does the work."""

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from .. import _background
from .._checks import check_switch
from .._user_functions import in_thread
from ..servers import LoadReport
from ._folders import FolderLoader
from ._skills import Skills
from ._store import HubStore

if TYPE_CHECKING:
    from . import ToolHub


class SourceMethods:
    """`load_tools`, `load_skills`, `reload`, `run_skill_script`, `flush`, and their async and blocking twins."""

    _folders: FolderLoader
    _skills: Skills
    _store: HubStore

    def load_tools(self, folder: str | os.PathLike[str], *, watch: bool = False) -> LoadReport:
        """Import the modules of a folder and register their tools: functions marked with `@toolhub.tool`, and objects and
        classes with `name`, `description` and `execute(input)`.

        Modules are imported under private names and may import each other relatively. A broken module is reported and
        logged; the others still load. Loading a folder again applies the difference, see `reload`; with `watch` that
        happens whenever a file changes (needs `agent-toolhub[watch]`).
        """
        return self._folders.load("tools", folder, watch)

    async def aload_tools(self, folder: str | os.PathLike[str], *, watch: bool = False) -> LoadReport:
        """`load_tools` in a thread, so that imports do not block the event loop. Cancelling does not stop the import."""
        return await in_thread(self.load_tools, folder, watch=watch)

    def load_skills(
        self,
        folder: str | os.PathLike[str],
        *,
        python: bool = True,
        allow_scripts: bool = False,
        watch: bool = False,
    ) -> LoadReport:
        """Register the skills of a folder: every subfolder with a `SKILL.md` of the Agent Skills format, and the skill classes
        in its Python modules (with `python=False` no module is imported).

        Only the front matter of a `SKILL.md` is read. Calling the skill returns its instructions, its folder and the files
        in it; with `{"file": path}` it returns one of the files. Nothing is run unless you pass `allow_scripts`: then the
        tool `run_skill_script` can run the scripts of these skills. The latest call for a folder decides.
        """
        for what, given in (("python", python), ("allow_scripts", allow_scripts)):
            check_switch(what, given)
        report = self._folders.load("skills", folder, watch, python)
        self._skills.permit_scripts(folder, allow_scripts)
        return report

    async def aload_skills(
        self,
        folder: str | os.PathLike[str],
        *,
        python: bool = True,
        allow_scripts: bool = False,
        watch: bool = False,
    ) -> LoadReport:
        """`load_skills` in a thread, so that it does not block the event loop. Cancelling does not stop it."""
        return await in_thread(
            self.load_skills, folder, python=python, allow_scripts=allow_scripts, watch=watch
        )

    def reload(self) -> LoadReport:
        """Load all folders again, and add, replace and remove what has changed, including modules that import what changed.

        Calls in progress finish with the old code. A module that is broken now keeps its tools; a skill that is broken now
        stays listed, but a call reads the file as it is. Both are in the report.
        """
        return self._folders.reload()

    async def areload(self) -> LoadReport:
        """`reload` in a thread, so that imports do not block the event loop. Cancelling does not stop it."""
        return await in_thread(self.reload)

    async def run_skill_script(
        self, skill: str, script: str, args: Iterable[str] = (), *, timeout: float | None = None
    ) -> dict[str, Any]:
        """Run a script of a local skill: `{"exit_code", "stdout", "stderr"}`.

        Only for skills of folders whose latest load had `allow_scripts=True`; otherwise it raises `ToolError` of kind
        `not_allowed`. No shell is involved, arguments are passed verbatim, the environment is minimal, and after `timeout`
        seconds (default 60) the script and its child processes are killed. It is a call of the tool `run_skill_script`: it has
        a row in the ledger, and is recorded and replayed.
        """
        tool, arguments, limit = self._skills.script_call(skill, script, args, timeout)
        with self._skills.limited(limit) as longest:
            result = await cast("ToolHub", self).execute(tool, arguments, timeout=longest)
        return result.unwrap()

    def run_skill_script_sync(
        self, skill: str, script: str, args: Iterable[str] = (), *, timeout: float | None = None
    ) -> dict[str, Any]:
        """`run_skill_script`, blocking."""
        return _background.run(self.run_skill_script(skill, script, args, timeout=timeout))

    def flush(self) -> bool:
        """Write what the hub has learnt to its store now instead of within a second; False if it could not be written.

        Without a store there is nothing to write, and the result is True. `close` writes too.

        >>> from toolhub import ToolHub
        >>> ToolHub().flush()
        True
        """
        return self._store.flush()

    async def aflush(self) -> bool:
        """`flush` in a thread: another process may hold the lock of the file."""
        return await in_thread(self.flush)
