"""A reference client in the standard library: proof that the catalogue can be passed.

Not a product.  It speaks only the handshake eras, opens a connection per HTTP
request and never listens on the GET stream.  When a case fails here, suspect the
case before the client under test.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import Any, AsyncIterator

from faults.harness.api import CallResult, ErrorInfo, Target, ToolInfo
from .http import Http, LegacySse
from .rpc import Failure, Rpc, breaks_schema
from .stdio import Stdio


MAX_PAGES = 500
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")


class Reference:
    name = "reference"

    def __init__(self) -> None:
        self._rpc: Rpc | None = None
        self._target: Target | None = None
        self._schemas: dict[str, Any] = {}
        self._retired: dict[Rpc, asyncio.Future[None]] = {}

    async def connect(self, target: Target, *, timeout: float) -> None:
        self._target, self._timeout = target, timeout
        rpc: Any = Stdio() if target.transport == "stdio" else LegacySse(target) if target.transport == "sse" else Http(target)
        try:
            async with self._deadline(timeout):
                if not isinstance(rpc, Http) or isinstance(rpc, LegacySse):
                    await (rpc.open(target) if isinstance(rpc, Stdio) else rpc.open())
                await self._handshake(rpc)
        except BaseException:
            if not isinstance(rpc, Stdio) or hasattr(rpc, "process"):
                if not isinstance(rpc, LegacySse) or hasattr(rpc, "stream"):
                    await asyncio.shield(asyncio.ensure_future(rpc.close()))
            raise
        if type(rpc) is Http:
            rpc.reinit = lambda: self._handshake(rpc)
        self._rpc = rpc

    async def _handshake(self, rpc: Any) -> None:
        result = await rpc.request("initialize", {"protocolVersion": VERSIONS[0], "capabilities": {},
                                                  "clientInfo": {"name": "reference", "version": "1"}})
        if result.get("protocolVersion") not in VERSIONS:
            raise Failure("protocol", f"unsupported protocol version {result.get('protocolVersion')!r}")
        if isinstance(rpc, Http):
            rpc.version = result["protocolVersion"]
            rpc.spawn(rpc.notify("notifications/initialized"))
        else:
            await rpc.notify("notifications/initialized")

    @contextlib.asynccontextmanager
    async def _deadline(self, timeout: float) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(timeout):
                yield
        except TimeoutError:
            raise Failure("timeout", f"deadline of {timeout:g} s passed") from None

    async def _alive(self) -> Rpc:
        if self._rpc is None:
            raise Failure("closed", "not connected")
        if self._rpc.dead and isinstance(self._rpc, Stdio):  # restart a crashed server
            if self._rpc not in self._retired:
                self._retired[self._rpc] = asyncio.ensure_future(self._rpc.close())
            await self.connect(self._target, timeout=self._timeout)
        return self._rpc

    async def list_tools(self, *, timeout: float) -> list[ToolInfo]:
        tools: list[ToolInfo] = []
        seen: set[str] = set()
        cursor: Any = None
        async with self._deadline(timeout):
            rpc = await self._alive()
            for _ in range(MAX_PAGES):
                page = await rpc.request("tools/list", {"cursor": cursor} if cursor is not None else {})
                if not isinstance(page.get("tools"), list):
                    raise Failure("protocol", "tools/list without a list of tools")
                for tool in page["tools"]:
                    if isinstance(tool, dict) and isinstance(tool.get("name"), str) and isinstance(tool.get("inputSchema"), dict):
                        tools.append(ToolInfo(tool["name"], tool.get("description")))
                        self._schemas[tool["name"]] = tool.get("outputSchema")
                cursor = page.get("nextCursor")
                if not isinstance(cursor, str) or cursor in seen:
                    break
                seen.add(cursor)
        return tools

    async def call_tool(self, name: str, arguments: dict[str, Any], *, timeout: float) -> CallResult:
        async with self._deadline(timeout):
            rpc = await self._alive()
            result = await rpc.request("tools/call", {"name": name, "arguments": arguments})
        content = result.get("content", [])
        if not isinstance(content, list):
            raise Failure("protocol", "content is not a list")
        structured = result.get("structuredContent")
        schema = self._schemas.get(name)
        if schema and structured is not None and breaks_schema(schema, structured):
            raise Failure("protocol", "structured content does not match the tool's schema")
        return CallResult([b for b in content if isinstance(b, dict)], structured, bool(result.get("isError")))

    async def close(self) -> None:
        rpc, self._rpc = self._rpc, None
        if rpc is not None and rpc not in self._retired:
            self._retired[rpc] = asyncio.ensure_future(rpc.close())
        while self._retired:
            await asyncio.shield(self._retired.popitem()[1])

    def classify(self, exc: BaseException) -> ErrorInfo:
        if isinstance(exc, Failure):
            return exc.info
        if isinstance(exc, asyncio.CancelledError):
            return ErrorInfo("cancelled", str(exc))
        return ErrorInfo("other", f"{type(exc).__name__}: {exc}")


if sys.version_info < (3, 11):
    raise ImportError("the reference client needs asyncio.timeout (Python 3.11)")
