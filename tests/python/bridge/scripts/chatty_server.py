"""An MCP server over stdio whose tool `flood` writes many lines to its error stream, then marks the end in a file."""

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
            _answer(request, {"tools": [{"name": "flood", "inputSchema": {"type": "object"}}]})
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
