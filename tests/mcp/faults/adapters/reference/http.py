"""Streamable HTTP and legacy SSE, a connection for each request."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import ssl
import zlib
from typing import Any, AsyncIterator, Awaitable, Callable
from urllib.parse import urljoin, urlsplit

from faults.harness.api import Target
from .rpc import Failure, MAX_MESSAGE, Rpc


LINE_END = re.compile(rb"\r\n|\n|\r(?=.)", re.DOTALL)


class Response:
    """One HTTP/1.1 exchange on a connection of its own."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def start(self) -> None:
        while True:
            head = await self.reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            if not lines[0].startswith("HTTP/1."):
                raise Failure("protocol", "not an HTTP server")
            self.status = int(lines[0].split()[1])
            self.headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:] if line)}
            if self.status >= 200:
                return

    async def raw(self) -> AsyncIterator[bytes]:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            while size := int((await self.reader.readuntil(b"\n")).split(b";")[0], 16):
                while size:
                    data = await self.reader.read(min(size, 1 << 20))
                    if not data:
                        raise Failure("closed", "the connection broke in the body")
                    size -= len(data)
                    yield data
                await self.reader.readexactly(2)
            return
        left = int(self.headers["content-length"]) if "content-length" in self.headers else None
        while left != 0:
            data = await self.reader.read(1 << 20 if left is None else min(left, 1 << 20))
            if not data:
                if left:
                    raise Failure("closed", "the connection broke in the body")
                return
            if left is not None:
                left -= len(data)
            yield data

    async def body(self) -> AsyncIterator[bytes]:
        inflate = zlib.decompressobj(31) if self.headers.get("content-encoding") == "gzip" else None
        async for data in self.raw():
            while data and inflate:
                try:
                    yield inflate.decompress(data, 1 << 20)
                except zlib.error as exc:
                    raise Failure("protocol", f"bad gzip: {exc}") from exc
                data = inflate.unconsumed_tail
            if data:
                yield data

    async def read(self) -> bytes:
        parts, size = [], 0
        async for data in self.body():
            parts.append(data)
            size += len(data)
            if size > MAX_MESSAGE:
                raise Failure("limit", f"body over the size limit of {MAX_MESSAGE}")
        return b"".join(parts)

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        buffer, scan, event, size, first = bytearray(), 0, {}, 0, True
        async for data in self.body():
            buffer += data
            while match := LINE_END.search(buffer, scan):
                line = bytes(buffer[: match.start()])
                del buffer[: match.end()]
                scan = 0
                if first:
                    line, first = line.removeprefix(b"\xef\xbb\xbf"), False
                if not line:
                    if event:
                        yield event
                    event, size = {}, 0
                    continue
                field, _, value = line.partition(b":")
                value = value.removeprefix(b" ")
                size += len(value)
                key = field.decode("latin-1")
                if key == "data":
                    event["data"] = event["data"] + b"\n" + value if "data" in event else value
                elif key in ("id", "event", "retry"):
                    event[key] = value.decode("utf-8", "replace")
            scan = max(0, len(buffer) - 1)
            if len(buffer) + size > MAX_MESSAGE:
                raise Failure("limit", f"event over the size limit of {MAX_MESSAGE}")


