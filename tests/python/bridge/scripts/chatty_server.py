"""An MCP server over stdio. Its tool `flood` writes many lines to its error stream, then marks the end in a file; its tool
`step` reports progress and never answers.
"""

import json
import mmap
import sys


def _answer(request: dict, result: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


def main() -> None:
    """Serve until the input ends."""
    with open(sys.argv[1], "r+b") as file:
        mark = mmap.mmap(file.fileno(), 1)
    for line in sys.stdin:
        request = json.loads(line)
        method = request.get("method")
        if method == "initialize":
            version = request["params"]["protocolVersion"]
            info = {"name": "chatty", "version": "1"}
            _answer(request, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
        elif method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("flood", "step")]
            _answer(request, {"tools": tools})
        elif method == "tools/call" and request["params"]["name"] == "step":
            progress = {"progressToken": request["params"]["_meta"]["progressToken"], "progress": 1}
            note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}
            print(json.dumps(note), flush=True)
        elif method == "tools/call":
            for number in range(5000):
                print(f"line {number} " + "x" * 500, file=sys.stderr)
            sys.stderr.flush()
            mark[0] = 1
            _answer(request, {"content": [{"type": "text", "text": "flooded"}]})
        elif "id" in request:
            error = {"code": -32601, "message": "unknown method"}
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}), flush=True)


main()
