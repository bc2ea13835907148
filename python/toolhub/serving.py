"""Serving a hub as one MCP server: what a program sees of it. The gateway itself is in the core."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from . import _core
from ._checks import check_seconds, check_text, if_given
from ._lazy import asyncio

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_PART = 1 << 18
"""The longest part of an answer, in bytes: by its parts a slow client is told from one that takes nothing."""


@dataclass(frozen=True)
class Serving:
    """A hub that is being served over HTTP: where, and how to end it."""

    host: str
    port: int
    path: str
    _gateway: _core.Gateway = field(repr=False)
    _reload: Callable[[], None] = field(repr=False)

    @property
    def url(self) -> str:
        """The address for clients.

        >>> from toolhub import ToolHub
        >>> ToolHub().serve("http", port=0, path="/tools", ready=lambda serving: serving.stop() or print(serving.url[:17]))
        http://127.0.0.1:
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{self.path}"

    @property
    def inspect_url(self) -> str | None:
        """The address of the inspector for the operator; it holds a key, so do not give it to clients.

        The page is there on a loopback address, and elsewhere if callers need credentials; otherwise this is None.

        >>> from toolhub import ToolHub
        >>> def ready(serving):
        ...     print("/inspect#key=" in serving.inspect_url)
        ...     serving.stop()
        >>> ToolHub().serve("http", port=0, ready=ready)
        True
        """
        key = self._gateway.inspect_key
        return None if key is None else f"{self.url.removesuffix(self.path)}/inspect#key={key}"

    def stop(self) -> None:
        """Refuse new requests with 503; calls that run are answered, then serving ends. May be called on any thread."""
        self._gateway.drain()

    def rotate_session_key(self, key: str, *, grace: float | None = None) -> None:
        """Sign session ids with `key` from now on; those of the older keys are accepted for `grace` seconds more.

        Without `grace` that is as long as they live. Give the new key to all replicas, as the last of their `session_keys`,
        before one of them signs with it.
        """
        _rotate(self._gateway, key, grace)

    def reload(self) -> None:
        """What SIGHUP does, soon: load configuration files and folders again, open the audit log again."""
        self._reload()


class AsgiApp:
    """A hub as an ASGI 3 application; see `ToolHub.asgi`."""

    def __init__(self, gateway: _core.Gateway) -> None:
        self._gateway = gateway

    def rotate_session_key(self, key: str, *, grace: float | None = None) -> None:
        """Sign session ids with `key` from now on; see `Serving.rotate_session_key`."""
        _rotate(self._gateway, key, grace)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or live through the life of the application."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            self._gateway.enter()
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        else:
            raise ValueError(f"toolhub serves HTTP, not {scope['type']!r}")

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._gateway.enter()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                self._gateway.stop()
                self._gateway.leave()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(bytes(name), bytes(value)) for name, value in scope["headers"]]
        request: Any = await self._gateway.admit(scope["method"], _target(scope), headers)
        try:
            refusal = await _refusal(request, receive)
        except ConnectionResetError:
            return
        if refusal is not None:
            # The rest of the body is not read.
            await self._reply(refusal, [*refusal.headers, (b"connection", b"close")], send)
            return
        handled = asyncio.ensure_future(self._handle(request, send))
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait((handled, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (handled, gone):
                if not task.done():
                    task.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await task
        if not handled.cancelled():
            handled.result()

    async def _handle(self, request: Any, send: Send) -> None:
        reply: Any = await request.answer()
        await self._reply(reply, reply.headers, send)

    async def _reply(self, reply: Any, headers: list[tuple[bytes, bytes]], send: Send) -> None:
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        # A client that takes nothing: the server closes a connection whose answer is not complete.
        with contextlib.suppress(TimeoutError):
            await self._send_body(reply, send)

    async def _send_body(self, reply: Any, send: Send) -> None:
        async def put(part: bytes, more: bool) -> None:
            message = {"type": "http.response.body", "body": part, "more_body": more}
            await asyncio.wait_for(send(message), self._gateway.write_timeout)

        body: bytes | AsyncIterator[bytes] = reply.body()
        if not isinstance(body, bytes):
            async for part in body:
                await put(part, True)
            await put(b"", False)
            return
        for start in range(0, max(len(body), 1), _PART):
            await put(body[start : start + _PART], start + _PART < len(body))


def _rotate(gateway: _core.Gateway, key: str, grace: float | None) -> None:
    check_text("key", key)
    gateway.rotate_session_key(key, if_given(check_seconds, "grace", grace))


def _target(scope: Scope) -> str:
    """Path and query below the place where the application is mounted."""
    from urllib.parse import quote

    path, root = scope["path"], scope.get("root_path", "").rstrip("/")
    if root and (path == root or path.startswith(f"{root}/")):
        path = path[len(root) :]
    query = scope.get("query_string", b"")
    return quote(path or "/", safe="/:@!$&'()*+,;=~") + (f"?{query.decode('latin-1')}" if query else "")


async def _refusal(request: Any, receive: Receive) -> Any:
    """Hand over the body of a request that may be read; the reply if it is refused before all has come."""
    refusal, more = request.take(b""), True
    while more and refusal is None:
        try:
            message = await asyncio.wait_for(receive(), request.time_left)
        except TimeoutError:
            return request.expire()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError
        refusal, more = request.take(message.get("body", b"")), message.get("more_body", False)
    return refusal


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