class Http(Rpc):
    def __init__(self, target: Target) -> None:
        super().__init__()
        self.url, self.token_headers = target.url, dict(target.headers)
        self.session: str | None = None
        self.version: str | None = None
        self.reinit: Callable[[], Awaitable[None]] | None = None
        self.lock = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def exchange(self, verb: str, url: str, body: bytes = b"", extra: dict[str, str] | None = None) -> AsyncIterator[Response]:
        for _ in range(5):
            parts = urlsplit(url)
            context = ssl.create_default_context() if parts.scheme == "https" else None
            try:
                reader, writer = await asyncio.open_connection(
                    parts.hostname, parts.port or (443 if context else 80), ssl=context, limit=1 << 17)
            except OSError as exc:
                raise Failure("connect", str(exc)) from exc
            try:
                headers = {"Host": parts.netloc, "Connection": "close", "Accept": "application/json, text/event-stream",
                           "Accept-Encoding": "gzip", "Content-Type": "application/json", "Content-Length": str(len(body)),
                           **self.token_headers, **(extra or {})}
                if self.session:
                    headers["Mcp-Session-Id"] = self.session
                if self.version:
                    headers["Mcp-Protocol-Version"] = self.version
                path = parts.path + (f"?{parts.query}" if parts.query else "")
                head = f"{verb} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
                response = Response(reader, writer)
                try:
                    writer.write(head.encode() + body)
                    await writer.drain()
                    await response.start()
                    location = urljoin(url, response.headers.get("location", ""))
                    if response.status in (307, 308) and urlsplit(location)[:2] == parts[:2]:
                        url = location
                        continue
                    yield response
                    return
                except (OSError, EOFError, asyncio.LimitOverrunError, ValueError) as exc:
                    raise Failure("closed", f"HTTP exchange failed: {type(exc).__name__} {exc}"[:200]) from exc
            finally:
                writer.transport.abort()
        raise Failure("http", "too many redirects")

    async def post(self, message: dict[str, Any]) -> None:
        async with self.exchange("POST", self.url, json.dumps(message).encode()) as response:
            if response.status >= 400:
                raise Failure("http", f"HTTP {response.status}", status=response.status)

    async def send_request(self, message: dict[str, Any], request_id: int) -> None:
        try:
            stale = self.session
            answered = await self.attempt(message, request_id)
            if answered is None:  # the server forgot our session, so it did nothing: start over once
                async with self.lock:
                    if self.session == stale and self.reinit:
                        self.session = None
                        await self.reinit()
                answered = await self.attempt(message, request_id)
            if not answered:
                raise Failure("session" if answered is None else "closed", "the response ended without an answer")
        except Failure as failure:
            self.settle(request_id, failure)

    async def attempt(self, message: dict[str, Any], request_id: int) -> bool | None:
        last = ""
        async with self.exchange("POST", self.url, json.dumps(message).encode()) as response:
            status, ctype = response.status, response.headers.get("content-type", "").split(";")[0].strip().lower()
            if status == 404 and self.session:
                return None
            if status != 200:
                if ctype == "application/json" and 400 <= status < 500 and self.received(await response.read(), request_id):
                    return True
                after = response.headers.get("retry-after", "")
                raise Failure("auth" if status in (401, 403) else "http", f"HTTP {status}", status=status,
                              retry_after=float(after) if after.isdigit() else None)
            if message["method"] == "initialize":
                self.session = response.headers.get("mcp-session-id")
            if ctype == "application/json":
                return self.received(await response.read(), request_id) or self.settle(
                    request_id, Failure("protocol", "the answer is not a JSON-RPC response to this request"))
            if ctype != "text/event-stream":
                raise Failure("protocol", f"unexpected content type {ctype!r}")
            done, last = await self.consume(response, request_id, last)
        pause = 0.2
        while not done and last:  # dropped, but resumable: politely
            await asyncio.sleep(pause)
            pause = min(pause * 2, 5)
            async with self.exchange("GET", self.url, extra={"Last-Event-ID": last}) as response:
                if response.status != 200:
                    return False
                done, last = await self.consume(response, request_id, last)
        return done

    async def consume(self, response: Response, request_id: int, last: str) -> tuple[bool, str]:
        with contextlib.suppress(OSError, EOFError):
            try:
                async for event in response.events():
                    last = str(event.get("id", last))
                    if event.get("event", "message") == "message" and event.get("data"):
                        if self.received(event["data"], request_id):
                            return True, last
            except Failure as failure:
                if failure.info.kind != "closed":
                    raise
        return False, last

    async def close(self) -> None:
        self.die(Failure("closed", "closed"))
        await self.drain()
        if self.session:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(1.5):
                    async with self.exchange("DELETE", self.url):
                        pass


class LegacySse(Http):
    async def open(self) -> None:
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.stream = asyncio.create_task(self._listen(ready))
        try:
            self.post_url = await asyncio.shield(ready)
        except BaseException:
            self.stream.cancel()
            raise

    async def _listen(self, ready: asyncio.Future[str]) -> None:
        failure = Failure("closed", "the event stream ended")
        try:
            async with self.exchange("GET", self.url) as response:
                if response.status != 200:
                    raise Failure("http", f"HTTP {response.status}", status=response.status)
                async for event in response.events():
                    if event.get("event") == "endpoint" and not ready.done():
                        url = urljoin(self.url, event.get("data", b"").decode())
                        if urlsplit(url)[:2] != urlsplit(self.url)[:2]:
                            raise Failure("protocol", "endpoint on another origin")
                        ready.set_result(url)
                    elif event.get("event", "message") == "message" and event.get("data"):
                        self.received(event["data"])
        except Failure as exc:
            failure = exc
        if not ready.done():
            ready.set_exception(failure)
        self.die(failure)

    async def send_request(self, message: dict[str, Any], request_id: int) -> None:
        try:
            await self.post(message)
        except Failure as failure:
            self.settle(request_id, failure)

    async def post(self, message: dict[str, Any]) -> None:
        async with self.exchange("POST", self.post_url, json.dumps(message).encode()) as response:
            if response.status >= 400:
                raise Failure("http", f"HTTP {response.status}", status=response.status)

    async def close(self) -> None:
        self.die(Failure("closed", "closed"))
        await self.drain()
        self.stream.cancel()
        await asyncio.wait({self.stream}, timeout=2)
