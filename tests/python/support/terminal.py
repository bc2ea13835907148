"""A program in a pseudo-terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
from collections.abc import Sequence

from support.cli import User


class Terminal:
    """A program whose three streams are a terminal of a given width."""

    def __init__(self, user: User, command: Sequence[str], columns: int = 80, **more: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = {**user.environment, "TERM": "xterm-256color", **more}
        del environment["COLUMNS"]
        self.process = subprocess.Popen(
            command,
            cwd=user.home,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self._seen = b""

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def wait_for(self, text: str) -> None:
        """Read until a text is there."""
        while text not in self.seen and self._read(50.0):
            pass
        assert text in self.seen

    def end(self) -> tuple[str, int]:
        """Everything that was printed, and the exit code."""
        while self._read(50.0):
            pass
        code = self.process.wait(50)
        os.close(self._ours)
        return self.seen, code

    @property
    def seen(self) -> str:
        return self._seen.decode("utf-8", "replace").replace("\r\n", "\n")

    def _read(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], max(seconds, 0))[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # on Linux, the end of a terminal
            return False
        self._seen += data
        return bool(data)
