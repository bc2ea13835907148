"""An MCP server over stdio. Its tool `ask` asks the user, its tool `think` asks a model; each answers with what came back."""

import json
import sys

QUESTIONS = {
    "ask": (
        "elicitation/create",
        {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}},
    ),
    "think": (
        "sampling/createMessage",
        {"messages": [{"role": "user", "content": {"type": "text", "text": "Why?"}}], "maxTokens": 10},
    ),
}


def _write(message: dict) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def main() -> None:
    """Serve until the input ends."""
    waiting: list[int] = []
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "asking", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            _write({"id": message["id"], "result": result})
        elif method == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in QUESTIONS]
            _write({"id": message["id"], "result": {"tools": tools}})
        elif method == "tools/call":
            question, params = QUESTIONS[message["params"]["name"]]
            waiting.append(message["id"])
            _write({"id": "question", "method": question, "params": params})
        elif method is None and message.get("id") == "question":
            text = json.dumps(message.get("result", message.get("error")))
            _write({"id": waiting.pop(), "result": {"content": [{"type": "text", "text": text}]}})
        elif "id" in message:
            _write({"id": message["id"], "error": {"code": -32601, "message": "unknown method"}})


main()
