"""What there is to know about MCP servers and about loading and connecting them."""

import logging
from dataclasses import dataclass, field
from typing import Any

from .exceptions import ErrorKind, ToolError

__all__ = ["ConnectReport", "LoadReport", "ServerInfo"]

_log = logging.getLogger("toolhub")

# Problems that name ever new things must not fill the memory.
_MOST_SAID = 10_000


@dataclass(frozen=True)
class ServerInfo:
    """One server as it is now.

    `state` is `disconnected`, `connecting`, `connected`, `failed`, `disabled` or `closed`; `era` is `modern` or `legacy` and
    `version` that of the protocol; `tools` counts what it has listed, and `age` says how many seconds ago. All of them are
    known once it was connected, with a store perhaps in an earlier process, and None before that; `notices` say what of its
    list was left out, and which of its tools have the name of a native one.
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


@dataclass(frozen=True)
class LoadReport:
    """What came of loading. It is true when nothing was wrong.

    `loaded` are the names that are there now (after `hub.reload()`: those that are new or have changed), `removed` those
    that are not there any more. `skipped` says what was passed over and why, `warnings` what was loaded though it is odd,
    `errors` what is broken.
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
            told: list[str] = getattr(self, word)
            lines += [f"  {word}:"] * bool(told) + [f"    {line}" for line in told]
        return "\n".join(lines)


class Told:
    """Logs what reports say is wrong: each problem once, however often something is loaded."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def log(self, report: LoadReport) -> LoadReport:
        """Log what has not been said yet, and give the report back."""
        if len(self._said) > _MOST_SAID:
            self._said.clear()
        parts = ((logging.WARNING, report.errors + report.warnings), (logging.INFO, report.skipped))
        for level, problems in parts:
            for problem in problems:
                if problem not in self._said:
                    self._said.add(problem)
                    _log.log(level, "%s", problem)
        return report


@dataclass(frozen=True)
class ConnectReport:
    """What came of connecting or listing: who is there, and why the others are not."""

    connected: list[str] = field(default_factory=list[str])
    failed: dict[str, ToolError] = field(default_factory=dict[str, ToolError])

    def __bool__(self) -> bool:
        return not self.failed


def as_error(given: dict[str, Any]) -> ToolError:
    """An error of the core as an exception."""
    details = {key: given.get(key) for key in ("code", "status", "retry_after")}
    return ToolError(given["message"], ErrorKind(given["kind"]), **details)


def as_info(given: dict[str, Any]) -> ServerInfo:
    """A row of the core."""
    error = given.pop("error")
    return ServerInfo(**given, error=None if error is None else as_error(error))
