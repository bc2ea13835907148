"""What the MCP benchmark needs around it: the server, the clients' processes, and environments for those that conflict."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp_clients import ENVIRONMENTS

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent


def build_server() -> Path:
    """The server in Rust, as fast as it gets."""
    return build_example("bench_mcp_server", "mcp.rs")


def build_example(name: str, source: str) -> Path:
    """A program under `benches/server`, built for release."""
    program = ROOT / "target/release/examples" / name
    # Cargo would first build the whole library again, which none of them uses.
    if not program.exists() or program.stat().st_mtime < (ROOT / "benches/server" / source).stat().st_mtime:
        subprocess.run(["cargo", "build", "--quiet", "--release", "--example", name], cwd=ROOT, check=True)
    return program


@contextmanager
def http_server(program: Path, *flags: str) -> Iterator[str]:
    """The address of a server that runs as long as the block."""
    with subprocess.Popen([program, "http", *flags], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def python_of(client: str) -> Path:
    """The interpreter of a client; an environment that is not there yet is made, from its lock file alone."""
    lock_name = ENVIRONMENTS.get(client)
    if lock_name is None:
        return Path(sys.executable)
    folder = ROOT / ".venvs" / lock_name
    lock = ROOT / "requirements" / f"{lock_name}.txt"
    stamp, digest = folder / ".stamp", hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        print(f"  making the environment {lock_name}", flush=True)
        pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([*pip, "--no-deps", "-r", lock], check=True)
        stamp.write_text(digest)
    return folder / "bin/python"


class Worker:
    """A client in its own process; see mcp_worker.py for its commands."""

    def __init__(self, client: str, target: list[str]) -> None:
        self.client = client
        command = [python_of(client), HERE / "mcp_worker.py", client, *target]
        self._process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.name: str = self._answer()["ready"]

    def tell(self, order: str, **details: int) -> dict[str, Any]:
        assert self._process.stdin
        print(json.dumps({"do": order, **details}), file=self._process.stdin, flush=True)
        return self._answer()

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(30)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the benchmark's client {self.client} has ended; what it says is above")
        return json.loads(line)


@contextmanager
def workers(clients: list[str], target: list[str]) -> Iterator[list[Worker]]:
    """One process for each client, all connected to the same server or to one of the same kind."""
    running: list[Worker] = []
    try:
        for client in clients:
            running.append(Worker(client, target))
        yield running
    finally:
        for worker in running:
            worker.close()
