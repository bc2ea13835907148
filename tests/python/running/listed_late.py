"""A stdio MCP server whose calls overlap: each writes when it begins and ends, the later ones being faster."""

import json
import sys
import threading
import time

log, *tools = sys.argv[1:]
lock = threading.Lock()


def out(id: object, result: object) -> None:
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}) + "\n")
        sys.stdout.flush()


def note(what: str) -> None:
    with lock, open(log, "a") as file:
        file.write(what + "\n")


def work(message: dict) -> None:
    n = message["params"]["arguments"]["n"]
    note(f"begin {n}")
    time.sleep(0.2 - 0.05 * n)
    note(f"end {n}")
    out(message["id"], {"content": [{"type": "text", "text": f"{n}"}]})


schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            info = {"name": "late", "version": "1"}
            version = message["params"]["protocolVersion"]
            out(
                message["id"], {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            )
        case "tools/list":
            out(message["id"], {"tools": [{"name": tool, "inputSchema": schema} for tool in tools]})
        case "tools/call":
            threading.Thread(target=work, args=(message,), daemon=True).start()
        case _ if "id" in message:
            with lock:
                error = {"code": -32601, "message": "no such method"}
                print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
