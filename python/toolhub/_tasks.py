"""Tasks of our own, beside those of the user."""

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")


def unmissed(task: "asyncio.Future[T]") -> "asyncio.Future[T]":
    """A task that asyncio drops in silence, as it does with those of `gather`.

    If a loop ends by an exception while calls are pending, "Task was destroyed but it is pending!" would tell the user of a
    task that is not theirs.
    """
    own: Any = task
    own._log_destroy_pending = False
    return task
