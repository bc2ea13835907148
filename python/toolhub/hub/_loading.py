"""Loading: tools and skills from folders."""

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from ..exceptions import ErrorKind, ToolError
from ..result import ToolResult
from ..servers import LoadReport
from ._base import HubPart

if TYPE_CHECKING:
    from pathlib import Path

    from ..loading.folders import Folders

# pathlib and base64 are imported where they are used: most hubs load no folder, and `import toolhub` stays fast.

RUN_SCRIPT = "run_skill_script"
"""The tool by which a model runs scripts of skills, where that is allowed."""


class Loading(HubPart):
    """`load_tools`, `load_skills`, `reload`, `read_skill_file` and `run_skill_script`."""

    _folders: "Folders | None"
    _runnable: dict[str, bool]
    """Whether the skills of a folder may run their scripts; what was said last comes last."""
    _script_tool: Any
    register: Callable[..., Any]
    call: Callable[..., ToolResult]

    def load_tools(self, folder: str | os.PathLike[str], *, watch: bool = False) -> LoadReport:
        """Import the modules of a folder and register their tools: what `@toolhub.tool` marks, and objects and classes with
        `name`, `description` and `execute(input)`.

        Modules are imported under private names, and may import each other relatively. What is broken is in the report and in
        the log, and costs only itself. A folder that is loaded again applies the difference, see `reload`; with `watch` that
        happens by itself (needs `toolhub[watch]`).
        """
        return self._load("tools", folder, watch)

    def load_skills(
        self,
        folder: str | os.PathLike[str],
        *,
        python: bool = True,
        allow_scripts: bool = False,
        watch: bool = False,
    ) -> LoadReport:
        """Register the skills of a folder: every folder in it with a `SKILL.md` of the Agent Skills format, and the skill
        classes in its Python modules (with `python=False` no module is imported).

        Of a `SKILL.md` only the front matter is read. Calling the skill gives its instructions, its folder and the files in
        it; with `{"file": path}` one of the files. Nothing of it is run, unless `allow_scripts` says so: then a tool
        `run_skill_script` can run the scripts of these skills. What the last call for a folder says holds.
        """
        report = self._load("skills", folder, watch, python)
        self._permit(os.path.realpath(os.path.expanduser(folder)), allow_scripts)
        return report

    def reload(self) -> LoadReport:
        """Load all folders again. What is new, has changed (or imports what has) or is gone is applied to the hub.

        Calls that are running finish with what they began with. A module that is broken now keeps its tools; a skill that is
        broken now stays listed as it was, but a call reads its file as it is. Both are in the report.
        """
        self._open()
        return LoadReport([], [], []) if self._folders is None else self._folders.reload(_Desk(self))

    def read_skill_file(self, skill: str, path: str) -> str | bytes:
        """A file of a skill, local or of an MCP server: text, or bytes when it is none.

        Only files inside of the skill's folder are read, whatever `..` and links say. Raises `ToolError` of kind `not_found`
        (no such skill), `invalid_arguments` (no such file), `not_allowed` (not inside) or `limit` (more than 16 MiB).
        """
        self._location(skill)
        value = self.call(skill, {"file": path}, source="skills").unwrap()
        if "text" in value:
            return value["text"]
        import base64

        return base64.b64decode(value["blob"])

    async def run_skill_script(
        self, skill: str, script: str, args: Iterable[str] = (), *, timeout: float | None = None
    ) -> dict[str, Any]:
        """Run a script of a local skill: `{"exit_code", "stdout", "stderr"}`.

        Only for skills of folders that were last loaded with `allow_scripts=True`; otherwise it raises `ToolError` of kind
        `not_allowed`. There is no shell, the arguments are passed as they are, the environment is minimal, and after
        `timeout` seconds (60) the script and what it has started are ended.
        """
        from pathlib import Path

        folder = Path(self._location(skill)).parent
        if not self._may_run(folder):
            raise ToolError(
                f"Scripts of the skill {skill!r} may not be run; load its folder with allow_scripts=True to allow it.",
                ErrorKind.NOT_ALLOWED,
            )
        from ..loading import scripts

        return await scripts.run(skill, folder, script, args, scripts.TIMEOUT if timeout is None else timeout)

    def _permit(self, folder: str, scripts: bool) -> None:
        """Note whether scripts may be run in a folder; what was said before about it and what is in it is void."""
        from pathlib import Path

        kept = {
            place: said for place, said in self._runnable.items() if not Path(place).is_relative_to(folder)
        }
        self._runnable = {**kept, folder: scripts}
        if scripts:
            self._offer_scripts()
        elif not any(self._runnable.values()):
            self._withdraw_scripts()

    def _may_run(self, folder: "Path") -> bool:
        """What the last call said about the folder, or about one that it is in."""
        said = (
            allowed for place, allowed in reversed(self._runnable.items()) if folder.is_relative_to(place)
        )
        return next(said, False)

    def _location(self, skill: str) -> str:
        """Where the `SKILL.md` of a skill is."""
        tool = self._core.get(skill)
        for one in tool.candidates if tool is not None else ():
            if one.source == "skills" and one.location is not None:
                return one.location
        what = "There is no skill" if tool is None else "No files belong to"
        raise ToolError(f"{what} {skill!r}; hub.tools(source='skills') lists them.", ErrorKind.NOT_FOUND)

    def _load(
        self, source: str, given: str | os.PathLike[str], watch: bool, python: bool = True
    ) -> LoadReport:
        self._open()
        from pathlib import Path

        from ..loading.folders import Folders, reloading
        from ..loading.watching import library

        folder = Path(os.path.expanduser(given))
        if watch:
            library()
        if self._folders is None:
            self._folders = Folders()
        report = self._folders.load(_Desk(self), self._core, source, folder, python)
        if watch:
            self._folders.watch(source, folder, reloading(self))
        return report

    def _load_all(self, load: Callable[..., Any], folders: Any) -> None:
        """For the constructor: one folder or several."""
        for folder in cast("list[Any]", folders) if isinstance(folders, list | tuple) else [folders]:
            load(folder)

    def _offer_scripts(self) -> None:
        if RUN_SCRIPT in self._core:
            return
        import weakref

        there = weakref.ref(self)

        async def run_skill_script(skill: str, script: str, args: list[str] | None = None) -> dict[str, Any]:
            hub = there()
            if hub is None:
                raise ToolError("The hub is closed.", ErrorKind.CLOSED)
            return await hub.run_skill_script(skill, script, args or ())

        self._script_tool = run_skill_script
        self.register(
            run_skill_script,
            description="Run a script of a skill, in the skill's folder; gives exit code and output.",
            effects=True,
            capabilities=[],
            timeout=75.0,
            parameters={
                "type": "object",
                "properties": {
                    "skill": {"type": "string", "description": "The name of the skill"},
                    "script": {"type": "string", "description": "The path of the script inside the skill"},
                    "args": {"type": "array", "items": {"type": "string"}, "description": "Its arguments"},
                },
                "required": ["skill", "script"],
                "additionalProperties": False,
            },
        )

    def _withdraw_scripts(self) -> None:
        desk = _Desk(self)
        # The user may have registered another tool of that name.
        if self._script_tool is not None and desk.has(RUN_SCRIPT, "tools") is self._script_tool:
            desk.take(RUN_SCRIPT, "tools")

    def _open(self) -> None:
        if self._closed:
            raise RuntimeError("the hub is closed; make a new ToolHub")

    def _close_folders(self) -> None:
        folders, self._folders = self._folders, None
        if folders is not None:
            folders.close()


class _Desk:
    """What folders may do to a hub."""

    def __init__(self, hub: Any) -> None:
        self._hub = hub

    def put(self, tool: Any, name: str, source: str) -> None:
        self._hub.register(tool, name=name, source=source)

    def take(self, name: str, source: str) -> None:
        self._hub.unregister(name, source=source)

    def has(self, name: str, source: str) -> Any | None:
        tool = self._hub._core.get(name)
        for one in tool.candidates if tool is not None else ():
            if (one.source, one.server) == (source, None):
                # A tool of the core has no object, but it is there.
                return one if one.tool is None else one.tool
        return None
