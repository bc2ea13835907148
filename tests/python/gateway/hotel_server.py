"""A modern server on stdio that keeps nothing about a request between its questions: `python hotel_server.py FILE`.

Its `requestState` says how far a request is. It writes each request that it takes to the file. Plain Python, no SDK.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

TAKEN, INFO = Path(sys.argv[1]), {"name": "hotel", "version": "1"}
CAPABILITIES: dict[str, Any] = {"tools": {}, "prompts": {}}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [
    {"name": "book", "description": "Book a room.", "inputSchema": CITY},
    {"name": "cancel", "description": "Cancel a room.", "inputSchema": CITY},
]
PROMPT = {"name": "trip", "description": "Plan a trip.", "arguments": [{"name": "city"}]}
QUESTIONS = ("nights", "guests")


def question(key: str) -> dict[str, Any]:
    form = {"type": "object", "properties": {key: {"type": "integer"}}, "required": [key]}
    params = {"mode": "form", "message": f"How many {key}?", "requestedSchema": form}
    return {"method": "elicitation/create", "params": params}


def asked(params: dict[str, Any]) -> dict[str, Any]:
    """The next question, or what the answers to all of them come to."""
    city, given = params["arguments"]["city"], params.get("inputResponses", {})
    known = json.loads(params["requestState"]) if "requestState" in params else {"city": city}
    if given and "requestState" not in params:
        raise ValueError("answers without a state")
    known |= {key: answer["content"][key] for key, answer in given.items()}
    with TAKEN.open("a") as taken:
        print(json.dumps([params["name"], known]), file=taken)
    for key in QUESTIONS:
        if key not in known:
            asks = {"inputRequests": {key: question(key)}, "requestState": json.dumps(known)}
            return {"resultType": "input_required", **asks}
    text = {"type": "text", "text": json.dumps({**known, "process": os.getppid()})}
    if params["name"] == "trip":
        return {"resultType": "complete", "messages": [{"role": "user", "content": text}]}
    return {"resultType": "complete", "content": [text]}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    complete = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    if method == "server/discover":
        versions = {"supportedVersions": ["2026-07-28"], "serverInfo": INFO, "capabilities": CAPABILITIES}
        return {"result": {"resultType": "complete", **versions}}
    if method == "tools/list":
        return {"result": {**complete, "tools": TOOLS}}
    if method == "prompts/list":
        return {"result": {**complete, "prompts": [PROMPT]}}
    if method in ("tools/call", "prompts/get"):
        return {"result": asked(params)}
    return {"error": {"code": -32601, "message": "Method not found"}}


for line in sys.stdin:
    message = json.loads(line)
    if "method" in message and "id" in message:
        reply = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)
