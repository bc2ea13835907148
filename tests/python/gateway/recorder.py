"""An upstream server that writes down everything it is sent, run in an environment with an SDK: `python recorder.py`.

It speaks the older protocol with `mcp` 1.x and both with 2.x. It prints its address. `GET /recorded` gives all headers and
bodies so far. With `GUARD`, requests without one of these tokens are refused. After `GET /revoke`, tokens that were used
before it are refused. No part of toolhub is used here.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

import uvicorn

try:
    from mcp.server import MCPServer as Server
    from mcp.server.mcpserver import Context
except ImportError:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as Server
from mcp.types import Completion

server: Any = Server("recorder")
recorded: list[Any] = []
guard = set(filter(None, os.environ.get("GUARD", "").split(",")))
revoked: set[str] = set()
calls: dict[str, int] = {}


@server.tool()
def whoami(ctx: Context) -> str:
    """The credentials of the caller."""
    headers = getattr(ctx, "headers", None) or ctx.request_context.request.headers
    return json.dumps({"authorization": headers.get("authorization"), "user": headers.get("x-user")})


@server.tool(annotations={"readOnlyHint": True, "idempotentHint": True})
def count(ctx: Context, word: str) -> str:
    """How often this caller has asked about a word."""
    headers = getattr(ctx, "headers", None) or ctx.request_context.request.headers
    key = f"{headers.get('authorization')} {word}"
    calls[key] = calls.get(key, 0) + 1
    return f"{key} {calls[key]}"


@server.tool()
def say(text: str) -> str:
    """Say it again."""
    return text


@server.resource("note://one")
def note() -> str:
    """A note."""
    return "noted"


@server.prompt()
def greeting(name: str) -> str:
    """Greet."""
    return f"Hello {name}"


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> Completion:
    """Suggest names."""
    return Completion(values=["Ann"])


class Recorder:
    """Around the application of the SDK."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif scope["path"] == "/recorded":
            await answer(send, 200, json.dumps(recorded).encode())
        elif scope["path"] == "/revoke":
            revoked.update(entry["headers"].get("authorization", "") for entry in recorded)
            await answer(send, 200, b"{}")
        else:
            headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
            entry: dict[str, Any] = {"path": scope["path"], "headers": headers, "body": ""}
            entry["query"] = scope["query_string"].decode()
            recorded.append(entry)
            shown = headers.get("authorization", "")
            if (guard and shown.removeprefix("Bearer ") not in guard) or (shown and shown in revoked):
                await answer(send, 401, b"{}")
                return

            async def read() -> Any:
                message = await receive()
                entry["body"] += message.get("body", b"").decode("utf-8", "replace")
                return message

            await self.app(scope, read, send)


async def answer(send: Any, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


listener = socket.create_server(("127.0.0.1", 0))
print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
config = uvicorn.Config(Recorder(server.streamable_http_app()), log_level="error")
uvicorn.Server(config).run(sockets=[listener])
