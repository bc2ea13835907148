"""Checks of options that callers pass: one clear sentence if the type or the range is wrong."""

import operator
import os
from typing import Any, cast


def check_whole(what: str, value: Any, least: int | None) -> None:
    """Raise unless `value` is a whole number, and of at least `least` if that is given.

    >>> check_whole("max_parallel", -1, 1)
    Traceback (most recent call last):
    ValueError: max_parallel must be at least 1, got -1
    """
    try:
        number = operator.index(cast(Any, None) if isinstance(value, bool) else value)
    except TypeError:
        raise TypeError(f"{what} must be a whole number, {_got(what, value)}") from None
    if least is not None and number < least:
        raise ValueError(f"{what} must be at least {least}, got {number}")


def check_seconds(what: str, value: Any, *, above_zero: bool = False, least: float = 0) -> None:
    """Raise unless `value` is a number of seconds: `least` or more, or more than 0.

    >>> check_seconds("cache_ttl", float("nan"))
    Traceback (most recent call last):
    ValueError: cache_ttl must be a number of seconds, 0 or more, got nan
    >>> check_seconds("timeout", "5")
    Traceback (most recent call last):
    TypeError: timeout must be a number of seconds, got the text '5'; write timeout=5
    """
    if not hasattr(value, "__float__") or isinstance(value, bool):
        raise TypeError(f"{what} must be a number of seconds, {_got(what, value)}")
    if above_zero and value <= 0:
        raise ValueError(f"{what} must be more than 0 seconds, got {value}; leave it out for the default")
    if not value >= least:  # also refuses NaN
        raise ValueError(f"{what} must be a number of seconds, 0 or more, got {value}")


def check_text(what: str, value: Any) -> None:
    """Raise unless `value` is text.

    >>> check_text("source", ["tools", "mcps"])
    Traceback (most recent call last):
    TypeError: source must be text, got list; leave it out for all
    """
    if not isinstance(value, str):
        kind = type(cast("object", value)).__name__
        several = "; leave it out for all" if kind in ("list", "tuple", "set") else ""
        raise TypeError(f"{what} must be text, got {kind}{several}")


def check_path(what: str, value: Any, hint: str = "") -> None:
    """Raise unless `value` is a path.

    >>> check_path("folder", None)
    Traceback (most recent call last):
    TypeError: folder must be a path, got NoneType
    """
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{what} must be a path, got {type(value).__name__}{hint if callable(value) else ''}")


def check_callable(what: str, value: Any) -> None:
    """Raise unless `value` is a function.

    >>> check_callable("elicitation", 5)
    Traceback (most recent call last):
    TypeError: elicitation must be a function, got int
    """
    if not callable(value):
        raise TypeError(f"{what} must be a function, got {type(value).__name__}")


def _got(what: str, value: Any) -> str:
    if not isinstance(value, str):
        return f"got {type(value).__name__}"
    try:
        number = f"{float(value):g}"
    except ValueError:
        return f"got the text {value!r}"
    return f"got the text {value!r}; write {what}={number}"
