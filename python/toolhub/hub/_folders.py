"""Folders of tools and skills that the hub has loaded."""

import os
from typing import TYPE_CHECKING, Any, cast

from .. import _core
from .._checks import check_path
from ..servers import LoadReport
from ._registration import Registration
from ._state import HubState

if TYPE_CHECKING:
    from ..loading.folders import Folders

# `loading` and pathlib are imported where they are used: most hubs load no folder, and `import toolhub` stays fast.


class FolderLoader:
    """Loads folders, and loads them again."""

    def __init__(self, core: _core.Hub, registration: Registration, state: HubState) -> None:
        self._core = core
        self._registration = registration
        self._state = state
        self._folders: Folders | None = None

    def load(self, source: str, path: str | os.PathLike[str], python: bool = True) -> LoadReport:
        """Load one folder; see `ToolHub.load_tools` and `ToolHub.load_skills`."""
        self._state.require_open()
        check_path(f"the folder of {source}", path, "; register functions with hub.register")
        from pathlib import Path

        from ..loading.folders import Folders

        folder = Path(os.path.expanduser(path))
        if self._folders is None:
            self._folders = Folders()
        report = self._folders.load(self._registration, self._core, source, folder, python)
        return report

    def reload(self) -> LoadReport:
        """See `ToolHub.reload`."""
        self._state.require_open()
        return LoadReport([], [], []) if self._folders is None else self._folders.reload(self._registration)

    def close(self) -> None:
        """Release all modules."""
        folders, self._folders = self._folders, None
        if folders is not None:
            folders.close()


def each(given: Any) -> list[Any]:
    """What a constructor argument names: nothing, one thing or several.

    >>> each(None), each("tools"), each(["tools", "more_tools"])
    ([], ['tools'], ['tools', 'more_tools'])
    """
    if given is None:
        return []
    return list(cast("list[Any]", given)) if isinstance(given, list | tuple) else [given]
