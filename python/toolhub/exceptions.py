"""What can go wrong, and how several candidates are used: the words that code switches on."""

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .result import ToolResult

__all__ = ["ErrorKind", "Strategy", "ToolError"]


class ErrorKind(StrEnum):
    """The kind of a failed call; members are strings.

    >>> ErrorKind.TIMEOUT == "timeout"
    True
    """

    NOT_FOUND = "not_found"
    NO_CAPABILITY = "no_capability"
    INVALID_ARGUMENTS = "invalid_arguments"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    CONNECT = "connect"
    CLOSED = "closed"
    AUTH = "auth"
    HTTP = "http"
    RPC = "rpc"
    PROTOCOL = "protocol"
    LIMIT = "limit"
    TOOL_ERROR = "tool_error"
    NOT_ALLOWED = "not_allowed"
    OVERLOADED = "overloaded"


class Strategy(StrEnum):
    """How several candidates of one name are used; members are strings.

    >>> Strategy("first") is Strategy.FIRST
    True
    """

    AUTO = "auto"
    FIRST = "first"
    ALL = "all"
    FALLBACK = "fallback"


class ToolError(Exception):
    """A failed call as an exception: what `result.unwrap()` raises.

    A tool may raise it too; its kind then becomes the kind of the result.

    >>> error = ToolError("the key was refused", kind=ErrorKind.AUTH)
    >>> error.kind, str(error)
    (<ErrorKind.AUTH: 'auth'>, 'the key was refused')
    """

    def __init__(
        self,
        message: str,
        kind: ErrorKind | str = ErrorKind.TOOL_ERROR,
        result: "ToolResult | None" = None,
        *,
        code: int | None = None,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = ErrorKind(kind)
        self.result = result
        """The result that was unwrapped, with all its details."""
        self.code = code
        """The JSON-RPC code of a server's error."""
        self.status = status
        """The HTTP status of a server's answer."""
        self.retry_after = retry_after
        """After how many seconds the server wants to be asked again."""
