"""Restate: an agent with effects as a service, killed and started again while the server waits for its answer."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cases
import durable
import outbox
import with_restate

SERVER = Path(os.environ["RESTATE_SERVER"])
SECONDS = 90


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a socket in the folder of the server, so that no port can be taken."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def post(path: Path, where: str, body: Any) -> tuple[int, str]:
    connection = UnixConnection(path)
    try:
        connection.request("POST", where, json.dumps(body), {"content-type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@contextmanager
def restate_server(folder: Path) -> Iterator[Path]:
    """A server of its own; the folder with its sockets."""
    environment = {
        **os.environ,
        "RESTATE_DISABLE_TELEMETRY": "true",
        "RESTATE_DEFAULT_RETRY_POLICY__INITIAL_INTERVAL": "20ms",
        "RESTATE_DEFAULT_RETRY_POLICY__MAX_INTERVAL": "200ms",
        "RESTATE_DEFAULT_RETRY_POLICY__MAX_ATTEMPTS": "unlimited",  # a start of the service may take long on a busy machine
        "RESTATE_DEFAULT_NUM_PARTITIONS": "1",
        "RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE": "64 MB",
    }
    words = ["--no-logo", "--listen-mode", "unix", "--base-dir", folder, "--node-name", "node"]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen([SERVER, *words], stdout=log, stderr=log, env=environment)
    try:
        yield folder / "node"
    finally:
        process.kill()
        process.wait()


@contextmanager
def service(folder: Path, port: int, *words: str) -> Iterator[subprocess.Popen[str]]:
    """One life of the service, ready to be called or killed."""
    command = [sys.executable, __file__, str(folder), str(port), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def main(folder: Path, port: int, points: list[str]) -> None:
    one = durable.Life(folder, points)
    one.patch_delivery()
    with outbox.open_hub(folder) as hub:
        asyncio.run(with_restate.serve(folder, hub, one.model(), port))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def until_registered(admin: Path, port: int) -> None:
    """Registers the service; server and service may still be on their way."""
    limit = time.monotonic() + SECONDS
    while True:
        try:
            status, text = post(admin, "/deployments", {"uri": f"http://127.0.0.1:{port}"})
        except OSError as error:
            status, text = 0, str(error)
        if status == 201:
            return
        assert time.monotonic() < limit, (status, text)
        time.sleep(0.05)


def test_a_service_that_is_killed_at_every_point_sends_each_mail_once() -> None:
    with tempfile.TemporaryDirectory() as name, restate_server(Path(name)) as sockets:
        folder, port, answers = Path(name), free_port(), list[tuple[int, str]]()

        def ask() -> None:
            answers.append(post(sockets / "ingress.sock", "/assistant/assist", durable.QUESTION))

        caller = threading.Thread(target=ask)
        said: list[str] = []
        for point in durable.POINTS:
            with service(folder, port, *durable.POINTS) as life:
                if not caller.ident:
                    until_registered(sockets / "admin.sock", port)
                    caller.start()
                said += life.communicate(timeout=SECONDS)[0].splitlines()
                assert life.returncode == -signal.SIGKILL, point
            assert (folder / f"killed {point}").exists(), point
        with service(folder, port, *durable.POINTS) as last:
            caller.join(SECONDS)
            last.kill()
            said += last.communicate()[0].splitlines()
        assert answers == [(200, json.dumps(durable.ANSWER))], answers
        durable.check(folder, said)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    else:
        cases.run(globals())
