"""The state of MCP servers, and reports about loading and connecting them."""

import logging
from dataclasses import dataclass, field
from typing import Any

from ._lazy import shown_as
from .exceptions import ErrorKind, ToolError

__all__ = ["ConnectReport", "LoadReport", "ServerInfo"]

_log = logging.getLogger("toolhub")

# Bounds the memory: problems that name new things each time would grow without end.
_MOST_REMEMBERED = 10_000


@dataclass(frozen=True)
class ServerInfo:
    """The present state of one server.

    `state` is `disconnected`, `connecting`, `connected`, `failed`, `disabled` or `closed`; `era` is `modern` or `legacy` and
    `version` that of the protocol; `tools` counts the tools it has listed, and `age` is the age of that list in seconds.
    These four are None until the server was connected once; with a store, an earlier process counts. `notices` name the
    entries of its list that were left out, and its tools that have the name of a native one. `stray_output` is the first line
    that its process printed to stdout although it is not an MCP message, which other clients may not forgive.
    """

    id: str
    state: str
    era: str | None
    version: str | None
    transport: str
    tools: int | None
    age: float | None
    error: ToolError | None
    pid: int | None
    notices: list[str]
    instructions: str | None
    stray_output: str | None


@dataclass(frozen=True)
class LoadReport:
    """The result of loading. It is true when there are no errors.

    `loaded` has the names that were loaded (after `hub.reload()`: those that are new or have changed), `removed` the names
    that are gone. `skipped` says what was left out and why, `warnings` what was loaded despite a problem, `errors` what
    could not be loaded.
    """

    loaded: list[str]
    skipped: list[str]
    errors: list[str]
    warnings: list[str] = field(default_factory=list[str])
    removed: list[str] = field(default_factory=list[str])

    def __bool__(self) -> bool:
        return not self.errors

    def __repr__(self) -> str:
        names = ", ".join(self.loaded[:10]) + (", …" if len(self.loaded) > 10 else "")
        lines = [f"LoadReport: {len(self.loaded)} loaded" + (f" ({names})" if names else "")]
        if self.removed:
            lines.append(f"  removed: {', '.join(self.removed)}")
        for word in ("errors", "warnings", "skipped"):
            entries: list[str] = getattr(self, word)
            lines += [f"  {word}:"] * bool(entries) + [f"    {line}" for line in entries]
        return "\n".join(lines)


class LogOnce:
    """Logs the problems of reports, each one once, however often something is loaded."""

    def __init__(self) -> None:
        self._logged: set[str] = set()

    def log(self, report: LoadReport) -> LoadReport:
        """Log the problems that are new."""
        if len(self._logged) > _MOST_REMEMBERED:
            self._logged.clear()
        parts = ((logging.WARNING, report.errors + report.warnings), (logging.INFO, report.skipped))
        for level, problems in parts:
            for problem in problems:
                if problem not in self._logged:
                    self._logged.add(problem)
                    _log.log(level, "%s", problem)
        return report


@dataclass(frozen=True)
class ConnectReport:
    """The result of connecting or listing: which servers are connected, and why the others are not."""

    connected: list[str] = field(default_factory=list[str])
    failed: dict[str, ToolError] = field(default_factory=dict[str, ToolError])

    def __bool__(self) -> bool:
        return not self.failed

    _repr_mimebundle_ = shown_as("of_connect_report")


def as_info(given: dict[str, Any]) -> ServerInfo:
    """A row of the core."""
    if (error := given.pop("error")) is not None:
        details = {key: error.get(key) for key in ("code", "status", "retry_after")}
        error = ToolError(error["message"], ErrorKind(error["kind"]), **details)
    return ServerInfo(**given, error=error)
