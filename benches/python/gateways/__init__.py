"""What serves a tool `add` over HTTP: toolhub and its peers, each started as its documentation says.

`FRONTS` stand in front of an HTTP server, `STDIO_FRONTS` in front of a stdio server, `NATIVE` have the tool as a Python
function, `EVENTS` answer legacy clients with event streams. Each entry is a function that starts the program and gives its
address and process; peers that are not installed are left out, by name.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp_lab import ROOT, python_of

HERE = Path(__file__).parent
MCP_PROXY = ROOT / ".servers/mcp-proxy/bin/mcp-proxy"
"""joshrotenberg's, in Rust; `make bench` installs it, and the next one."""
RMCP_SERVER = ROOT / ".servers/rmcp/bin/rmcp-bench-server"
"""`benches/rmcp`: a server as in the examples of rmcp."""


@dataclass
class Running:
    """A program that serves, and how the tool is called there."""

    url: str
    process: subprocess.Popen[str]
    tool: str = "add"

    def memory(self) -> float:
        """Megabytes that are its own."""
        for line in Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Private_Dirty:"):
                return int(line.split()[1]) / 1024
        raise RuntimeError("the system does not say how much memory a process has")


Start = Callable[[str, Path], tuple[list[str], str, str]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def started(start: Start, target: str, folder: Path) -> Generator[Running]:
    """Runs the program until the end of the block; waits until it accepts connections."""
    command, url, tool = start(target, folder)
    with (
        open(folder / "gateway.log", "w") as log,
        subprocess.Popen(command, stdout=log, stderr=log, text=True) as process,
    ):
        try:
            _wait(process, url, folder / "gateway.log")
            yield Running(url, process, tool)
        finally:
            process.kill()


def _wait(process: subprocess.Popen[str], url: str, log: Path) -> None:
    host, _, port = url.removeprefix("http://").split("/")[0].partition(":")
    until = time.monotonic() + 60
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit(f"a server of the benchmark does not start: {log.read_text()[-2000:]}")


def toolhub(target: str, folder: Path) -> tuple[list[str], str, str]:
    """`toolhub serve` in front of a server."""
    entry = {"url": target} if target.startswith("http") else _stdio_entry(target)
    return _toolhub(folder, {"mcpServers": {"bench": entry}}, [])


def toolhub_native(_target: str, folder: Path) -> tuple[list[str], str, str]:
    """`toolhub serve` with a folder of tools."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    body = (
        "import toolhub\n\n\n@toolhub.tool\nasync def add(a: int, b: int) -> int:\n"
        '    """Add two numbers."""\n    return a + b\n'
    )
    (tools / "numbers.py").write_text(body)
    return _toolhub(folder, {"mcpServers": {}}, ["--tools", str(tools)])


def _toolhub(folder: Path, config: object, words: list[str]) -> tuple[list[str], str, str]:
    path, port = folder / "mcp.json", free_port()
    path.write_text(json.dumps(config))
    command = [sys.executable, "-m", "toolhub", "serve", "--http", "--port", str(port), "--config", str(path)]
    return [*command, *words], f"http://127.0.0.1:{port}/mcp", "add"


def rust_proxy(target: str, folder: Path) -> tuple[list[str], str, str]:
    port, path = free_port(), folder / "proxy.toml"
    path.write_text(
        f'[proxy]\nname = "bench"\nseparator = "_"\n[proxy.listen]\nhost = "127.0.0.1"\nport = {port}\n'
        f'[[backends]]\nname = "bench"\ntransport = "http"\nurl = "{target}"\n'
    )
    return [str(MCP_PROXY), "--config", str(path)], f"http://127.0.0.1:{port}/", "bench_add"


def fastmcp_proxy(target: str, _folder: Path) -> tuple[list[str], str, str]:
    return _program("fastmcp_proxy.py", target)


def python_proxy(target: str, _folder: Path) -> tuple[list[str], str, str]:
    port = free_port()
    proxy = python_of("mcp_proxy").with_name("mcp-proxy")
    return (
        [str(proxy), "--port", str(port), "--", *json.loads(target)],
        f"http://127.0.0.1:{port}/mcp",
        "add",
    )


def fastmcp_server(_target: str, _folder: Path) -> tuple[list[str], str, str]:
    return _program("fastmcp_server.py", "")


def sdk_server(_target: str, _folder: Path) -> tuple[list[str], str, str]:
    return _program("sdk_server.py", "")


def rmcp_server(_target: str, _folder: Path) -> tuple[list[str], str, str]:
    port = free_port()
    return [str(RMCP_SERVER), str(port)], f"http://127.0.0.1:{port}/mcp", "add"


def _program(name: str, target: str) -> tuple[list[str], str, str]:
    port = free_port()
    return [sys.executable, str(HERE / name), str(port), target], f"http://127.0.0.1:{port}/mcp", "add"


def _stdio_entry(target: str) -> dict[str, object]:
    command, *words = json.loads(target)
    return {"command": command, "args": words}


FRONTS: dict[str, Start] = {"toolhub": toolhub, "FastMCP proxy": fastmcp_proxy}
if shutil.which(MCP_PROXY):
    FRONTS["mcp-proxy (Rust)"] = rust_proxy
STDIO_FRONTS: dict[str, Start] = {"toolhub": toolhub, "mcp-proxy (Python)": python_proxy}
EVENTS: dict[str, Start] = {"toolhub": toolhub}
if shutil.which(RMCP_SERVER):
    EVENTS["rmcp server"] = rmcp_server
NATIVE: dict[str, Start] = {
    "toolhub": toolhub_native,
    "FastMCP server": fastmcp_server,
    "mcp SDK server": sdk_server,
}
