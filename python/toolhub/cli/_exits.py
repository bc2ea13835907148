"""What a command ends with."""

OK, FAILED, USAGE, CONNECT, AUTH, NOT_FOUND, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

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
    """Ends a command: one sentence for the user, and the exit code."""

    def __init__(self, message: object, code: int = FAILED) -> None:
        super().__init__(str(message))
        self.code = code


def code_of(kind: object) -> int:
    """The exit code for a kind of error.

    >>> code_of("auth"), code_of("tool_error")
    (4, 1)
    """
    return _BY_KIND.get(str(kind), FAILED)


def code_of_connect(kind: object) -> int:
    """The exit code for a server that cannot be connected: it is either refused or not reached, whatever else happened."""
    return AUTH if str(kind) == "auth" else CONNECT
