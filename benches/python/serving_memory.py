"""What serving costs beside the calls: memory after clients that vanish, idle listeners, a long run; and the start.

Figures are of the process of `toolhub serve` in front of one HTTP server. `--quick` takes a tenth.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gateways import Running, started, toolhub
from mcp_lab import build_server, http_server
from serving import load

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
SERVERS, TOOLS = 20, 20


def _place(url: str) -> tuple[str, int]:
    host, _, port = url.removeprefix("http://").split("/")[0].partition(":")
    return host, int(port)


def _request(method: str, message: Any = None, **headers: str) -> bytes:
    body = b"" if message is None else json.dumps(message).encode()
    lines = [
        f"{method} /mcp HTTP/1.1",
        "host: localhost",
        "content-type: application/json",
        "accept: application/json, text/event-stream",
        f"content-length: {len(body)}",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _modern(method: str, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    names = {"mcp_name": params["name"]} if "name" in params else {}
    return _request("POST", message, mcp_protocol_version="2026-07-28", mcp_method=method, **names)


CALL = _modern("tools/call", name="add", arguments={"a": 1, "b": 2})
# What a client sends before it leaves without reading: a session, half a message, a call, bad requests, a lone discover.
VANISHING = (
    _request("POST", INITIALIZE),
    CALL[: len(CALL) // 2],
    CALL,
    _request("GET", mcp_session_id="forged"),
    _request("DELETE", mcp_session_id="forged"),
    _modern("server/discover"),
    _modern("subscriptions/listen", notifications={"toolsListChanged": True}),
)


def _vanish(gateway: Running, count: int) -> None:
    place = _place(gateway.url)
    for number in range(count):
        with socket.create_connection(place) as client:
            client.sendall(VANISHING[number % len(VANISHING)])


def _open_files(gateway: Running) -> int:
    return len(os.listdir(f"/proc/{gateway.process.pid}/fd"))


def _settled(value: Callable[[], float], wanted: float) -> float:
    """The value once it is as low as wanted, or after 30 s."""
    until = time.monotonic() + 30
    while (now := value()) > wanted and time.monotonic() < until:
        time.sleep(0.1)
    return now


def _vanished_clients(gateway: Running, count: int) -> None:
    files = _open_files(gateway)
    # The first ones let the process grow to its size.
    _vanish(gateway, 5_000)
    _settled(lambda: _open_files(gateway), files)
    before = gateway.memory()
    _vanish(gateway, count)
    left = _settled(lambda: _open_files(gateway), files) - files
    grown = gateway.memory() - before
    met = grown <= 5 and left <= 0
    print(
        f"  {'✓' if met else '✗'} {count:,} clients that vanish: {grown:+.1f} MB (goal ≤ 5), {left:.0f} descriptors left"
    )


def _switches(gateway: Running) -> int:
    """How often the threads of the process have been woken."""
    total = 0
    for task in Path(f"/proc/{gateway.process.pid}/task").iterdir():
        for line in (task / "status").read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches:"):
                total += int(line.split()[1])
    return total


def _session(gateway: Running) -> str:
    """The id of a legacy session."""
    with socket.create_connection(_place(gateway.url)) as client:
        client.sendall(_request("POST", INITIALIZE))
        head, _, _ = client.recv(65536).partition(b"\r\n\r\n")
    fields = (line.partition(": ") for line in head.decode().splitlines())
    return next(value for name, _, value in fields if name.lower() == "mcp-session-id")


def _listeners(gateway: Running, count: int, what: str, request: bytes) -> None:
    """Clients that wait for changes: each has sent `request`, and got the head of a stream."""
    place = _place(gateway.url)

    def listen() -> socket.socket:
        client = socket.create_connection(place, timeout=30)
        client.sendall(request)
        assert b"text/event-stream" in client.recv(4096)
        return client

    # The first one makes what all of them share.
    listen().close()
    before = gateway.memory()
    clients = [listen() for _ in range(count)]
    try:
        grown = gateway.memory() - before
        switches, seconds = _switches(gateway), 10
        time.sleep(seconds)
        woken = (_switches(gateway) - switches) / seconds
    finally:
        for client in clients:
            client.close()
    met = grown <= 35
    print(
        f"  {'✓' if met else '✗'} {count:,} idle listeners ({what}): {grown:+.1f} MB (goal ≤ 35), {woken:.1f} wake-ups a second"
    )


def _long_run(gateway: Running, calls: int) -> None:
    sizes: list[float] = []
    with load() as client:
        for _ in range(10):
            client.call(gateway.url, gateway.tool, 32, calls // 320, legacy=False)
            sizes.append(gateway.memory())
    met = sizes[-1] <= sizes[1] * 1.03
    row = " ".join(f"{size:.1f}" for size in sizes)
    print(f"  {'✓' if met else '✗'} {calls:,} calls, MB after every tenth: {row}")


def _start(server: Path, folder: Path) -> None:
    """From the start of the process to the answer of `tools/list`, with a store that knows the servers.

    Modules are compiled before, as they are after an installation; the first run does it.
    """
    config = folder / "many.json"
    entry = {"command": str(server), "args": ["stdio", "--more", str(TOOLS - 1)]}
    config.write_text(json.dumps({"mcpServers": {f"s{n}": entry for n in range(SERVERS)}}))
    command = [sys.executable, "-m", "toolhub", "serve", "--config", str(config), "--search-mode", "off"]
    command += ["--store", str(folder / "hub.db")]
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    times: list[float] = []
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for _ in range(6):
        begun = time.perf_counter()
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            assert process.stdin
            assert process.stdout
            print(json.dumps(asked), file=process.stdin, flush=True)
            answer = json.loads(process.stdout.readline())
            times.append((time.perf_counter() - begun) * 1e3)
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            process.stdin.close()
        listed = len(answer["result"]["tools"])
    # The first run fills the store, and compiles.
    warm = sorted(times[1:])[len(times[1:]) // 2]
    met = warm <= 150 and not children
    print(
        f"  {'✓' if met else '✗'} {SERVERS} servers, warm store: {listed} tools listed {warm:.0f} ms after the start of "
        f"the process (goal ≤ 150), {len(children)} servers started; without a store {times[0]:.0f} ms"
    )


def run(rounds: int) -> None:
    scale = 10 if rounds < 10 else 1
    server = build_server()
    print("\nserving: memory and start")
    with tempfile.TemporaryDirectory() as name, http_server(server) as url:
        folder = Path(name)
        _start(server, folder)
        with started(toolhub, url, folder) as gateway:
            _vanished_clients(gateway, 100_000 // scale)
            _long_run(gateway, 1_000_000 // scale)
        # A process of its own for each: the next one would use what the one before has left free.
        with started(toolhub, url, folder) as gateway:
            listen = _modern("subscriptions/listen", notifications={"toolsListChanged": True})
            _listeners(gateway, 1_000, "subscriptions/listen", listen)
        with started(toolhub, url, folder) as gateway:
            listen = _request("GET", mcp_session_id=_session(gateway), mcp_protocol_version="2025-11-25")
            _listeners(gateway, 1_000, "GET", listen)
