"""Skills on this machine: where their files are, and which of them may run scripts."""

import os
import weakref
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .. import _core
from .._checks import check_seconds
from ..exceptions import ErrorKind, ToolError
from ._registration import Registration

if TYPE_CHECKING:
    from pathlib import Path

RUN_SCRIPT = "run_skill_script"
"""The tool by which a model runs scripts of skills, if that is allowed."""

_SCRIPT_ENDING = 15.0
"""Seconds that the tool has when the time of its script is over, so that the script's own limit is the one that reports."""

_SCRIPT_TIMEOUT = 60.0 + _SCRIPT_ENDING

_limit: ContextVar[float | None] = ContextVar("toolhub_script_limit", default=None)
"""The limit of a script that the program runs itself."""

_SCRIPT_PARAMETERS = {
    "type": "object",
    "properties": {
        "skill": {"type": "string", "description": "The name of the skill"},
        "script": {"type": "string", "description": "The path of the script inside the skill"},
        "args": {"type": "array", "items": {"type": "string"}, "description": "Its arguments"},
    },
    "required": ["skill", "script"],
    "additionalProperties": False,
}


class LocalSkills:
    """Finds the files of skills and runs their scripts where the user allows it."""

    def __init__(self, core: _core.Hub, registration: Registration) -> None:
        self._core = core
        self._registration = registration
        # Whether the skills of a folder may run scripts. The latest decision comes last.
        self._may_run: dict[str, bool] = {}
        self._script_tool: Any = None

    def permit_scripts(self, path: str | os.PathLike[str], allowed: bool) -> None:
        """Record whether scripts may run in a folder. This replaces earlier decisions about it and its subfolders."""
        from pathlib import Path

        folder = os.path.realpath(os.path.expanduser(path))
        others = {
            place: decision
            for place, decision in self._may_run.items()
            if not Path(place).is_relative_to(folder)
        }
        self._may_run = {**others, folder: allowed}
        if allowed:
            self._offer_scripts()
        elif self._script_tool is not None and not any(self._may_run.values()):
            # The user may have registered another tool of that name.
            self._registration.unregister(RUN_SCRIPT, "tools", tool=self._script_tool)
            self._script_tool = None

    def location(self, skill: str) -> str:
        """The path or URI of the `SKILL.md` of a skill; raises `ToolError` of kind `not_found` if there is none."""
        tool = self._core.get(skill)
        for candidate in tool.candidates if tool is not None else ():
            if candidate.source == "skills" and candidate.location is not None:
                return candidate.location
        what = "There is no skill" if tool is None else "No files belong to"
        raise ToolError(f"{what} {skill!r}; hub.tools(source='skills') lists them.", ErrorKind.NOT_FOUND)

    def script_call(
        self, skill: str, script: str, args: Iterable[str], timeout: float | None
    ) -> tuple[dict[str, Any], float]:
        """The call that runs a script, for `hub.skills.run_script`: the arguments and the limit of the script."""
        from ..loading import scripts

        limit = scripts.TIMEOUT if timeout is None else check_seconds("timeout", timeout, above_zero=True)
        self._permitted_folder(skill)
        self._offer_scripts()
        if self._registration.registered(RUN_SCRIPT, "tools") != [self._script_tool]:
            raise ToolError(
                f"Another tool has the name {RUN_SCRIPT!r}: unregister it and load the skills again.",
                ErrorKind.NOT_ALLOWED,
            )
        return {"skill": skill, "script": script, "args": scripts.words(args)}, limit

    @contextmanager
    def limited(self, seconds: float) -> Generator[float]:
        """Inside, scripts have this limit; gives the limit for the tool."""
        token = _limit.set(seconds)
        try:
            yield seconds + _SCRIPT_ENDING
        finally:
            _limit.reset(token)

    async def run_script(self, skill: str, script: str, args: Iterable[str]) -> dict[str, Any]:
        """Run a script: what the tool does."""
        from ..loading import scripts

        folder, limit = self._permitted_folder(skill), _limit.get()
        return await scripts.run(skill, folder, script, args, scripts.TIMEOUT if limit is None else limit)

    def _permitted_folder(self, skill: str) -> "Path":
        from pathlib import Path

        folder = Path(self.location(skill)).parent
        # The latest decision about the folder, or about one that contains it.
        decisions = (
            allows for place, allows in reversed(self._may_run.items()) if folder.is_relative_to(place)
        )
        if not next(decisions, False):
            raise ToolError(
                f"Scripts of the skill {skill!r} may not be run; load its folder with allow_scripts=True to allow it.",
                ErrorKind.NOT_ALLOWED,
            )
        return folder

    def _offer_scripts(self) -> None:
        if self._registration.registered(RUN_SCRIPT, "tools"):
            return
        # The core holds the tool, and this object holds the core: a strong reference would be a cycle.
        owner = weakref.ref(self)

        async def run_skill_script(skill: str, script: str, args: list[str] | None = None) -> dict[str, Any]:
            skills = owner()
            if skills is None:
                raise ToolError("The hub is closed.", ErrorKind.CLOSED)
            return await skills.run_script(skill, script, args or ())

        self._registration.register(
            run_skill_script,
            name=RUN_SCRIPT,
            description="Run a script of a skill, in the skill's folder; returns exit code and output.",
            effects=True,
            capabilities=[],
            timeout=_SCRIPT_TIMEOUT,
            parameters=_SCRIPT_PARAMETERS,
        )
        self._script_tool = run_skill_script
