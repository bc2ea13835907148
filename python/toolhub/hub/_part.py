"""What belongs together is one attribute of the hub with few methods: `hub.resources.list()`."""

from typing import TYPE_CHECKING, Any, ClassVar

from ._state import HubState


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
