"""The servers of the soak: which there are, and those over HTTP as processes that are killed and started again."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SERVER = Path(__file__).with_name("server.py")
MARK = "TOOLHUB_SOAK"
"""Every server carries it in its environment, so that one that is left behind is found."""

# Of ten servers two hang, two crash, two flood, four are healthy.
MODES = ("healthy", "hang", "crash", "flood", "healthy", "healthy", "hang", "crash", "flood", "healthy")
WAYS = (("modern", False), ("legacy", True), ("legacy", False), ("modern", True))
"""The era, and whether it is over HTTP: the servers of a mode take turns."""


@dataclass
class Spec:
    """One server: what it does and how it is reached."""

    label: str
    mode: str
    era: str
    env: dict[str, str]
    port: int | None = None
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def is_steady(self) -> bool:
        """Whether each call must be answered: the server neither hangs nor dies, and is not restarted."""
        return self.mode in ("healthy", "flood") and self.port is None

    def how(self) -> dict[str, Any]:
        """The keyword arguments for `add_server`."""
        if self.port is not None:
            return {"url": f"http://127.0.0.1:{self.port}/mcp"}
        return {"command": sys.executable, "args": ["-S", "-E", str(SERVER)], "env": self.env}

    def start(self) -> None:
        """Starts a server over HTTP."""
        words = [sys.executable, "-S", "-E", str(SERVER), str(self.port)]
        self.process = subprocess.Popen(
            words, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )

    def wait(self) -> None:
        """Waits until it listens."""
        assert self.process is not None
        assert self.port is not None
        limit = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < limit:
            try:
                return socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                time.sleep(0.05)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def plan(count: int, seed: int, mark: str, ran: Path) -> list[Spec]:
    """Servers of all modes, in both eras, as children of the hub and over HTTP."""
    specs: list[Spec] = []
    for number in range(count):
        mode = MODES[number % len(MODES)]
        era, is_http = WAYS[sum(spec.mode == mode for spec in specs) % len(WAYS)]
        label = f"s{number}-{mode}-{era}-{'http' if is_http else 'stdio'}"
        env = {"LABEL": label, "MODE": mode, "ERA": era, "SEED": f"{seed}/{number}", "RAN": str(ran)}
        env |= {MARK: mark, "PATH": os.environ["PATH"]}
        specs.append(Spec(label, mode, era, env, free_port() if is_http else None))
    return specs


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def start(specs: list[Spec]) -> None:
    """Starts servers over HTTP, all at once, and waits until they listen."""
    for spec in specs:
        spec.start()
    for spec in specs:
        spec.wait()


class Restarts:
    """Kills servers over HTTP at random, and starts again what is dead."""

    def __init__(self, specs: list[Spec], rng: random.Random) -> None:
        self._specs = [spec for spec in specs if spec.port is not None]
        self._rng = rng
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="restarts")
        self.count = 0

    def __enter__(self) -> Restarts:
        start(self._specs)
        self._thread.start()
        return self

    def calm(self) -> None:
        """No more restarts; every server is up."""
        self._over.set()
        self._thread.join()
        start(self._dead())

    def _dead(self) -> list[Spec]:
        return [spec for spec in self._specs if spec.process is None or spec.process.poll() is not None]

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for spec in self._specs:
            spec.kill()

    def _run(self) -> None:
        while not self._over.wait(self._rng.uniform(0.2, 1.0)):
            victim = self._rng.choice(self._specs) if self._rng.random() < 0.3 else None
            if victim is not None:
                victim.kill()
                self.count += 1
                self._over.wait(self._rng.uniform(0.0, 1.0))
            start(self._dead())


def marked(mark: str) -> list[int]:
    """Live processes, wherever they hide, that carry the mark of this run."""
    needle, found = f"{MARK}={mark}".encode(), []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and needle in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                found.append(int(name))
        except OSError:
            continue
    return found


def zombies() -> list[int]:
    """Children of this process that have ended and were not waited for."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        try:
            fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if name.isdigit() and fields[0] == b"Z" and int(fields[1]) == os.getpid():
            found.append(int(name))
    return found


def end(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
