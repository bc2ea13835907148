"""What a command ends with, and what it prints: plain text into a pipe, colours on a terminal, JSON with `--json`."""

import errno
import os
import sys
from contextlib import contextmanager

TYPE_CHECKING = False

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Iterable, Sequence
    from typing import Any, TextIO


OK, FAILED, USAGE, CONNECT, AUTH, NOT_FOUND, NOT_WRITTEN, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130

# The names of exit codes in JSON.
_NAMES = {FAILED: "failed", USAGE: "usage", CONNECT: "connect", AUTH: "auth", NOT_FOUND: "not_found"}

_BY_KIND = {
    "not_found": NOT_FOUND,
    "no_capability": NOT_FOUND,
    "invalid_arguments": USAGE,
    "auth": AUTH,
    "connect": CONNECT,
    "closed": CONNECT,
    "http": CONNECT,
    "protocol": CONNECT,
}


class Failure(Exception):
    """Ends a command: one sentence for the user, and the exit code. `is_said` if the user has read it already."""

    def __init__(self, message: object, code: int = FAILED, *, is_said: bool = False) -> None:
        super().__init__(str(message))
        self.code, self.is_said = code, is_said

    def as_json(self) -> dict[str, object]:
        """What `--json` prints."""
        return {"error": {"kind": _NAMES.get(self.code, "failed"), "message": str(self)}, "exit": self.code}


@contextmanager
def failing(code: int, *errors: type[Exception]) -> "Generator[None]":
    """Inside, these errors end the command with their text and an exit code."""
    try:
        yield
    except errors as error:
        raise Failure(error, code) from None


class OutputError(Exception):
    """What a command prints cannot be written."""


def unwritten(path: str, error: OSError) -> Failure:
    """A file that cannot be written."""
    return Failure(f"the file '{path}' cannot be written: {error.strerror}", USAGE)


def code_of(kind: object) -> int:
    """The exit code for a kind of error.

    >>> code_of("auth"), code_of("tool_error")
    (4, 1)
    """
    return _BY_KIND.get(str(kind), FAILED)


def code_of_connect(kind: object) -> int:
    """The exit code for a server that cannot be connected: it is either refused or not reached, whatever else happened."""
    return AUTH if str(kind) == "auth" else CONNECT


_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def is_terminal(stream: "TextIO | None") -> bool:
    """Whether a person reads it."""
    return stream is not None and stream.isatty()


def paint(text: str, *styles: str, stream: "TextIO | None" = None) -> str:
    """A text in a colour, on terminals that can show them, unless `NO_COLOR` is set."""
    shows = is_terminal(sys.stdout if stream is None else stream) and os.environ.get("TERM") != "dumb"
    if not text or not shows or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"


def width() -> int | None:
    """The columns of the terminal; None in a pipe, where nothing is cut."""
    if not is_terminal(sys.stdout):
        return None
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        columns = 0
    return columns or 80


def cut(text: str, room: int | None) -> str:
    """One line that fits.

    >>> cut("a longer text", 8), cut("short", 8), cut("uncut in a pipe", None)
    ('a longe…', 'short', 'uncut in a pipe')
    """
    if room is None or len(text) <= room:
        return text
    return f"{text[: max(room - 1, 0)]}…"


def clean(text: str) -> str:
    """Foreign text as it is seen: no commands to the terminal, nothing invisible."""
    from .. import _core

    return _core.visible_text(text)


def one_line(text: str) -> str:
    """The same on one line: foreign text cannot look like a line of its own."""
    return "\\n".join(clean(text).splitlines())


def first_line(text: str) -> str:
    """The first line that has words, with spaces in order."""
    return " ".join(next((line for line in clean(text).splitlines() if line.strip()), "").split())


def counted(number: int, what: str) -> str:
    """`1 tool`, `2 tools`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def put(line: str = "") -> None:
    """A line of the result."""
    write_out(f"{line}\n")


def write_out(text: str) -> None:
    """Write to stdout; `OutputError` if that is not possible, because the command itself has been carried out."""
    if not has_stream(sys.stdout):
        raise OutputError(os.strerror(errno.EBADF))
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.strerror) from None


def has_stream(stream: "TextIO | None") -> bool:
    """Whether a program was started with this stream open."""
    return stream is not None


def put_json(value: "Any") -> None:
    """One JSON object; what is not JSON becomes its text."""
    write_out(json_text(value, sys.stdout))


def answer(given: "argparse.Namespace", value: "Any", line: str, show: "Callable[[str], None]") -> None:
    """What was done: an object with `--json`, otherwise a line."""
    if given.json:
        put_json(value)
    else:
        show(line)


def json_text(value: "Any", stream: "TextIO | None") -> str:
    """An object for a stream. Where that cannot have all characters, they are written as JSON escapes them."""
    import json

    indent = 2 if is_terminal(stream) else None
    text = json.dumps(value, ensure_ascii=False, default=str, indent=indent)
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, default=str, indent=indent)
    return f"{text}\n"


def say(line: str) -> None:
    """A line about the result: a problem, or what was done."""
    write_err(f"toolhub: {line}\n")


def write_err(text: str) -> None:
    """Write to stderr. Where nobody can read it, the command goes on: its exit code tells how it ended."""
    if has_stream(sys.stderr):
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            forget(sys.stderr)


def forget(stream: "TextIO") -> None:
    """Let what is still in the buffer of a stream that cannot be written go nowhere: it would raise again at exit."""
    if has_stream(stream):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def put_table(titles: "Sequence[str]", rows: "Iterable[Sequence[Any]]") -> None:
    """Columns: a table of `rich` on a terminal where it is installed, otherwise aligned text."""
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    if is_terminal(sys.stdout) and _put_rich(titles, cells):
        return
    widths = [max(map(len, column)) for column in zip(titles, *cells, strict=True)]
    for at, row in enumerate([list(titles), *cells]):
        line = "  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip()
        put(paint(cut(line, width()), "bold") if at == 0 else cut(line, width()))


def _put_rich(titles: "Sequence[str]", cells: "list[list[str]]") -> bool:
    try:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    table = Table(*titles, box=None, pad_edge=False, header_style="bold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    Console(file=sys.stdout).print(table)
    return True
