"""What a command ends with."""

from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

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
