"""A small MCP server on stdio, of the older era: `small_server.py tools.json log`.

It lists what the file says and answers calls with their arguments; each start is a line in the log.
"""

import json
import sys
from pathlib import Path

tools, log = Path(sys.argv[1]), Path(sys.argv[2])
with log.open("a") as file:
    file.write("started\n")
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    match message["method"]:
        case "initialize":
            info = {"name": "small", "version": "3.1"}
            answer["result"] = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
        case "tools/list":
            answer["result"] = {"tools": json.loads(tools.read_text())}
        case "tools/call":
            text = json.dumps(message["params"]["arguments"])
            answer["result"] = {"content": [{"type": "text", "text": text}]}
        case _:
            answer["error"] = {"code": -32601, "message": "Method not found"}
    print(json.dumps(answer), flush=True)
