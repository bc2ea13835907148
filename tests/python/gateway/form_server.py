"""A server on stdio that asks for what its caller names: `python form_server.py (legacy | modern)`. Plain Python, no SDK."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

MODERN = sys.argv[1] == "modern"
INFO = {"name": "asking", "version": "1"}
CAPABILITIES = {"tools": {}}
SCHEMA = {"type": "object", "properties": {"properties": {"type": "object"}, "message": {"type": "string"}}}
TOOLS = [
    {"name": "ask", "description": "Ask the person.", "inputSchema": SCHEMA},
    {"name": "process", "description": "The number of this process.", "inputSchema": {"type": "object"}},
]
calls: dict[str, Any] = {}


def put(message: dict[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def question(params: dict[str, Any]) -> dict[str, Any]:
    given = params["arguments"]
    form = {"type": "object", "properties": given["properties"]}
    message = given.get("message", "Your session has expired.")
    return {"mode": "form", "message": message, "requestedSchema": form}


def text(value: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(value)}]}


def answer(id: Any, method: str, params: dict[str, Any]) -> None:
    if method == "server/discover" and MODERN:
        versions = {"supportedVersions": ["2026-07-28"], "serverInfo": INFO, "capabilities": CAPABILITIES}
        put({"id": id, "result": {"resultType": "complete", **versions}})
    elif method == "initialize" and not MODERN:
        result = {"protocolVersion": "2025-11-25", "serverInfo": INFO, "capabilities": CAPABILITIES}
        put({"id": id, "result": result})
    elif method == "tools/list":
        put(
            {
                "id": id,
                "result": {"resultType": "complete", "tools": TOOLS, "ttlMs": 0, "cacheScope": "private"},
            }
        )
    elif method == "tools/call" and params["name"] == "process":
        put({"id": id, "result": {"resultType": "complete", **text(os.getpid())}})
    elif method == "tools/call" and not MODERN:
        calls["q1"] = id
        put({"id": "q1", "method": "elicitation/create", "params": question(params)})
    elif method == "tools/call" and "inputResponses" in params:
        put({"id": id, "result": {"resultType": "complete", **text(params["inputResponses"]["form"])}})
    elif method == "tools/call":
        asked = {"form": {"method": "elicitation/create", "params": question(params)}}
        put(
            {
                "id": id,
                "result": {"resultType": "input_required", "inputRequests": asked, "requestState": "s"},
            }
        )
    else:
        put({"id": id, "error": {"code": -32601, "message": "Method not found"}})


for line in sys.stdin:
    message = json.loads(line)
    if "method" in message and "id" in message:
        answer(message["id"], message["method"], message.get("params", {}))
    elif message.get("id") in calls:
        put({"id": calls.pop(message["id"]), "result": text(message.get("result", message.get("error")))})
