"""An MCP server over stdio with one tool, `echo`."""

import json
import sys
from typing import Any


def main() -> None:
    """Serve until the input ends."""
    result: dict[str, Any]
    for line in sys.stdin:
        request = json.loads(line)
        method = request.get("method")
        if method == "initialize":
            version = request["params"]["protocolVersion"]
            info = {"name": "idle", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            hints = {"readOnlyHint": True}
            result = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}, "annotations": hints}]}
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": "echo"}]}
        elif "id" in request:
            error = {"code": -32601, "message": "unknown method"}
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}), flush=True)
            continue
        else:
            continue
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


main()
