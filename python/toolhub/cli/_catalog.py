"""The tools that a command works with.

    open_catalog ─► StoredCatalog   every server has a list in the store: the core alone, no event loop, no server started
                 └► HubCatalog      folders to load, or a server without a list: a hub, which connects those servers

Both hand over to the core and give the same objects, so a command does not know which one it has.
"""

import os
import sys
from abc import ABC, abstractmethod
from contextlib import contextmanager, redirect_stdout

from .. import _core
from .._progress_line import ProgressLine
from ._output import NOT_FOUND, USAGE, Failure, code_of_connect, failing, say
from ._sources import NO_SERVER, config_files, store_file

TYPE_CHECKING = False

if TYPE_CHECKING:
    import argparse
    from collections.abc import Generator, Iterable
    from typing import Any

    from .._core import ToolInfo
    from ..hub import ToolHub
    from ..servers import LoadReport


_RESULT_BYTES = 32_000_000
_STORE_TIMEOUT = 10.0
_DATA = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data")


class Catalog(ABC):
    """Tools that the core has."""

    core: _core.Hub
    problems: list[str]
    code = 0

    def tools(self, server: str | None = None) -> "list[_core.ToolInfo]":
        """All tools, or those of one server."""
        if server is not None:
            require_server((row["id"] for row in self.servers()), server)
        return self.core.tools(None, server)

    def get(self, name: str) -> "_core.ToolInfo | None":
        """One tool by its name."""
        return self.core.get(name)

    @abstractmethod
    def servers(self) -> "list[dict[str, Any]]":
        """The rows of all servers."""

    @abstractmethod
    def search(self, query: str, k: int) -> "list[_core.Hit]":
        """The best tools for a query."""


class StoredCatalog(Catalog):
    """Tools as the store has them."""

    def __init__(self, files: list[str], store: str | None) -> None:
        self.core = _core.Hub({})
        if store is not None:
            _core.open_store(self.core, store, _RESULT_BYTES)
        self._queue = _core.CallbackQueue()
        self._servers = _core.Servers(self.core, self._queue, [], None)
        self.problems = []
        for path in files:
            report: Any = self._servers.load_file(os.path.expanduser(path))
            take_report(self.problems, path, report["loaded"], report["errors"], report["warnings"])

    @property
    def is_complete(self) -> bool:
        """Whether every server has a list. Each server is named once, so ask once."""
        return not self._servers.take_never_listed()

    def search(self, query: str, k: int) -> "list[_core.Hit]":
        """The best tools for a query."""
        _core.use_search_data(os.path.join(_DATA, "zh_en.txt.gz"), os.path.join(_DATA, "words_en.bin.gz"))
        return _core.search(self.core, query, k)

    def servers(self) -> "list[dict[str, Any]]":
        """The rows of all servers."""
        return self._servers.rows()  # pyright: ignore[reportUnknownVariableType]

    def close(self) -> None:
        """Release the file."""
        self._servers.close(_STORE_TIMEOUT)
        self._queue.close()
        _core.close_store(self.core, _STORE_TIMEOUT)


class HubCatalog(Catalog):
    """Tools of a hub, whose servers without a list are connected."""

    def __init__(self, hub: "ToolHub", problems: list[str], code: int) -> None:
        self._hub = hub
        self.core = hub._core
        self.problems = problems
        self.code = code

    def search(self, query: str, k: int) -> "list[_core.Hit]":
        """The best tools for a query."""
        return self._hub.search(query, k)

    def servers(self) -> "list[dict[str, Any]]":
        """The rows of all servers."""
        return self._hub._servers.rows()


@contextmanager
def open_catalog(given: "argparse.Namespace") -> "Generator[Catalog]":
    """The tools of the sources that were given."""
    if not (given.tools or given.skills):
        stored = StoredCatalog(config_files(given), store_file(given))
        try:
            if stored.is_complete:
                if not stored.servers():
                    stored.problems.append(NO_SERVER)
                tell(stored.problems)
                yield stored
                return
        finally:
            stored.close()
    with open_hub(given) as (hub, problems):
        yield HubCatalog(hub, problems, connect_missing(hub, problems))


@contextmanager
def open_hub(
    given: "argparse.Namespace", files: list[str] | None = None, **options: "Any"
) -> "Generator[tuple[ToolHub, list[str]]]":
    """A hub with the sources that were given, and what is wrong with them. No server is connected yet.

    `files` are other configuration files than those that were given.
    """
    import logging

    from ..exceptions import ToolError
    from ..hub import ToolHub

    # What the hub would log is printed as problems, once and in the style of the command.
    logging.getLogger("toolhub").addHandler(logging.NullHandler())
    logging.getLogger("toolhub").propagate = False
    problems: list[str] = []
    options.setdefault("login", {"open_url": _refuse_login})
    with failing(USAGE, OSError, TypeError, ValueError, ToolError):
        hub = ToolHub(store=store_file(given), **options)
    with hub:
        loads = [(hub.load_tools, path) for path in getattr(given, "tools", [])]
        loads += [(hub.load_skills, path) for path in getattr(given, "skills", [])]
        loads += [(hub.load_mcp, path) for path in (config_files(given) if files is None else files)]
        for load, path in loads:
            # What modules print when they are imported is not a result.
            with failing(USAGE, ValueError), redirect_stdout(sys.stderr):
                report: LoadReport = load(path)
            take_report(problems, path, report.loaded, report.errors, report.warnings)
        yield hub, problems


