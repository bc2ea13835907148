"""An MCP server of one file, for tests of routing.

    python server.py LABEL FOLDER [MODE]

Its tools are the names in `FOLDER/LABEL.tools`, read at each `tools/list`, with the fields in `FOLDER/LABEL.json`, if there
is such a file; each answers with the label. What it was asked is written to `FOLDER/LABEL.log`, a line each. MODE: `silent`
never answers, `dies` ends at once, `short` says that its list holds for a millisecond, `forgets` lists tools that it does not
know when they are called, `silent_calls` never answers a call, `read_only` says of each tool that it only reads, `no_list`
never answers `tools/list`.
"""

import json
import sys
from pathlib import Path
from typing import Any

label, folder, mode = [*sys.argv[1:], ""][:3]
log = Path(folder, f"{label}.log").open("a", buffering=1)  # noqa: SIM115


def listed() -> dict[str, Any]:
    names = Path(folder, f"{label}.tools").read_text().split()
    text = {"type": "string"}
    schema = {"type": "object", "properties": {"text": text}, "required": ["text"]}
    hints = {"annotations": {"readOnlyHint": True, "idempotentHint": True}} if mode == "read_only" else {}
    fields = Path(folder, f"{label}.json")
    more = json.loads(fields.read_text()) if fields.exists() else {}
    tools = [
        {
            "name": name,
            "description": "Repeats the text.",
            "inputSchema": schema,
            **hints,
            **more.get(name, {}),
        }
        for name in names
    ]
    return {"tools": tools, **({"ttlMs": 1} if mode == "short" else {})}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        version = params["protocolVersion"]
        info = {"name": label, "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return listed()
    if method == "tools/call" and mode != "forgets":
        return {"content": [{"type": "text", "text": f"{label} {params['arguments'].get('text')}"}]}
    return None


log.write("start\n")
if mode == "dies":
    sys.exit("out of order")
for line in sys.stdin:
    request = json.loads(line)
    log.write(request["method"] + "\n")
    if "id" not in request or mode == "silent":
        continue
    if (mode, request["method"]) in (("silent_calls", "tools/call"), ("no_list", "tools/list")):
        continue
    result = answer(request["method"], request.get("params", {}))
    error = {"error": {"code": -32601, "message": "Method not found"}}
    reply = error if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
