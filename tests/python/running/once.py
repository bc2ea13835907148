"""An MCP server that ends at its first call, and answers once it is started again.

python once.py FILE    (the file says that it was called)
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

called = Path(sys.argv[1])
PEEK = {
    "name": "peek",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True, "idempotentHint": True},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        info = {"name": "once", "version": "1"}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": info,
        }
    if method == "tools/list":
        return {"tools": [PEEK]}
    if method == "tools/call" and not called.exists():
        called.touch()
        os._exit(3)
    return {"content": [{"type": "text", "text": "seen"}]} if method == "tools/call" else None


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request["method"], request.get("params", {}))
        unknown = {"error": {"code": -32601, "message": "Method not found"}}
        reply = unknown if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
