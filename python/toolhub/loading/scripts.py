"""Scripts of skills: run only when the user has allowed it, without a shell, with little to inherit and a time limit."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .. import _core
from ..exceptions import ErrorKind, ToolError

TIMEOUT = 60.0
_MAX_OUTPUT = 1_000_000
_ENDING = 2.0
_LOOK = 0.1
_LEFT_BEHIND = 0.5
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "SYSTEMROOT", "TEMP", "USERPROFILE")
# What runs a script that is no program itself. The script comes after it, so its arguments cannot become options of it.
_RUNNERS = {
    ".py": (sys.executable,),
    ".sh": ("bash", "sh"),
    ".js": ("node",),
    ".rb": ("ruby",),
    ".pl": ("perl",),
}


async def run(skill: str, folder: Path, script: str, args: Iterable[str], timeout: float) -> dict[str, Any]:
    """Run a script of a skill in the skill's folder. What it starts ends with it."""
    words = list(args)
    texts = all(isinstance(word, str) and "\0" not in word for word in words)  # type: ignore[reportUnnecessaryIsInstance]
    if isinstance(args, str) or not texts:
        raise ToolError("args must be a list of texts without zero bytes.", ErrorKind.INVALID_ARGUMENTS)
    try:
        path = Path(_core.skill_file(str(folder), script))
    except PermissionError as error:
        raise ToolError(f"Skill {skill!r}: the script {error}.", ErrorKind.NOT_ALLOWED) from None
    try:
        process = await _start([*_runner(path), str(path), *words], folder)
    except OSError as error:
        told = f"The script {script!r} of the skill {skill!r} could not be started: {error.strerror}."
        raise ToolError(told, ErrorKind.TOOL_ERROR) from error
    rest = asyncio.create_task(_end_rest(process))
    try:
        async with asyncio.timeout(timeout):
            out, err, _ = await asyncio.gather(_read(process.stdout), _read(process.stderr), process.wait())
    except TimeoutError:
        raise ToolError(
            f"The script {script!r} of the skill {skill!r} was ended after {timeout:g} s.", ErrorKind.TIMEOUT
        ) from None
    finally:
        rest.cancel()
        await _end(process)
    return {"exit_code": process.returncode, "stdout": out, "stderr": err}


async def _start(command: list[str], folder: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={name: os.environ[name] for name in _INHERITED if name in os.environ},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )


def _runner(path: Path) -> tuple[str, ...]:
    for program in _RUNNERS.get(path.suffix, ()):
        if found := shutil.which(program):
            return (found,)
    if os.access(path, os.X_OK):
        return ()
    raise ToolError(
        f"Nothing here can run {path.name!r}: it is no program, and there is no interpreter for it.",
        ErrorKind.NOT_ALLOWED,
    )


async def _read(stream: asyncio.StreamReader | None) -> str:
    """What a script says; beyond the limit it is read, so that the script does not hang, and dropped."""
    kept, cut = b"", False
    while stream is not None and (more := await stream.read(65_536)):
        cut = cut or len(kept) + len(more) > _MAX_OUTPUT
        kept += more[: _MAX_OUTPUT - len(kept)]
    return kept.decode("utf-8", "replace") + ("\n… [cut]" if cut else "")


async def _end_rest(process: asyncio.subprocess.Process) -> None:
    """End what a script leaves behind: it would hold the output open until the time is up."""
    # Not `wait`: in some versions of Python that waits for the end of the output too.
    while process.returncode is None:  # noqa: ASYNC110 (nothing tells of it)
        await asyncio.sleep(_LOOK)
    await asyncio.sleep(_LEFT_BEHIND)
    _kill(process)


def _kill(process: asyncio.subprocess.Process) -> None:
    """The script and all that it has started, which is in the same session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the script and all that it has started, and close what connects us."""
    _kill(process)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_ENDING):
            await asyncio.gather(_read(process.stdout), _read(process.stderr), process.wait())
    # Whoever has left the session may still hold the other ends; there is no public way to close ours.
    transport: Any = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()
