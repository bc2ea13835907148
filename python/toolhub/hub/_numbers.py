"""Checks of numbers that callers pass: one clear sentence if the type or the range is wrong."""

import operator
from typing import Any


def check_whole(what: str, value: Any, least: int) -> None:
    """Raise unless `value` is a whole number of at least `least`.

    >>> check_whole("max_parallel", -1, 1)
    Traceback (most recent call last):
    ValueError: max_parallel must be at least 1, got -1
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be a whole number, got {type(value).__name__}") from None
    if number < least:
        raise ValueError(f"{what} must be at least {least}, got {number}")


def check_seconds(what: str, value: Any) -> None:
    """Raise unless `value` is a number of seconds, 0 or more.

    >>> check_seconds("cache_ttl", float("nan"))
    Traceback (most recent call last):
    ValueError: cache_ttl must be a number of seconds, 0 or more, got nan
    """
    if not hasattr(value, "__float__"):
        raise TypeError(f"{what} must be a number of seconds, got {type(value).__name__}")
    if not value >= 0:  # also refuses NaN
        raise ValueError(f"{what} must be a number of seconds, 0 or more, got {value}")
