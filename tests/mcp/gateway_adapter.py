"""The fault lab seen through a served hub: `python tests/mcp/run_faults.py --through-gateway`.

A hub has the lab's server and is served over HTTP; a second hub is the client of it. Connecting and listing again are the
operator's acts, on the first hub; lists and calls are the client's. A failure of the server is a tool error for the client,
so its kind is not known here. The gateway must be up at the end of each case.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

import faults_adapter
from faults.harness.api import CallResult, Target, ToolInfo
from faults_adapter import Failure, of_report, of_result

import toolhub
from toolhub.serving import Serving

GATEWAY = "gateway"
# The status of the server behind the gateway is in the text of the error.
STATUS = re.compile(r"\bstatus (\d{3})\b")


async def is_up(serving: Serving) -> bool:
    """Whether the gateway is ready for requests. Without a thread, which would count as a leak."""
    reader, writer = await asyncio.open_connection(serving.host, serving.port)
    writer.write(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    await writer.wait_closed()
    return b" 200 " in answer.partition(b"\r\n")[0]


class Gateway(faults_adapter.ToolHub):
    """One client, one gateway, one server of the lab."""

    name = "toolhub gateway"

    def __init__(self) -> None:
        super().__init__()
        self._client: toolhub.ToolHub | None = None
        self._serving: Serving | None = None
        self._served: asyncio.Task[None] | None = None

    async def connect(self, target: Target, *, timeout: float) -> None:
        await super().connect(target, timeout=timeout)
        ready: asyncio.Future[Serving] = asyncio.get_running_loop().create_future()
        self._served = asyncio.ensure_future(
            self._need().aserve("http", port=0, ready=ready.set_result, grace=2.0, search_mode="off")
        )
        self._serving = await ready
        self._client = toolhub.ToolHub()
        self._client.add_server(GATEWAY, url=self._serving.url)
        # The time that a case gives is for its server; the gateway may wait longer for the list of that server.
        report = await self._client.connect([GATEWAY])
        if GATEWAY in report.failed:
            raise of_report(report.failed[GATEWAY])

    async def list_tools(self, *, timeout: float) -> list[ToolInfo]:
        await super().list_tools(timeout=timeout)
        client = self._through()
        report = await client.refresh([GATEWAY], timeout=timeout)
        if GATEWAY in report.failed:
            raise of_report(report.failed[GATEWAY])
        return [ToolInfo(tool.name, tool.description) for tool in client.tools(server=GATEWAY)]

    async def call_tool(self, name: str, arguments: dict[str, Any], *, timeout: float) -> CallResult:
        result = await self._through().execute(name, arguments, server=GATEWAY, timeout=timeout)
        if not result.success and (status := STATUS.search(str(result.error))):
            raise Failure(str(result.error), str(result.kind), status=int(status[1]))
        if result.success or result.kind == "tool_error":
            return CallResult(list(result.content or ()), result.structured, not result.success)
        raise of_result(result)

    async def close(self) -> None:
        serving, served, self._serving, self._served = self._serving, self._served, None, None
        if self._client is not None:
            await self._client.aclose()
        if serving is not None and served is not None:
            up = await is_up(serving)
            serving.stop()
            await served
            assert up, "the gateway is not up any more"
        await super().close()

    def _through(self) -> toolhub.ToolHub:
        if self._client is None:
            raise RuntimeError("connect() comes first")
        return self._client
