"""A run of six steps with effects: two on a server on stdio, two over HTTP, two in a file. `program.py STORE EFFECTS URL`."""

import sys
from pathlib import Path

from toolhub import ToolHub

store, effects, url = sys.argv[1:]
server = str(Path(__file__).with_name("server.py"))
config = {"mcpServers": {"pipe": {"command": sys.executable, "args": [server, effects]}, "web": {"url": url}}}
with ToolHub(config, store=store) as hub:

    @hub.tool
    def write(key: str) -> str:
        """Add a line."""
        with open(effects, "a") as file:
            file.write(f"{key}\n")
        return f"sent {key}"

    for number in range(6):
        name, server_id = [("send", "pipe"), ("send", "web"), ("write", None)][number % 3]
        result = hub.call(name, {"key": f"step {number}"}, server=server_id, run="six")
        if not result.success:
            print(f"{result.kind}: {result.error}", flush=True)
            sys.exit(3 if result.kind == "paused" else 4)
        assert result.result == f"sent step {number}", result
