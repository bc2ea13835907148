"""Scripts of skills: run only when the user has allowed it, without a shell, with little to inherit and a time limit."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .. import _core
from .._user_functions import in_thread, take_exception
from ..exceptions import ErrorKind, ToolError

TIMEOUT = 60.0
_MAX_OUTPUT = 1_000_000
_ENDING = 2.0
_LEFT_BEHIND = 0.5
# By this a daemon that a script leaves is found.
_MARK = "TOOLHUB_SCRIPT_RUN"
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SYSTEMROOT", "TEMP", "USERPROFILE")
# Interpreters for scripts that are not executable. The script comes first, so its arguments cannot become their options.
_RUNNERS = {
    ".py": (sys.executable,),
    ".sh": ("bash", "sh"),
    ".js": ("node",),
    ".rb": ("ruby",),
    ".pl": ("perl",),
}


def words(args: Iterable[str]) -> list[str]:
    """The arguments of a script, checked."""
    given = list(args)
    texts = all(isinstance(word, str) and "\0" not in word for word in given)  # type: ignore[reportUnnecessaryIsInstance]
    if isinstance(args, str) or not texts:
        raise ToolError("args must be a list of texts without zero bytes.", ErrorKind.INVALID_ARGUMENTS)
    return given


async def run(skill: str, folder: Path, script: str, args: Iterable[str], timeout: float) -> dict[str, Any]:
    """Run a script of a skill in the skill's folder. What it starts ends with it."""
    given = words(args)
    try:
        path = Path(_core.skill_file(str(folder), script))
    except PermissionError as error:
        raise ToolError(f"Skill {skill!r}: the script {error}.", ErrorKind.NOT_ALLOWED) from None
    try:
        process = await _start([*_runner(path), str(path), *given], folder)
    except OSError as error:
        sentence = f"The script {script!r} of the skill {skill!r} could not be started: {error.strerror}."
        raise ToolError(sentence, ErrorKind.TOOL_ERROR) from error
    reading = asyncio.gather(process.out.read(), process.err.read())
    try:
        try:
            async with asyncio.timeout(timeout):
                await process.exited()
        except TimeoutError:
            raise ToolError(
                f"The script {script!r} of the skill {skill!r} was ended after {timeout:g} s.",
                ErrorKind.TIMEOUT,
            ) from None
        # What the script leaves running holds its output open: it has a moment to end by itself.
        await asyncio.wait([reading], timeout=_LEFT_BEHIND)
        process.kill()
        await asyncio.wait([reading], timeout=_ENDING)
    finally:
        await _end(process, reading)
    return {"exit_code": process.popen.returncode, "stdout": process.out.text, "stderr": process.err.text}


class _Process:
    """A script. It is reaped last: until then its process id cannot be reused for another process group."""

    def __init__(self, popen: subprocess.Popen[bytes], mark: str) -> None:
        self.popen = popen
        self.mark = mark
        self.out = _Output()
        self.err = _Output()
        self.transports: list[asyncio.BaseTransport] = []
        self._exit = asyncio.create_task(_wait_for_exit(popen.pid))

    async def connect(self) -> None:
        """Connect the readers to the output of the script."""
        loop = asyncio.get_running_loop()
        for output, pipe in ((self.out, self.popen.stdout), (self.err, self.popen.stderr)):
            protocol = asyncio.StreamReaderProtocol(output.stream)
            transport, _ = await loop.connect_read_pipe(lambda protocol=protocol: protocol, pipe)
            self.transports.append(transport)

    async def exited(self) -> None:
        """Wait until the script has ended."""
        await asyncio.shield(self._exit)

    def kill(self) -> None:
        """End the script and all that it has started: its process group, and daemons that left the group."""
        if self.popen.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.popen.pid, signal.SIGKILL)
        _kill_marked(self.mark)

    def close(self) -> None:
        """Reap the script if it has ended, and close our ends of its output."""
        if self._exit.done() and not self._exit.cancelled() and self._exit.exception() is None:
            self.popen.wait()
        self._exit.cancel()
        for transport in self.transports:
            transport.close()


class _Output:
    """One output of a script. Beyond the limit it is read, so that the script does not block, and dropped."""

    def __init__(self) -> None:
        self.stream = asyncio.StreamReader()
        self._kept = b""
        self._cut = False

    async def read(self) -> None:
        """Read to the end."""
        while more := await self.stream.read(65_536):
            self._cut = self._cut or len(self._kept) + len(more) > _MAX_OUTPUT
            self._kept += more[: _MAX_OUTPUT - len(self._kept)]

    @property
    def text(self) -> str:
        """What was read so far."""
        return self._kept.decode("utf-8", "replace") + ("\n… [cut]" if self._cut else "")


def _kill_marked(mark: str) -> None:
    """End the processes that inherited the mark in their environment, on systems that show it."""
    if not hasattr(os, "pidfd_open") or not os.path.isdir("/proc/self"):
        return
    entry = f"{_MARK}={mark}".encode()
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(int(name))
            try:
                # The descriptor stays with this process, even if the number is given to another one meanwhile.
                if entry in Path("/proc", name, "environ").read_bytes().split(b"\0"):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)


async def _wait_for_exit(pid: int) -> None:
    """Wait for the end of a child without reaping it."""
    if not hasattr(os, "pidfd_open"):
        await in_thread(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return
    loop = asyncio.get_running_loop()
    exited = asyncio.Event()
    descriptor = os.pidfd_open(pid)
    try:
        loop.add_reader(descriptor, exited.set)
        await exited.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


async def _start(command: list[str], folder: Path) -> _Process:
    mark = secrets.token_hex(16)
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    popen = subprocess.Popen(  # noqa: ASYNC220 (what asyncio would do, but it reaps at once)
        command,
        cwd=folder,
        env={**inherited, _MARK: mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    process = _Process(popen, mark)
    try:
        await process.connect()
    except BaseException:
        await _end(process, None)
        raise
    return process


def _runner(path: Path) -> tuple[str, ...]:
    for program in _RUNNERS.get(path.suffix, ()):
        if found := shutil.which(program):
            return (found,)
    if os.access(path, os.X_OK):
        return ()
    raise ToolError(
        f"Nothing here can run {path.name!r}: it is not executable, and there is no interpreter for it.",
        ErrorKind.NOT_ALLOWED,
    )


async def _end(process: _Process, reading: asyncio.Future[Any] | None) -> None:
    """End the script and all that it has started, and release what we hold of it."""
    process.kill()
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING):
                await process.exited()
    finally:
        if reading is not None:
            reading.add_done_callback(take_exception)
            reading.cancel()
        process.close()
