"""A client of the installed SDK (1.x: legacy, 2.x: modern), or of FastMCP, that tries each feature with each upstream of a
served hub: `python client.py URL MARKS UPSTREAM…`. It prints what came of each cell.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp
from mcp import types

IS_MODERN = hasattr(mcp, "Client")
IS_FASTMCP = importlib.util.find_spec("fastmcp") is not None
URL, MARKS, UPSTREAMS = sys.argv[1], Path(sys.argv[2]), sys.argv[3:]
PERSON = {"name": "Marit", "age": 36}
SECONDS = 20
TOOLS = ("add", "fail", "ask", "slow", "grow", "broken", "task")
# What the servers of a package cannot have.
MISSING = {"typescript2": ("task",), "fastmcp4": ("grow", "broken", "task")}


async def elicit(context: Any, params: Any) -> Any:
    assert params.message.endswith("] Who are you?"), params
    return types.ElicitResult(action="accept", content=PERSON)


class Peer:
    """A session, with answers as the protocol writes them."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.changed = asyncio.Event()

    async def names(self) -> list[str]:
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def call(self, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        result = await self.session.call_tool(name, arguments or {}, **more)
        return result.model_dump(mode="json", by_alias=True)


class FastPeer(Peer):
    """A client of FastMCP."""

    async def names(self) -> list[str]:
        return [tool.name for tool in await self.session.list_tools()]

    async def call(self, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        if "progress_callback" in more:
            more["progress_handler"] = more.pop("progress_callback")
        result = await self.session.call_tool_mcp(name, arguments or {}, **more)
        return result.model_dump(mode="json", by_alias=True)


@contextlib.asynccontextmanager
async def connected_fastmcp(is_listening: bool) -> AsyncIterator[Peer]:
    from fastmcp import Client
    from fastmcp.client.elicitation import ElicitResult

    peer = FastPeer(None)

    async def heard(message: Any) -> None:
        if isinstance(getattr(message, "root", message), types.ToolListChangedNotification):
            peer.changed.set()

    async def answer(message: str, response_type: Any, params: Any, context: Any) -> Any:
        assert message.endswith("] Who are you?"), message
        return ElicitResult(action="accept", content=PERSON)

    # FastMCP hears of changes in the older era only.
    mode = "legacy" if is_listening else "auto"
    async with Client(URL, mode=mode, elicitation_handler=answer, message_handler=heard) as client:
        peer.session = client
        yield peer


@contextlib.asynccontextmanager
async def connected(is_listening: bool = False) -> AsyncIterator[Peer]:
    if IS_FASTMCP:
        async with connected_fastmcp(is_listening) as peer:
            yield peer
        return
    if IS_MODERN:
        async with mcp.Client(URL, mode="2026-07-28", elicitation_callback=elicit) as client:
            yield Peer(client)
        return
    from mcp.client.streamable_http import streamable_http_client

    peer = Peer(None)

    async def heard(message: Any) -> None:
        if isinstance(getattr(message, "root", message), types.ToolListChangedNotification):
            peer.changed.set()

    async with (
        streamable_http_client(URL) as (read, write, _),
        mcp.ClientSession(read, write, elicitation_callback=elicit, message_handler=heard) as session,
    ):
        await session.initialize()
        peer.session = session
        yield peer


async def until(condition: Callable[[], Any]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


async def list_(peer: Peer, to: str) -> None:
    missing = next((names for kind, names in MISSING.items() if to.startswith(kind)), ())
    expected = {f"{to}_{name}" for name in TOOLS if name not in missing}
    assert expected <= set(await peer.names())


async def call(peer: Peer, to: str) -> None:
    answer = await peer.call(f"{to}_add", {"a": 2, "b": 3})
    assert (answer["content"][0]["text"], bool(answer.get("isError"))) == ("5", False), answer


async def structured(peer: Peer, to: str) -> None:
    assert (await peer.call(f"{to}_add", {"a": 2, "b": 3}))["structuredContent"] == {"result": 5}


async def progress(peer: Peer, to: str) -> None:
    reports: list[Any] = []

    async def report(done: float, total: float | None, message: str | None) -> None:
        reports.append((done, total, message))

    assert (await peer.call(f"{to}_slow", {"steps": 3}, progress_callback=report))["content"][0][
        "text"
    ] == "done"
    await until(lambda: reports and reports[-1] == (3, 3, "step 3"))
    assert reports == sorted(reports)


async def cancel(peer: Peer, to: str) -> None:
    for name in ("started", "cancelled"):
        (MARKS / f"{to}-{name}").unlink(missing_ok=True)
    running = asyncio.ensure_future(peer.call(f"{to}_slow", {"steps": 100_000}))
    await until(lambda: (MARKS / f"{to}-started").exists())
    if not IS_MODERN:
        # A session of the SDK 1.x does not announce that it has given up.
        params = types.CancelledNotificationParams(requestId=peer.session._request_id - 1)
        note = types.CancelledNotification(method="notifications/cancelled", params=params)
        await peer.session.send_notification(types.ClientNotification(note))
    else:
        running.cancel()
    await until(lambda: (MARKS / f"{to}-cancelled").exists())
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await running  # the answer to a cancelled request, if there is one


async def elicitation(peer: Peer, to: str) -> None:
    answer = await peer.call(f"{to}_ask")
    assert answer["content"][0]["text"] == "Marit is 36", answer


async def list_change(peer: Peer, to: str) -> None:
    name = f"{to}_grown_{'fastmcp' if IS_FASTMCP else 'modern' if IS_MODERN else 'legacy'}"
    assert name not in await peer.names()
    if IS_MODERN and not IS_FASTMCP:
        async with peer.session.listen(tools_list_changed=True) as changes:
            await peer.call(f"{to}_grow", {"name": name})
            async for _ in changes:
                if name in await peer.names():
                    return
    await peer.call(f"{to}_grow", {"name": name})
    while True:
        await peer.changed.wait()
        peer.changed.clear()
        if name in await peer.names():
            return


async def tool_error(peer: Peer, to: str) -> None:
    answer = await peer.call(f"{to}_fail")
    assert answer["isError"] is True, answer
    assert "no luck" in answer["content"][0]["text"], answer


async def protocol_error(peer: Peer, to: str) -> None:
    for name, expected in (
        (f"{to}_broken", (-31055, "the database is locked", {"file": 7})),
        (f"{to}_no", -32602),
    ):
        try:
            answer: Any = await peer.call(name)
        except Exception as error:
            found = getattr(error, "error", error)
            answer = found.code if isinstance(expected, int) else (found.code, found.message, found.data)
        assert answer == expected, answer


async def task(peer: Peer, to: str) -> None:
    answer = await peer.call(f"{to}_task")
    assert answer["content"][0]["text"] == "the task is done", answer
    if not IS_MODERN:
        # The hub offers each tool as a task, whatever its server does.
        for name, arguments in ((f"{to}_task", {}), (f"{to}_add", {"a": 2, "b": 3})):
            created = await peer.session.experimental.call_tool_as_task(name, arguments)
            async for _ in peer.session.experimental.poll_task(created.task.taskId):
                pass
            asked = (created.task.taskId, types.CallToolResult)
            result = await peer.session.experimental.get_task_result(*asked)
            assert result.content[0].text in ("the task is done", "5"), result


FEATURES: dict[str, Callable[[Peer, str], Awaitable[None]]] = {
    "list": list_,
    "call": call,
    "structured output": structured,
    "progress": progress,
    "cancel": cancel,
    "elicitation": elicitation,
    "tool error": tool_error,
    "protocol error": protocol_error,
    "task": task,
}


async def attempt(feature: Callable[[Peer, str], Awaitable[None]], to: str) -> str:
    """Each cell has a connection of its own, so that a failure spoils no other."""
    try:
        async with asyncio.timeout(SECONDS), connected(feature is list_change) as peer:
            await feature(peer, to)
    except BaseException as error:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        return f"{type(error).__name__}: {error}"[:400]
    return "ok"


async def main() -> None:
    found: dict[str, dict[str, str]] = {to: {} for to in UPSTREAMS}

    async def fill(to: str) -> None:
        for name, feature in FEATURES.items():
            found[to][name] = await attempt(feature, to)

    await asyncio.gather(*map(fill, UPSTREAMS))
    for to in UPSTREAMS:  # one after another, because a change does not tell whose it is
        found[to]["list change"] = await attempt(list_change, to)
    print(json.dumps(found))


asyncio.run(main())
