"""Kinds of failures, exceptions for them, and strategies: the names that code switches on."""

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from .result import ToolResult

__all__ = [
    "AuthenticationFailed",
    "ConnectionFailed",
    "ErrorKind",
    "InvalidArguments",
    "LimitExceeded",
    "NotAllowed",
    "ServerError",
    "Strategy",
    "ToolCancelled",
    "ToolError",
    "ToolFailed",
    "ToolNotFound",
    "ToolOverloaded",
    "ToolPaused",
    "ToolTimeout",
]


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
    PAUSED = "paused"
    NOT_SENT = "not_sent"
    PROPOSED = "proposed"


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
    """A failed call as an exception: what `result.unwrap()` raises. There is a subclass for each kind or family of kinds.

    Creating a `ToolError` creates the subclass of its kind, so `except ToolTimeout` works wherever the error comes from. A
    tool may raise one too; the result then has its kind.

    >>> error = ToolError("the key was refused", kind=ErrorKind.AUTH)
    >>> error
    AuthenticationFailed('the key was refused')
    >>> error.kind, isinstance(error, ServerError)
    (<ErrorKind.AUTH: 'auth'>, True)
    """

    kinds: ClassVar[tuple[ErrorKind, ...]] = ()
    """The kinds that this class stands for, its default first; empty for classes of your own, which may have any kind."""

    def __init__(
        self,
        message: str,
        kind: ErrorKind | str | None = None,
        result: "ToolResult | None" = None,
        *,
        code: int | None = None,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        if type(self) is ToolError:
            # Here and not in `__new__`, which would have to know the parameters of subclasses that users write.
            self.__class__ = _CLASSES[ErrorKind.TOOL_ERROR if kind is None else ErrorKind(kind)]
        default = self.kinds[0] if self.kinds else ErrorKind.TOOL_ERROR
        self.kind = default if kind is None else ErrorKind(kind)
        if self.kinds and self.kind not in self.kinds:
            names = " or ".join(repr(str(one)) for one in self.kinds)
            raise ValueError(f"the kind of {type(self).__name__} must be {names}, got {str(self.kind)!r}")
        self.result = result
        """The result that was unwrapped, with all its details."""
        self.code = code
        """The JSON-RPC code of a server's error."""
        self.status = status
        """The HTTP status of a server's answer."""
        self.retry_after = retry_after
        """Seconds after which the server accepts another request."""


class ToolNotFound(ToolError):
    """No tool has the name, or none has the capability."""

    kinds = (ErrorKind.NOT_FOUND, ErrorKind.NO_CAPABILITY)


class InvalidArguments(ToolError):
    """The arguments do not fit the parameters of the tool."""

    kinds = (ErrorKind.INVALID_ARGUMENTS,)


class NotAllowed(ToolError):
    """The permissions forbid the call, or it was not approved."""

    kinds = (ErrorKind.NOT_ALLOWED, ErrorKind.PROPOSED)


class ToolTimeout(ToolError):
    """The call did not end in time."""

    kinds = (ErrorKind.TIMEOUT,)


class ToolCancelled(ToolError):
    """The call was cancelled."""

    kinds = (ErrorKind.CANCELLED,)


class ToolOverloaded(ToolError):
    """Too many calls are waiting."""

    kinds = (ErrorKind.OVERLOADED,)


class ToolPaused(ToolError):
    """The call waits for a decision: an approval, what became of an earlier attempt, or an earlier call of its message."""

    kinds = (ErrorKind.PAUSED, ErrorKind.NOT_SENT)


class LimitExceeded(ToolError):
    """A size or count exceeds a limit."""

    kinds = (ErrorKind.LIMIT,)


class ToolFailed(ToolError):
    """The tool ran and failed."""

    kinds = (ErrorKind.TOOL_ERROR,)


class ServerError(ToolError):
    """A server answered with an error or with something that is not an answer. Also the base of the next two."""

    kinds = (ErrorKind.RPC, ErrorKind.HTTP, ErrorKind.PROTOCOL)


class ConnectionFailed(ServerError):
    """A server could not be reached, the connection was lost, or the hub is closed."""

    kinds = (ErrorKind.CONNECT, ErrorKind.CLOSED)


class AuthenticationFailed(ServerError):
    """A server refused the credentials."""

    kinds = (ErrorKind.AUTH,)


_CLASSES: dict[ErrorKind, type[ToolError]] = {
    kind: subclass
    for subclass in (*ToolError.__subclasses__(), *ServerError.__subclasses__())
    for kind in subclass.kinds
}
