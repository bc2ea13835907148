"""A server with one tool, `mirror`, that returns its arguments as JSON text and the `_meta` of the request as `_meta`.

The schema of the tool is in SCHEMA:

    SCHEMA='{"type": "object"}' python mirror.py

Standard library only, so that it starts at once. What comes back is what left the client.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

TOOL = {"name": "mirror", "description": "Gives back.", "inputSchema": json.loads(os.environ["SCHEMA"])}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "mirror", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        content = [{"type": "text", "text": json.dumps(params.get("arguments"))}]
        return {"content": content, "_meta": {"mirror/request": params.get("_meta", {})}}
    return {} if method == "ping" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message["method"], message.get("params", {}))
    reply = (
        {"result": result} if result is not None else {"error": {"code": -32601, "message": "unknown method"}}
    )
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
