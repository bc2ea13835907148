"""Clients that call the tool `add` of the same MCP server, one adapter a file.

An adapter has a `NAME`, the `TRANSPORTS` it can use, and `connect(target)`: an async context manager that gives a body,
which calls the tool and returns the text of its answer. Each runs in a process and, where it must, in an environment of
its own: `ENVIRONMENTS` names the lock file in `requirements/` that it is made from.
"""

CLIENTS = ("toolhub", "mcp_sdk", "fastmcp", "langchain", "aiohttp")
ENVIRONMENTS = {"langchain": "bench-langchain", "mcp_proxy": "bench-mcp-proxy"}

ARGUMENTS = {"a": 1, "b": 2}
ANSWER = "3"
