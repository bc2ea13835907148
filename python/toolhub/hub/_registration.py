"""Registration: adds tools to the hub and removes them."""

from collections.abc import Iterable, Mapping
from typing import Any

from .. import _core
from .._checks import check_seconds, check_whole
from .._marks import MARK, ToolOptions, merge_options
from ..events import Events
from ..options import StrategyName
from ._state import HubState


class Registration:
    """Describes what a user registers, hands it to the core and reports changed versions."""

    def __init__(self, core: _core.Hub, events: Events, state: HubState) -> None:
        self._core = core
        self._events = events
        self._state = state

    def register(
        self,
        obj: Any,
        name: str | None = None,
        source: str = "tools",
        priority: int | None = None,
        capabilities: Iterable[str] | None = None,
        parameters: Mapping[str, Any] | None = None,
        *,
        description: str | None = None,
        effects: bool | None = None,
        idempotent: bool | None = None,
        read_only: bool | None = None,
        examples: Iterable[Any] | None = None,
        category: str | None = None,
        version: str | None = None,
        timeout: float | None = None,
        strategy: StrategyName | None = None,
        annotations: Mapping[str, Any] | None = None,
        max_concurrency: int | None = None,
        server: str | None = None,
        meta: Mapping[str, Any] | None = None,
        replace: bool = False,
        instead_of: Any = None,
    ) -> _core.Candidate:
        """See `ToolHub.register`; `instead_of` is the registered object that this one replaces, whatever it is."""
        self._state.require_open()
        if priority is not None:
            check_whole("priority", priority, None)
        if timeout is not None:
            check_seconds("timeout", timeout, above_zero=True)
        from .._signature import describe

        given: ToolOptions = {
            "capabilities": capabilities,
            "effects": effects,
            "idempotent": idempotent,
            "read_only": read_only,
            "examples": examples,
            "category": category,
            "version": version,
            "timeout": timeout,
            "strategy": strategy,
            "annotations": annotations,
            "max_concurrency": max_concurrency,
        }
        marked: ToolOptions = getattr(obj, MARK, ToolOptions())
        described = describe(
            obj,
            name=name if name is not None else marked.get("name"),
            description=description if description is not None else marked.get("description"),
            parameters=parameters if parameters is not None else marked.get("parameters"),
        )
        merged = dict(merge_options(marked, given))
        merged["object"] = obj
        merged["meta"] = None if meta is None else dict(meta)
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
        return made

    def unregister(self, name: str, source: str | None = None, server: str | None = None) -> int:
        """See `ToolHub.unregister`."""
        return self._core.unregister(name, source, server)

    def put(self, tool: Any, name: str, source: str, before: Any = None) -> None:
        """Register a tool that a folder provides, in place of the one that it provided before."""
        self.register(tool, name=name, source=source, instead_of=before)

    def take(self, name: str, source: str, tool: Any) -> None:
        """Unregister a tool that a folder no longer provides."""
        self._core.unregister(name, source, None, tool)

    def registered(self, name: str, source: str) -> list[Any]:
        """The registered objects of that name and source, outside MCP servers; a tool of the core stands for itself."""
        tool = self._core.get(name)
        return [
            candidate if candidate.tool is None else candidate.tool
            for candidate in (tool.candidates if tool is not None else ())
            if (candidate.source, candidate.server) == (source, None)
        ]
