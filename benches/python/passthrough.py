"""What is lost between a client and a server, feature by feature: directly, through toolhub, and through other gateways.

The server is the reference server of the protocol's authors, the client their Python SDK. Prints the table of
`docs/comparison.md`. Needs `make servers` and, for its column, the Rust `mcp-proxy` that `make bench` installs.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gateways import HERE, MCP_PROXY, Start, _wait, free_port, rust_proxy, started, toolhub
from mcp_lab import ROOT

SERVERS = ROOT / ".servers"
EVERYTHING = SERVERS / "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
PROBE = Path(__file__).with_name("passthrough_probe.py")


@contextmanager
def everything(folder: Path) -> Generator[str]:
    """The server, with a process of its own for each column: it keeps what clients have switched on."""
    url, log = f"http://127.0.0.1:{(port := free_port())}/mcp", folder / "server.log"
    command = ["node", str(EVERYTHING), "streamableHttp"]
    with (
        open(log, "w") as output,
        subprocess.Popen(
            command, stdout=output, stderr=output, text=True, env={**os.environ, "PORT": str(port)}
        ) as process,
    ):
        try:
            _wait(process, url, log)
            yield url
        finally:
            process.kill()


def fastmcp_proxy(target: str, _folder: Path) -> tuple[list[str], str, str]:
    port, python = free_port(), SERVERS / "fastmcp/bin/python"
    command = [str(python), str(HERE / "fastmcp_proxy.py"), str(port), target]
    return command, f"http://127.0.0.1:{port}/mcp", ""


def probed(url: str) -> dict[str, Any]:
    command = [str(SERVERS / "mcp1/bin/python"), str(PROBE), url]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if ran.returncode:
        raise SystemExit(f"the probe has failed: {ran.stderr[-2000:]}")
    return json.loads(ran.stdout)


def shown(value: Any, direct: Any) -> str:
    if value == direct:
        return "✓"
    if isinstance(value, (int, list)) and not isinstance(value, bool) and isinstance(direct, type(value)):
        return json.dumps(value) if len(json.dumps(value)) < 30 else "differs"
    return "–"


def main() -> None:
    fronts: dict[str, Start] = {"toolhub": toolhub, "FastMCP proxy": fastmcp_proxy}
    if MCP_PROXY.exists():
        fronts["mcp-proxy (Rust)"] = rust_proxy
    columns: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with everything(folder) as url:
            columns["direct"] = probed(url)
        for front, start in fronts.items():
            with everything(folder) as url, started(start, url, folder) as running:
                columns[front] = probed(running.url)
    direct = columns.pop("direct")
    print("| feature |", " | ".join(columns), "|")
    print("|---" * (len(columns) + 1) + "|")
    for feature, value in direct.items():
        print(f"| {feature} |", " | ".join(shown(column[feature], value) for column in columns.values()), "|")
    for front, column in columns.items():
        lost = {feature: column[feature] for feature, value in direct.items() if column[feature] != value}
        print(f"\n{front}: {json.dumps(lost, indent=1)}")


if __name__ == "__main__":
    main()
