"""A server on stdio with an MCP App, of the older protocol: `python app_server.py NAME FOLDER`.

It writes each message that it gets to `FOLDER/NAME`. Its interface has the same URI whatever its name is. No part of toolhub is
used here.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

NAME, LOG = sys.argv[1], Path(sys.argv[2], sys.argv[1])
PANEL = "ui://panel/main.html"
TOOLS: list[dict[str, Any]] = [
    {"name": f"show_{NAME}", "_meta": {"ui": {"resourceUri": PANEL}, "ui/resourceUri": PANEL}},
    {"name": f"poll_{NAME}", "_meta": {"ui": {"visibility": ["app"]}}},
    {"name": f"ask_{NAME}"},
    {"name": f"wait_{NAME}"},
]
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "resources": {}, "extensions": {f"com.example/{NAME}": {"level": 1}}},
    "serverInfo": {"name": NAME, "version": "1"},
    "instructions": f"Call show_{NAME} first.",
}
asking: dict[str, Any] = {}


def write(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(id: Any, said: str) -> None:
    write(id=id, result={"content": [{"type": "text", "text": said}]})


def call(id: Any, tool: str) -> None:
    if tool == f"ask_{NAME}":
        asking["question"] = id
        form: dict[str, Any] = {"type": "object", "properties": {}}
        return write(
            id="question", method="elicitation/create", params={"message": "?", "requestedSchema": form}
        )
    if tool != f"wait_{NAME}":
        text(id, f"{tool} of {NAME}")
    return None


def read(id: Any, uri: str) -> None:
    if uri == PANEL:
        content = {"uri": PANEL, "mimeType": "text/html;profile=mcp-app", "text": f"<b>{NAME}</b>"}
        return write(id=id, result={"contents": [content]})
    return write(id=id, error={"code": -32099, "message": "no such panel", "data": {"uri": uri, "by": NAME}})


for line in sys.stdin:
    with LOG.open("a") as log:
        log.write(line)
    message = json.loads(line)
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "initialize":
        write(id=id, result=HELLO)
    elif method == "tools/list":
        write(id=id, result={"tools": [{"inputSchema": {"type": "object"}, **tool} for tool in TOOLS]})
    elif method == "resources/list":
        write(id=id, result={"resources": [{"uri": PANEL, "name": "panel"}]})
    elif method == "resources/read":
        read(id, params["uri"])
    elif method == "tools/call":
        call(id, params["name"])
    elif method is None and id in asking:
        text(asking.pop(id), json.dumps(message.get("result")))
    elif id is not None:
        write(id=id, error={"code": -32601, "message": "Method not found"})
