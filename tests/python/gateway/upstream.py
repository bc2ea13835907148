"""An MCP server on stdio, without any package: `python upstream.py TOOL FOLDER`.

It has one tool. A call of it makes the file `FOLDER/TOOL.begun` and waits until there is a file `FOLDER/TOOL.go`, unless the
arguments say `{"quick": true}`. A cancelled call makes `FOLDER/TOOL.cancelled`.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

TOOL, FOLDER = sys.argv[1], Path(sys.argv[2])
_lock = threading.Lock()
_cancelled: set[Any] = set()


def say(id: Any, result: Any) -> None:
    """Answer a request."""
    with _lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}) + "\n")
        sys.stdout.flush()


def run(id: Any, arguments: Any) -> None:
    """One call."""
    (FOLDER / f"{TOOL}.begun").touch()
    while not arguments.get("quick") and not (FOLDER / f"{TOOL}.go").exists():
        if id in _cancelled:
            (FOLDER / f"{TOOL}.cancelled").touch()
            return
        time.sleep(0.02)
    say(id, {"content": [{"type": "text", "text": f"{TOOL} is done"}]})


def answer(request: Any) -> None:
    """Answer, or start to."""
    method, id, params = request.get("method"), request.get("id"), request.get("params") or {}
    if method == "initialize":
        info = {"name": TOOL, "version": "1"}
        say(id, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        say(id, {"tools": [{"name": TOOL, "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        threading.Thread(target=run, args=(id, params.get("arguments") or {}), daemon=True).start()
    elif method == "notifications/cancelled":
        _cancelled.add(params.get("requestId"))
    elif id is not None:
        error = {"code": -32601, "message": "Method not found"}
        with _lock:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": id, "error": error}) + "\n")
            sys.stdout.flush()


for line in sys.stdin:
    answer(json.loads(line))
