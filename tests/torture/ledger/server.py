"""A server that does something outside: each call adds a line to a file. `server.py FILE` on stdio, `server.py FILE http`."""

import sys

from toolhub import ToolHub

hub = ToolHub()


@hub.tool
def send(key: str) -> str:
    """Add a line."""
    with open(sys.argv[1], "a") as file:
        file.write(f"{key}\n")
    return f"sent {key}"


if len(sys.argv) > 2:
    hub.serve("http", port=0, ready=lambda serving: print(serving.url, flush=True))
else:
    hub.serve("stdio")
