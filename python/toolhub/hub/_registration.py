"""Registration: adds tools to the hub and removes them."""

import logging
import sys
import types
from collections.abc import Mapping
from typing import Any, Unpack

from .. import _core
from .._decorator import MARK, ToolOptions, merge_options, with_checked_numbers
from ..events import Events
from ._state import HubState

_log = logging.getLogger("toolhub")


class Registration:
    """Describes what a user registers, hands it to the core and reports changed versions."""

    def __init__(self, core: _core.Hub, events: Events, state: HubState) -> None:
        self._core = core
        self._events = events
        self._state = state

    def register(
        self,
        obj: Any,
        *,
        source: str = "tools",
        priority: int | None = None,
        server: str | None = None,
        meta: Mapping[str, Any] | None = None,
        replace: bool = False,
        instead_of: Any = None,
        **options: Unpack[ToolOptions],
    ) -> _core.Candidate:
        """See `ToolHub.register`; `instead_of` is the registered object that this one replaces, whatever it is."""
        self._state.require_open()
        marked: ToolOptions = getattr(obj, MARK, ToolOptions())
        merged = with_checked_numbers({**merge_options(marked, options), "priority": priority})
        from .._signature.build import describe

        described = describe(
            obj,
            name=merged.get("name"),
            description=merged.get("description"),
            parameters=merged.get("parameters"),
        )
        merged["object"] = obj
        merged["meta"] = None if meta is None else dict(meta)
        priority = merged.pop("priority")
        made, replaced = self._core.register(described, source, server, priority, merged, replace, instead_of)
        if replaced is not None and replaced.version != made.version:
            self._events.emit(
                "version_changed",
                tool=made.name,
                source=made.source,
                server=made.server,
                before=replaced.version,
                after=made.version,
            )
        if hasattr(sys, "ps1") and instead_of is None and not replace:
            self._tell(obj, made, replaced)
        return made

    def _tell(self, obj: Any, made: _core.Candidate, replaced: _core.Candidate | None) -> None:
        """Where somebody types: say what a cell that was run again has replaced or kept. A function has its name to say it."""
        beside = len(self.registered(made.name, made.source)) - 1 if made.server is None else 0
        if beside > 0 and replaced is None:
            _log.warning(
                "'%s' now has %d candidates: what was registered before was kept. Pass replace=True to replace it.",
                made.name,
                beside + 1,
            )
        elif replaced is not None and not (isinstance(obj, types.FunctionType) or replaced.tool is obj):
            _log.warning("'%s' has replaced what was registered before.", made.name)

    def unregister(
        self, name: str, source: str | None = None, server: str | None = None, tool: Any = None
    ) -> int:
        """See `ToolHub.unregister`; with `tool`, only what was made from that object."""
        return self._core.unregister(name, source, server, tool)

    def registered(self, name: str, source: str) -> list[Any]:
        """The registered objects of that name and source, outside MCP servers; a tool of the core stands for itself."""
        tool = self._core.get(name)
        return [
            candidate if candidate.tool is None else candidate.tool
            for candidate in (tool.candidates if tool is not None else ())
            if (candidate.source, candidate.server) == (source, None)
        ]
