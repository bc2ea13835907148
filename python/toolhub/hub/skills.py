"""`hub.skills`: the files and scripts of skills."""

import base64
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from .._background import blocking
from .._unknown_options import explain_unknown_options
from ..result import ToolResult
from ._local_skills import RUN_SCRIPT, LocalSkills
from ._state import HubState, Part


@explain_unknown_options
class Skills(Part):
    """`hub.skills`: reads the files of skills and runs their scripts. `hub.tools(source="skills")` lists the skills."""

    _shown_as = "hub.skills"
    _instead = "hub.tools(source='skills') for the list of skills"

    def __init__(
        self, local: LocalSkills, execute: Callable[..., Awaitable[ToolResult]], state: HubState
    ) -> None:
        self._local = local
        self._execute = execute
        self._state = state

    async def read_file(self, skill: str, path: str) -> str | bytes:
        """A file of a skill, local or on an MCP server: text, or bytes if it is not text.

        Only files inside the skill's folder can be read, whatever `..` and links say. Raises `ToolError` of kind `not_found`
        (no such skill), `invalid_arguments` (no such file), `not_allowed` (outside the folder) or `limit` (over 16 MiB).
        """
        self._local.location(skill)
        answer = (await self._execute(skill, {"file": path}, source="skills")).unwrap()
        return answer["text"] if "text" in answer else base64.b64decode(answer["blob"])

    read_file_sync = blocking(read_file)
    """`read_file`, blocking."""

    async def run_script(
        self, skill: str, script: str, args: Iterable[str] = (), *, timeout: float | None = None
    ) -> dict[str, Any]:
        """Run a script of a local skill: `{"exit_code", "stdout", "stderr"}`.

        Only for skills of folders whose latest load had `allow_scripts=True`; otherwise it raises `ToolError` of kind
        `not_allowed`. No shell is involved, arguments are passed verbatim, the environment is minimal, and after `timeout`
        seconds (default 60) the script and its child processes are killed. It is a call of the tool `run_skill_script`: it has
        a row in the ledger, and is recorded and replayed.
        """
        arguments, limit = self._local.script_call(skill, script, args, timeout)
        with self._local.limited(limit) as longest:
            result = await self._execute(RUN_SCRIPT, arguments, source="tools", timeout=longest)
        return result.unwrap()

    run_script_sync = blocking(run_script)
    """`run_script`, blocking."""
