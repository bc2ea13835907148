"""The hub under the fault lab: `python tests/mcp/faults/run.py --client faults_adapter:ToolHub`.

The rules of the lab: the hub's own deadlines, nothing is tried again here, and an error is known only by what
the hub documents (`_meta["error"]`, the report of `connect`).
"""

from __future__ import annotations

import asyncio
from typing import Any

from faults.harness.api import CallResult, ErrorInfo, Target, ToolInfo

import toolhub

SERVER = "lab"
# The hub's kinds that the lab knows under another name, or not at all.
KINDS = {"tool_error": "tool"}
KNOWN = {"timeout", "closed", "connect", "auth", "http", "rpc", "protocol", "limit", "cancelled", "tool"}
FACTS = ("code", "status", "retry_after")


class Failure(Exception):
    """A failure that the hub reported as data, as the lab wants to read it."""

    def __init__(self, message: str, kind: str, **facts: Any) -> None:
        super().__init__(message)
        name: Any = KINDS.get(kind, kind)
        self.info = ErrorInfo(name if name in KNOWN else "other", message, **facts)


def of_report(error: toolhub.ToolError) -> Failure:
    """The entry of a server in `report.failed`, or what was raised."""
    facts = {name: getattr(error, name) for name in FACTS}
    return Failure(str(error), str(error.kind), **facts)


def of_result(result: toolhub.ToolResult) -> Failure:
    """A failed call."""
    error = result.meta["error"]
    return Failure(str(result.error), error["kind"], **{name: error[name] for name in FACTS})


class ToolHub:
    """One hub with one server; a hub cannot be opened again, so each connection has its own."""

    name = "toolhub"

    def __init__(self) -> None:
        self._hub: toolhub.ToolHub | None = None

    async def connect(self, target: Target, *, timeout: float) -> None:
        hub = self._hub = toolhub.ToolHub()
        if target.transport == "stdio":
            how: dict[str, Any] = {"command": target.command, "args": list(target.args), "env": target.env}
        else:
            # A plain URL, as people write it: the hub finds the transport. Only the oldest one is named, because
            # the lab's server would answer a modern POST at that address too.
            how = {"url": target.url, "headers": target.headers}
            if target.transport == "sse":
                how["transport"] = "sse"
        hub.add_server(SERVER, **how, startup_timeout=timeout)
        report = await hub.connect([SERVER])
        if SERVER in report.failed:
            raise of_report(report.failed[SERVER])

    async def list_tools(self, *, timeout: float) -> list[ToolInfo]:
        hub = self._need()
        report = await hub.refresh([SERVER], timeout=timeout)
        if SERVER in report.failed:
            raise of_report(report.failed[SERVER])
        return [ToolInfo(tool.name, tool.description) for tool in hub.tools(server=SERVER)]

    async def call_tool(self, name: str, arguments: dict[str, Any], *, timeout: float) -> CallResult:
        result = await self._need().execute(name, arguments, server=SERVER, timeout=timeout)
        if result.success or result.kind == "tool_error":
            return CallResult(list(result.content or ()), result.structured, not result.success)
        raise of_result(result)

    async def close(self) -> None:
        # The hub is kept: a second close and a call after it must meet the closed hub, not this class.
        if self._hub is not None:
            await self._hub.aclose()

    def classify(self, exc: BaseException) -> ErrorInfo:
        if isinstance(exc, Failure):
            return exc.info
        if isinstance(exc, toolhub.ToolError):
            return of_report(exc).info
        if isinstance(exc, asyncio.CancelledError):
            return ErrorInfo("cancelled", str(exc))
        return ErrorInfo("other", f"{type(exc).__name__}: {exc}")

    def _need(self) -> toolhub.ToolHub:
        if self._hub is None:
            raise RuntimeError("connect() comes first")
        return self._hub
