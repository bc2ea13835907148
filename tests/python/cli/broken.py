"""MCP servers that are broken, each in its own way: `python broken.py WAY`."""

import json
import sys
import time

way = sys.argv[1]
GOOD = {"name": "look", "description": "Looks at something", "inputSchema": {"type": "object"}}
TOOLS = {
    "empty_list": [],
    "greets": [],
    "no_names": [{"description": "a tool without a name", "inputSchema": {"type": "object"}}],
    "unknown_type": [
        {**GOOD, "inputSchema": {"type": "object", "properties": {"a": {"type": "strng"}}}},
    ],
    "broken_pattern": [
        {**GOOD, "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}},
    ],
    "array_schema": [{**GOOD, "inputSchema": {"type": "array"}}],
    "twice": [GOOD, {**GOOD, "description": "Looks again"}],
    "odd_name": [{**GOOD, "name": "look at it!"}],
    "long_name": [{**GOOD, "name": "n" * 100}],
    "no_description": [{"name": "look", "inputSchema": {"type": "object"}}],
    "no_schema": [{"name": "rename", "description": "Renames something"}],
    "hidden_orders": [{**GOOD, "description": "Looks\U000e0041\U000e0042 at something"}],
    "hidden_in_schema": [
        {**GOOD, "inputSchema": {"type": "object", "properties": {"a": {"description": "x\u202ey"}}}}
    ],
    "repeats_name": [{**GOOD, "name": "look_here", "description": "Look here."}],
}

if way == "exits":
    sys.exit("KeyError: 'API_KEY'")
if way == "silent":
    time.sleep(600)
if way == "log_lines":
    print("[INFO] Starting the server", flush=True)
    sys.exit(0)
if way == "noise":
    print("Starting the server, please wait", flush=True)
    time.sleep(600)


def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


pages = 0
if way == "greets":
    print("hello, my name is shop", flush=True)
if way == "chatty":
    print("Starting the server\n", flush=True)
for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    if way == "chatty":
        print("DEBUG got", method, flush=True)
    if "id" not in request:
        continue
    if method == "initialize" and way == "refuses_greeting":
        say(id=request["id"], error={"code": -32602, "message": "no such client"})
    elif method == "initialize":
        version = "1999-01-01" if way == "old_protocol" else "2025-06-18"
        info = {"name": way, "version": "1"}
        say(
            id=request["id"],
            result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info},
        )
    elif method == "tools/list" and way == "list_fails":
        say(id=request["id"], error={"code": -32603, "message": "the database is down"})
    elif method == "tools/list" and way == "dies_at_list":
        sys.exit("the database is locked")
    elif method == "tools/list" and way == "list_hangs":
        time.sleep(600)
    elif method == "tools/list" and way != "no_tools":
        pages += 1
        cursor = {"same_cursor": "same", "new_cursors": str(pages)}.get(way)
        more = {} if cursor is None else {"nextCursor": cursor}
        say(id=request["id"], result={"tools": TOOLS.get(way, [GOOD]), **more})
    elif method == "tools/call":
        text = f"Unknown tool: {request['params']['name']}"
        say(id=request["id"], result={"content": [{"type": "text", "text": text}], "isError": True})
    else:
        say(id=request["id"], error={"code": -32601, "message": "Method not found"})
