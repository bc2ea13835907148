"""A server on stdio whose list of tools needs time: `python listing_server.py FOLDER (FAULT)`.

It writes the name of each request that it gets to `FOLDER/requests`. FAULT: `slow` answers `tools/list` when `FOLDER/go` is
there; `refuses` has no list.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

FOLDER, FAULT = Path(sys.argv[1]), sys.argv[2]
TOOL = {"name": "late_tool", "description": "Comes late.", "inputSchema": {"type": "object"}}


def write(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def list_tools(id: Any) -> None:
    if FAULT == "refuses":
        return write(id=id, error={"code": -32603, "message": "the catalogue is on fire"})
    while FAULT == "slow" and not (FOLDER / "go").exists():
        time.sleep(0.01)
    write(id=id, result={"tools": [TOOL]})


for line in sys.stdin:
    request = json.loads(line)
    method, id = request.get("method"), request.get("id")
    with (FOLDER / "requests").open("a") as log:
        log.write(f"{method}\n")
    if method == "initialize":
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "listing", "version": "1"},
        }
        write(id=id, result=result)
    elif method == "tools/list":
        threading.Thread(target=list_tools, args=(id,), daemon=True).start()
    elif method == "tools/call":
        write(id=id, result={"content": [{"type": "text", "text": "called"}]})
    elif id is not None:
        write(id=id, error={"code": -32601, "message": "Method not found"})
