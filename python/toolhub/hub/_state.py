"""Whether a hub is open, the one piece of state that all its parts share; and the base of parts such as `hub.resources`."""

import os
from typing import TYPE_CHECKING, Any, ClassVar

from ..exceptions import ErrorKind, ToolError


class HubState:
    """Open until the hub is closed. The parts hold this object instead of the hub, so no part keeps its hub alive.

    >>> state = HubState()
    >>> state.closed = True
    >>> state.require_open()
    Traceback (most recent call last):
    toolhub.exceptions.ConnectionFailed: The hub is closed; make a new ToolHub.
    """

    __slots__ = ("_process", "closed")

    def __init__(self) -> None:
        self.closed = False
        self._process = os.getpid()

    def is_of_parent(self) -> bool:
        """Whether the hub was made before this process was forked: all that it holds belongs to the parent."""
        return os.getpid() != self._process

    def require_open(self) -> None:
        """Raise `ToolError` of kind `closed` if the hub is closed."""
        if self.closed:
            raise ToolError("The hub is closed; make a new ToolHub.", ErrorKind.CLOSED)


class Part:
    """The base of such an attribute. It is made when it is asked for, so a hub does not hold what may refer to the hub."""

    _shown_as: ClassVar[str]
    _instead: ClassVar[str]
    _closed_too: ClassVar[frozenset[str]] = frozenset({"__init__"})
    _state: HubState

    if not TYPE_CHECKING:  # a call is an error for type checkers too

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            raise TypeError(f"{self._shown_as} is not a function; write {self._instead}")

    def __repr__(self) -> str:
        return f"<{self._shown_as}>"