def _refuse_login(server: str, _url: str) -> None:
    """Only `toolhub login` opens a browser: the others may run where nobody sits."""
    raise PermissionError(f"run 'toolhub login {server}' first")


def take_report(
    problems: list[str], path: str, loaded: list[str], errors: list[str], warnings: list[str]
) -> None:
    """Collect what is wrong with a source; one of which nothing can be used ends the command."""
    if errors and not loaded:
        raise Failure(errors[0], USAGE)
    problems += [*errors, *warnings]


def connect_missing(hub: "ToolHub", problems: list[str]) -> int:
    """Connect the servers that have never listed their tools, and print all problems; the exit code tells of a failure."""
    ids = hub._servers.take_never_listed()
    failed: dict[str, Any] = connect_with_progress(hub, ids).failed if ids else {}
    problems += [f"the tools of '{id}' are missing: {error}" for id, error in failed.items()]
    tell(problems)
    return max((code_of_connect(error.kind) for error in failed.values()), default=0)


def connect_with_progress(hub: "ToolHub", ids: list[str] | None, timeout: float | None = None) -> "Any":
    """Connect, with a line on a terminal that says who is awaited."""
    line = ProgressLine()
    all_of = (row.id for row in hub.servers() if row.state != "disabled")
    waiting = dict.fromkeys(all_of if ids is None else ids)

    def progress(id: str, _error: "Any") -> None:
        waiting.pop(id, None)
        if waiting:
            line.show(f"connecting, waiting for {', '.join(waiting)}")

    line.show(f"connecting {', '.join(waiting)}")
    try:
        return hub.connect_sync(ids, timeout=timeout, progress=progress)
    finally:
        line.clear()


def require_server(ids: "Iterable[str]", id: str) -> None:
    """Raise unless there is a server of this id."""
    known = list(ids)
    if id not in known:
        there = f"known servers: {', '.join(known)}" if known else "the configuration has no servers"
        raise Failure(f"unknown server '{id}'; {there}", NOT_FOUND)


def require_tool(catalog: Catalog, name: str) -> "_core.ToolInfo":
    """The tool of this name, or of `server.name`."""
    found = catalog.get(name)
    if found is None:
        server, tool = split_name(name, [row["id"] for row in catalog.servers()])
        found = next((one for one in catalog.tools(server) if one.name == tool), None) if server else None
    if found is None:
        # It may well be a tool of a server that cannot be reached.
        code = catalog.code or NOT_FOUND
        near = [hit.name for hit in catalog.search(name, 3)]
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise Failure(f"unknown tool '{name}'{hint}", code)
    return found


def split_name(name: str, servers: list[str]) -> tuple[str | None, str]:
    """`server.tool` as its parts, where there is such a server; ids may have dots.

    >>> split_name("files.read", ["files"]), split_name("read", ["files"]), split_name("a.b.c", ["a", "a.b"])
    (('files', 'read'), (None, 'read'), ('a.b', 'c'))
    """
    matching = [id for id in servers if name.startswith(f"{id}.") and len(name) > len(id) + 1]
    if not matching:
        return None, name
    server = max(matching, key=len)
    return server, name[len(server) + 1 :]


def tell(problems: list[str]) -> None:
    """Print problems to stderr."""
    for problem in problems:
        say(problem)


def group_of(tool: "ToolInfo") -> str:
    """The place that a tool comes from first: a server, or its source."""
    first = tool.candidates[0]
    return first.server or first.source


def where(tool: "ToolInfo") -> str:
    """The other places that a tool comes from; empty for one that has a single candidate."""
    others = [candidate.server or candidate.source for candidate in tool.candidates[1:]]
    return f"(also {', '.join(others)})" if others else ""


def tool_as_json(tool: "ToolInfo") -> "dict[str, Any]":
    """Everything about a tool that can be written down."""
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "capabilities": tool.capabilities,
        "category": tool.category,
        "version": tool.version,
        "safety": tool.safety,
        "evidence": tool.evidence,
        "annotations": tool.annotations,
        "candidates": [
            {"source": one.source, "server": one.server, "priority": one.priority} for one in tool.candidates
        ],
    }


def server_as_json(row: "dict[str, Any]") -> "dict[str, Any]":
    """The state of a server; its error as a sentence and a kind."""
    error = row["error"] and {word: row["error"][word] for word in ("kind", "message")}
    keys = ("id", "state", "transport", "era", "version", "tools", "notices")
    return {**{key: row[key] for key in keys}, "error": error}
