"""Registering: how tools come into the hub and leave it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, overload

from .. import _core
from .._marks import MARK, Said, said
from ..events import Events
from ._base import HubPart

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class ToolCandidate:
    """A candidate in the shape that existing orchestrators have; `hub.register_candidate` takes it.

    >>> class Echo:
    ...     name, description = "echo", "Say it again"
    ...     def execute(self, input): return input
    >>> ToolCandidate("echo", "tools", Echo(), 0, {"capabilities": ["echo"]}).source
    'tools'
    """

    name: str
    source: str
    tool: Any
    priority: int | None = None
    meta: dict[str, Any] = field(default_factory=dict[str, Any])


class Registering(HubPart):
    """`tool`, `register`, `unregister` and the drop-in `register_candidate`."""

    _events: Events

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(
        self,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        capabilities: Iterable[str] | None = None,
        effects: bool | None = None,
        idempotent: bool | None = None,
        read_only: bool | None = None,
        examples: Iterable[Any] | None = None,
        category: str | None = None,
        version: str | None = None,
        timeout: float | None = None,
        annotations: Mapping[str, Any] | None = None,
        max_concurrency: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        source: str = "tools",
        priority: int | None = None,
    ) -> Callable[[F], F]: ...

    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Register the decorated function, which stays as it is.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> @hub.tool(capabilities=["calculate"])
        ... def add(a: int, b: int) -> int:
        ...     "Add two numbers."
        ...     return a + b
        >>> hub.call("add", {"a": 2, "b": 3}).result
        5
        """
        if function is None:
            return partial(self.tool, **options)
        self.register(function, **options)
        return function

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
        annotations: Mapping[str, Any] | None = None,
        max_concurrency: int | None = None,
        server: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> _core.Candidate:
        """Register a callable, or an object with `name`, `description` and `execute(input)`.

        A candidate of the same name, source and server is replaced; one of another `version` is an event, `version_changed`.
        `parameters` is a JSON Schema that takes the place of the one from the signature. Raises `TypeError` or `ValueError` for
        what cannot be a tool, and `RuntimeError` when the hub is closed.

        >>> from toolhub import ToolHub
        >>> hub = ToolHub()
        >>> hub.register(len, name="length", description="Count the items").name
        'length'
        """
        if self._closed:
            raise RuntimeError("The hub is closed and takes no more tools; make a new ToolHub.")
        from .._signature import describe

        marks: Said = {
            "capabilities": capabilities,
            "effects": effects,
            "idempotent": idempotent,
            "read_only": read_only,
            "examples": examples,
            "category": category,
            "version": version,
            "timeout": timeout,
            "annotations": annotations,
            "max_concurrency": max_concurrency,
        }
        marked: Said = getattr(obj, MARK, Said())
        described = describe(
            obj,
            name=name if name is not None else marked.get("name"),
            description=description if description is not None else marked.get("description"),
            parameters=parameters if parameters is not None else marked.get("parameters"),
        )
        merged = dict(said(marked, marks))
        before = self._version_of(described.name, source, server)
        merged["object"] = obj
        merged["meta"] = None if meta is None else dict(meta)
        made = self._core.register(described, source, server, priority, merged)
        if before is not None and before[0] != made.version:
            self._events.emit(
                "version_changed",
                tool=made.name,
                source=made.source,
                server=made.server,
                before=before[0],
                after=made.version,
            )
        return made

    def _version_of(self, name: str, source: str, server: str | None) -> tuple[str | None] | None:
        """The version of the candidate that a registration replaces; None when it replaces nobody."""
        tool = self._core.get(name)
        for one in tool.candidates if tool is not None else ():
            if (one.source, one.server) == (source, server):
                return (one.version,)
        return None

    def register_candidate(self, candidate: ToolCandidate) -> _core.Candidate:
        """Register a candidate of the drop-in shape; `meta` may hold `capabilities`, `description`, `parameters`, `server`."""
        meta = candidate.meta
        return self.register(
            candidate.tool,
            name=candidate.name,
            source=candidate.source,
            priority=candidate.priority,
            capabilities=meta.get("capabilities"),
            parameters=meta.get("parameters"),
            description=meta.get("description"),
            server=meta.get("server"),
            meta=meta,
        )

    def unregister(self, name: str, source: str | None = None, server: str | None = None) -> int:
        """Remove the candidates of a name, or only those of a source or server; says how many there were.

        Calls that are running are not disturbed.
        """
        return self._core.unregister(name, source, server)
