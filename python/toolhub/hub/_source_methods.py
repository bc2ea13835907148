"""The methods of `ToolHub` for folders, skills and the store. Each hands over to the part that does the work."""

import os

from .._checks import check_switch
from ..servers import LoadReport
from ._folders import FolderLoader
from ._local_skills import LocalSkills
from ._store import HubStore


class SourceMethods:
    """`load_tools`, `load_skills`, `reload` and `flush`. They are blocking: in async code, `await asyncio.to_thread(…)`."""

    _folders: FolderLoader
    _skills: LocalSkills
    _store: HubStore

    def load_tools(self, folder: str | os.PathLike[str], *, watch: bool = False) -> LoadReport:
        """Import the modules of a folder and register their tools: functions marked with `@toolhub.tool`, and objects and
        classes with `name`, `description` and `execute(input)`.

        Modules are imported under private names and may import each other relatively. A broken module is reported and
        logged; the others still load. Loading a folder again applies the difference, see `reload`; with `watch` that
        happens whenever a file changes (needs `agent-toolhub[watch]`). Importing blocks: in async code, write
        `await asyncio.to_thread(hub.load_tools, folder)`.
        """
        return self._folders.load("tools", folder, watch)

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

    def reload(self) -> LoadReport:
        """Load all folders again: one in which a file has changed is imported again as a whole.

        Calls in progress finish with the old code. A module that is broken now keeps its tools; a skill that is broken now
        stays listed, but a call reads the file as it is. Both are in the report.
        """
        return self._folders.reload()

    def flush(self) -> bool:
        """Write what the hub has learnt to its store now instead of within a second; False if it could not be written.

        Without a store there is nothing to write, and the result is True. `close` writes too.

        >>> from toolhub import ToolHub
        >>> ToolHub().flush()
        True
        """
        return self._store.flush()
