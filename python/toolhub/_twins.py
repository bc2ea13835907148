"""Blocking twins of async methods: one scheme, made here.

`connect_sync = blocking(connect)` in the body of a class is all that a twin needs. Type checkers see the parameters and the
result of the async method.
"""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from . import _background

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


def blocking(
    method: Callable[Concatenate[S, P], Coroutine[Any, Any, R]], name: str | None = None
) -> Callable[Concatenate[S, P], R]:
    """The blocking twin of an async method, named `<method>_sync` unless `name` is given.

    It waits for the result, also inside a running event loop. A subclass that overrides the async method changes both, and
    a class that waits in its own way has `_wait`.

    >>> class Door:
    ...     async def open(self, how: str = "slowly") -> str:
    ...         return f"opened {how}"
    ...     open_sync = blocking(open)
    >>> Door().open_sync(), Door.open_sync.__name__
    ('opened slowly', 'open_sync')
    """
    original = method.__name__

    @wraps(method)
    def twin(self: Any, *args: Any, **kwargs: Any) -> Any:
        wait = getattr(self, "_wait", _background.run)
        return wait(getattr(self, original)(*args, **kwargs))

    twin.__name__ = name or f"{original}_sync"
    twin.__doc__ = f"`{original}`, blocking."
    return twin
