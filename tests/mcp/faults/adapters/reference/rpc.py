"""Requests, answers and failures, whatever carries them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
from typing import Any, Awaitable

from faults.harness.api import ErrorInfo


MAX_MESSAGE = 64 << 20
ID = re.compile(rb'"id"\s*:\s*(\d+)')


class Failure(Exception):
    def __init__(self, kind: Any, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.info = ErrorInfo(kind, message, **facts)


def decode(data: bytes) -> Any:
    """One message; anything malformed is a Failure that may name the request it answers."""
    try:
        return json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError) as exc:
        raise Failure("protocol", f"malformed message: {type(exc).__name__}") from None


def breaks_schema(schema: Any, value: Any, depth: int = 0) -> bool:
    """A deliberately small part of JSON Schema: types, required, properties.  No refs, no patterns."""
    if not isinstance(schema, dict) or depth > 30:
        return False
    types = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
    wanted = types.get(schema.get("type")) if isinstance(schema.get("type"), str) else None
    if wanted and (not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool)):
        return True
    if isinstance(value, dict):
        props = schema.get("properties") if isinstance(schema.get("properties"), dict) else {}
        required = schema.get("required") if isinstance(schema.get("required"), list) else []
        return any(k not in value for k in required) or any(
            breaks_schema(props[k], v, depth + 1) for k, v in value.items() if k in props)
    return False


class Rpc:
    """Request ids, waiters and answers to the server's own requests; a carrier moves the bytes."""

    def __init__(self) -> None:
        self.ids = itertools.count(1)
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        self.dead: Failure | None = None
        self.background: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Awaitable[Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self.background.add(task)
        task.add_done_callback(self.background.discard)
        task.add_done_callback(lambda t: t.cancelled() or t.exception())
        return task

    def die(self, failure: Failure) -> None:
        self.dead = self.dead or failure
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(failure)

    def settle(self, request_id: Any, outcome: Any) -> bool:
        future = self.waiting.get(int(request_id)) if str(request_id).isdigit() else None
        if future is None or future.done():
            return False
        future.set_exception(outcome) if isinstance(outcome, Failure) else future.set_result(outcome)
        return True

    def received(self, data: bytes, only: int | None = None) -> bool:
        """Handle one message; True when it answered request ``only`` (or any, when not given)."""
        try:
            message = decode(data)
        except Failure as failure:
            found = ID.search(data[:200])
            return self.settle(only if only is not None else (found.group(1).decode() if found else ""), failure)
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return False
        if "method" in message:
            if "id" in message:
                ping = message["method"] == "ping"
                body = {"result": {}} if ping else {"error": {"code": -32601, "message": "Method not found"}}
                self.spawn(self.post({"jsonrpc": "2.0", "id": message["id"], **body}))
            return False
        if only is not None and message.get("id") not in (only, str(only)):
            return False
        if "error" in message:
            error = message["error"] if isinstance(message["error"], dict) else {}
            code = error.get("code")
            outcome: Any = Failure("rpc", str(error.get("message", ""))[:2000], code=code if isinstance(code, int) else None)
        elif isinstance(message.get("result"), dict):
            outcome = message["result"]
        else:
            outcome = Failure("protocol", "no result object")
        return self.settle(message.get("id"), outcome)

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if self.dead:
            raise self.dead
        request_id = next(self.ids)
        future = self.waiting[request_id] = asyncio.get_running_loop().create_future()
        sending = self.spawn(self.send_request({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}, request_id))
        try:
            return await future
        except asyncio.CancelledError:
            sending.cancel()
            if method != "initialize" and not self.dead:
                self.spawn(self.notify("notifications/cancelled", {"requestId": request_id}))
            raise
        finally:
            future.cancel() if not future.done() else future.exception()
            del self.waiting[request_id]

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        with contextlib.suppress(Exception):
            async with asyncio.timeout(3):
                await self.post({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    async def drain(self) -> None:
        for task in list(self.background):
            task.cancel()
        if self.background:
            await asyncio.wait(set(self.background), timeout=2)

    # the carrier
    async def send_request(self, message: dict[str, Any], request_id: int) -> None:
        try:
            await self.post(message)
        except Failure as failure:
            self.settle(request_id, failure)

    async def post(self, message: dict[str, Any]) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError
