"""Signals to `toolhub record` and `replay` reach the program that they run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli import User

PROGRAM = """
import os, signal, sys
import toolhub
print(os.getpid(), flush=True)
signal.pause()
"""
POLITE = PROGRAM.replace(
    "print(", "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'ended\\n'), sys.exit(7)))\nprint("
)


def started(user: User, text: str) -> tuple[subprocess.Popen[str], int]:
    """`toolhub record` of a program that waits, and its process."""
    (user.home / "agent.py").write_text(text, "utf-8")
    command = [
        sys.executable,
        "-m",
        "toolhub",
        "record",
        "-o",
        "run.ndjson",
        "--",
        sys.executable,
        "agent.py",
    ]
    program = subprocess.Popen(
        command,
        cwd=user.home,
        env=user.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    return program, int(program.stdout.readline())


def is_there(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_recorded_program_ends_too(number: signal.Signals, user: User) -> None:
    program, process = started(user, PROGRAM)
    try:
        program.send_signal(number)
        _, said = program.communicate(timeout=50)
        assert (program.returncode, "Traceback" in said) == (128 + number, False)
        assert not is_there(process)
    finally:
        program.kill()
        if is_there(process):
            os.kill(process, signal.SIGKILL)


def test_a_program_may_end_in_its_own_way(user: User) -> None:
    program, _ = started(user, POLITE)
    program.terminate()
    printed, said = program.communicate(timeout=50)
    assert (program.returncode, printed) == (7, "ended\n"), said
