"""Whether a hub is open: the one piece of state that all its parts share."""


class HubState:
    """Open until the hub is closed. The parts hold this object instead of the hub, so no part keeps its hub alive.

    >>> state = HubState()
    >>> state.closed = True
    >>> state.require_open()
    Traceback (most recent call last):
    RuntimeError: The hub is closed; make a new ToolHub.
    """

    __slots__ = ("closed",)

    def __init__(self) -> None:
        self.closed = False

    def require_open(self) -> None:
        """Raise `RuntimeError` if the hub is closed."""
        if self.closed:
            raise RuntimeError("The hub is closed; make a new ToolHub.")
