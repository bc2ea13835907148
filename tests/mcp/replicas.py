"""Sessions over several replicas: `make replicas`, or `python tests/mcp/replicas.py --sessions 10000`.

Three served hubs share the keys of sessions and nothing else. HAProxy (the Debian package) sends each request to the next
one, and every request comes on a new connection. A session is opened, used and ended; no request of it may fail.
Without HAProxy the requests are sent to the replicas in turn, and the script says so.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

REPLICAS = 3
PATIENCE = 30.0
SERVE = """
import sys
from toolhub import ToolHub
hub = ToolHub()
hub.register(lambda text: text, name="echo", parameters={
    "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"],
})
hub.serve("http", port=int(sys.argv[1]), session_keys=sys.argv[2],
          ready=lambda serving: print(serving.url, flush=True))
"""
BALANCER = """
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    option httpclose
    http-reuse never
frontend clients
    bind 127.0.0.1:{port}
    default_backend hubs
backend hubs
    balance roundrobin
{servers}
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@contextmanager
def process(*command: str, **options: Any) -> Generator[subprocess.Popen[str]]:
    """A process that is ended with the block."""
    started = subprocess.Popen(command, text=True, **options)
    try:
        yield started
    finally:
        started.terminate()
        try:
            started.wait(PATIENCE)
        finally:
            started.kill()
            started.wait()
            if started.stdout is not None:
                started.stdout.close()


@contextmanager
def replicas(count: int) -> Generator[list[int]]:
    """The ports of served hubs that share a key."""
    key = "a key that all replicas of this test share"
    ports = [free_port() for _ in range(count)]
    with ExitStack() as stack:
        for port in ports:
            command = [sys.executable, "-c", SERVE, str(port), key]
            served = stack.enter_context(process(*command, stdout=subprocess.PIPE))
            assert served.stdout is not None
            if not served.stdout.readline():
                raise RuntimeError("a replica did not start")
        yield ports


@contextmanager
def balanced(ports: list[int]) -> Generator[Callable[[], int]]:
    """Gives the port for the next request: the balancer's, or without one that of the next replica."""
    haproxy = shutil.which("haproxy", path="/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin")
    if haproxy is None:
        turns, lock = itertools.cycle(ports), threading.Lock()

        def turn() -> int:
            with lock:
                return next(turns)

        yield turn
        return
    port = free_port()
    servers = "\n".join(f"    server hub{own} 127.0.0.1:{own}" for own in ports)
    with tempfile.TemporaryDirectory(prefix="replicas-") as folder:
        config = Path(folder) / "haproxy.cfg"
        config.write_text(BALANCER.format(port=port, servers=servers))
        with process(haproxy, "-q", "-f", str(config)):
            end = time.monotonic() + PATIENCE
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if time.monotonic() > end:
                        raise
            yield lambda: port


def request(port: int, method: str, session: str | None, message: Any) -> tuple[int, str | None, Any]:
    """One request on a connection of its own: status, session id, answer."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if session is not None:
        headers |= {"Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, "/mcp", None if message is None else json.dumps(message), headers)
        reply = connection.getresponse()
        text = reply.read()
        return reply.status, reply.headers.get("Mcp-Session-Id"), json.loads(text) if text else None
    finally:
        connection.close()


def use_session(next_port: Callable[[], int], number: int) -> list[str]:
    """Opens, uses and ends one session; what failed."""
    client = {"name": "replicas", "version": "1"}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    failures: list[str] = []

    def send(method: str, session: str | None, expected: int, message: Any) -> tuple[str | None, Any]:
        try:
            status, own, answer = request(next_port(), method, session, message)
        except OSError as error:
            status, own, answer = 0, None, str(error)
        if status != expected:
            failures.append(f"session {number}: {method} got {status}: {answer}")
        return own, answer

    def rpc(method: str, params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}

    session, _ = send("POST", None, 200, rpc("initialize", hello))
    send("POST", session, 202, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    _, listed = send("POST", session, 200, rpc("tools/list", {}))
    text = f"text {number}"
    _, called = send("POST", session, 200, rpc("tools/call", {"name": "echo", "arguments": {"text": text}}))
    send("DELETE", session, 204, None)
    try:
        if [tool["name"] for tool in listed["result"]["tools"]] != ["echo"]:
            failures.append(f"session {number}: wrong list {listed}")
        if called["result"]["content"][0]["text"] != text:
            failures.append(f"session {number}: another's answer {called}")
    except (KeyError, TypeError) as error:
        failures.append(f"session {number}: no result: {error!r}")
    return failures


def run(sessions: int, at_once: int = 8) -> list[str]:
    """Uses this number of sessions; what failed."""
    with replicas(REPLICAS) as ports, balanced(ports) as next_port, ThreadPoolExecutor(at_once) as pool:
        results = pool.map(lambda number: use_session(next_port, number), range(sessions))
        return [failure for failures in results for failure in failures]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=10_000)
    sessions = parser.parse_args().sessions
    if shutil.which("haproxy", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin") is None:
        print("HAProxy is not installed (apt install haproxy): requests go to the replicas in turn")
    begun = time.monotonic()
    failures = run(sessions)
    for failure in failures[:20]:
        print(failure)
    seconds = time.monotonic() - begun
    print(
        f"{sessions} sessions over {REPLICAS} replicas, {5 * sessions} requests: {len(failures)} failures, {seconds:.0f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
