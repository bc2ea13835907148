"""A server as a child process."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import signal
from typing import Any

from faults.harness.api import Target
from .rpc import Failure, ID, MAX_MESSAGE, Rpc


SAFE_ENV = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG")


def descendants(root: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError, ValueError):
            with open(f"/proc/{name}/stat", "rb") as fh:
                parents.setdefault(int(fh.read().rpartition(b")")[2].split()[1]), []).append(int(name))
    found, todo = [], [root]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Stdio(Rpc):
    async def open(self, target: Target) -> None:
        env = {k: os.environ[k] for k in SAFE_ENV if k in os.environ} | target.env
        try:
            self.process = await asyncio.create_subprocess_exec(
                target.command, *target.args, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, env=env, start_new_session=True, preexec_fn=die_with_parent)
        except OSError as exc:
            raise Failure("connect", f"cannot start {target.command}: {exc}") from exc
        self.exited = asyncio.Event()
        self.lock = asyncio.Lock()
        self.pidfd = os.pidfd_open(self.process.pid)
        asyncio.get_running_loop().add_reader(self.pidfd, self._on_exit)
        self.tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._stderr())]

    def _on_exit(self) -> None:
        asyncio.get_running_loop().remove_reader(self.pidfd)
        self.exited.set()
        asyncio.get_running_loop().call_later(0.2, self.die, Failure("closed", "the server process exited"))

    async def _stderr(self) -> None:
        while await self.process.stderr.read(1 << 16):  # drained and dropped
            pass

    async def _read(self) -> None:
        parts: list[bytes] = []
        size, skipping = 0, False
        while chunk := await self.process.stdout.read(1 << 20):
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                if not skipping:
                    message = b"".join((*parts, line)).strip()
                    if message:
                        self.received(message)
                parts, size, skipping = [], 0, False
            if skipping or not rest:
                continue
            parts.append(rest)
            size += len(rest)
            if size > MAX_MESSAGE:
                found = ID.search(parts[0][:200])
                self.settle(found.group(1).decode() if found else "", Failure("limit", f"message over the size limit of {MAX_MESSAGE}"))
                parts, skipping = [], True
        self.die(Failure("closed", "the server closed its output"))

    async def post(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode() + b"\n"
        async with self.lock:
            try:
                self.process.stdin.write(data)
                await self.process.stdin.drain()
            except asyncio.CancelledError:
                if self.process.stdin.transport.get_write_buffer_size():  # half a message is out: the pipe is spoilt
                    self.die(Failure("closed", "the server stopped reading"))
                raise
            except (OSError, ConnectionError) as exc:
                raise Failure("closed", f"cannot write to the server: {exc}") from exc

    async def _gone(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.exited.wait()
        return self.exited.is_set()

    async def close(self) -> None:
        self.die(Failure("closed", "closed"))
        pid, family = self.process.pid, descendants(self.process.pid)
        await self.drain()
        stdin = self.process.stdin.transport
        stdin.abort() if stdin.get_write_buffer_size() else stdin.close()
        if not await self._gone(2):
            for number in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, number)
                if await self._gone(1.5):
                    break
        for victim in (-pid, *family):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL) if victim < 0 else os.kill(victim, signal.SIGKILL)
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks, timeout=2)
        self.process._transport.close()
        asyncio.get_running_loop().remove_reader(self.pidfd)
        os.close(self.pidfd)
        await asyncio.sleep(0)
