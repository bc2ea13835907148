"""Checks of options that callers pass: one clear sentence if the type or the range is wrong."""

import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

T = TypeVar("T")

_MOST = 2**63 - 1
"""The largest whole number that the core takes."""

_LONGEST = 1e9
"""Seconds, about 30 years: as good as no limit, and safe to add to any clock."""


def check_whole(what: str, value: Any, least: int | None, most: int = _MOST) -> int:
    """The whole number `value`, at most `most`; raises if it is less than `least` or no whole number.

    >>> check_whole("k", 10**30, 0, 1000)
    1000
    >>> check_whole("max_parallel", -1, 1)
    Traceback (most recent call last):
    ValueError: max_parallel must be at least 1, got -1
    """
    try:
        number = operator.index(cast(Any, None) if isinstance(value, bool) else value)
    except TypeError:
        raise TypeError(f"{what} must be a whole number, {_got(what, value)}") from None
    if least is not None and number < least:
        raise ValueError(f"{what} must be at least {least}, got {_shown(number)}")
    return max(min(number, most), -most)


def check_number(what: str, value: Any, of: str = "") -> float:
    """The number `value`, which may be infinite or NaN; `of` says what it counts.

    >>> check_number("temperature", "hot")
    Traceback (most recent call last):
    TypeError: temperature must be a number, got the text 'hot'
    """
    wrong = isinstance(value, bool) or not hasattr(value, "__float__")
    try:
        number = float(cast(Any, None) if wrong else value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be a number{of}, {_got(what, value)}") from None
    return number


def check_finite(what: str, value: Any) -> float:
    """A number that is neither infinite nor NaN."""
    number = check_number(what, value)
    if not math.isfinite(number):
        raise ValueError(f"{what} must be a finite number, got {number}")
    return number


def check_seconds(what: str, value: Any, *, above_zero: bool = False, least: float = 0) -> float:
    """The number of seconds `value`, at most 30 years; raises unless it is `least` or more, or more than 0.

    >>> check_seconds("timeout", 10**400)
    1000000000.0
    >>> check_seconds("cache_ttl", float("nan"))
    Traceback (most recent call last):
    ValueError: cache_ttl must be a number of seconds, 0 or more, got nan
    >>> check_seconds("timeout", "5")
    Traceback (most recent call last):
    TypeError: timeout must be a number of seconds, got the text '5'; write timeout=5
    """
    seconds = check_number(what, value, " of seconds")
    if above_zero and seconds <= 0:
        raise ValueError(
            f"{what} must be more than 0 seconds, got {_shown(value)}; leave it out for the default"
        )
    if not seconds >= least:  # also refuses NaN
        raise ValueError(f"{what} must be a number of seconds, 0 or more, got {_shown(value)}")
    return max(min(seconds, _LONGEST), -_LONGEST)


def check_text(what: str, value: Any) -> str:
    """The text `value`; raises if it is none.

    >>> check_text("source", ["tools", "mcps"])
    Traceback (most recent call last):
    TypeError: source must be text, got list; leave it out for all
    >>> check_text("run", "\\ud800")
    Traceback (most recent call last):
    ValueError: run must be Unicode text, got '\\ud800' with a lone surrogate
    """
    if not isinstance(value, str):
        kind = type(cast("object", value)).__name__
        several = "; leave it out for all" if kind in ("list", "tuple", "set") else ""
        raise TypeError(f"{what} must be text, got {kind}{several}")
    # A text that comes from bytes that are no UTF-8. The core has no such texts.
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError(f"{what} must be Unicode text, got {value[:80]!a} with a lone surrogate")
    return value


def check_texts(what: str, value: Any) -> list[str]:
    """The texts in `value`, which is not a text itself.

    >>> check_texts("args", "--verbose")
    Traceback (most recent call last):
    TypeError: args must be a list of texts, got str
    """
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise TypeError(f"{what} must be a list of texts, got {type(value).__name__}")
    return [check_text(f"each of {what}", text) for text in cast("Iterable[Any]", value)]


def check_path(what: str, value: Any, hint: str = "") -> None:
    """Raise unless `value` is a path. An empty one would be the working directory.

    >>> check_path("folder", None)
    Traceback (most recent call last):
    TypeError: folder must be a path, got NoneType
    >>> check_path("folder", "")
    Traceback (most recent call last):
    ValueError: folder must be a path, got an empty text; '.' is the working directory
    """
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{what} must be a path, got {type(value).__name__}{hint if callable(value) else ''}")
    if not os.fspath(cast("str | os.PathLike[str]", value)):
        raise ValueError(f"{what} must be a path, got an empty text; '.' is the working directory")


def check_switch(what: str, value: Any) -> None:
    """Raise unless `value` is True or False: what permits something must not be truthy by accident.

    >>> check_switch("allow_scripts", "false")
    Traceback (most recent call last):
    TypeError: allow_scripts must be True or False, got str
    """
    if not isinstance(value, bool):
        raise TypeError(f"{what} must be True or False, got {type(value).__name__}")


def check_callable(what: str, value: Any) -> None:
    """Raise unless `value` is a function.

    >>> check_callable("elicitation", 5)
    Traceback (most recent call last):
    TypeError: elicitation must be a function, got int
    """
    if not callable(value):
        raise TypeError(f"{what} must be a function, got {type(value).__name__}")


def check_mapping(what: str, value: Any) -> dict[str, Any]:
    """The members of `value`; raises unless it is a mapping.

    >>> check_mapping("meta", [1])
    Traceback (most recent call last):
    TypeError: meta must be a mapping, got list
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} must be a mapping, got {type(value).__name__}")
    return dict(cast("Mapping[str, Any]", value))


def if_given(check: Callable[..., T], what: str, value: Any, *more: Any, **options: Any) -> T | None:
    """What a check gives for `value`; None for None.

    >>> if_given(check_whole, "limit", 5, 0), if_given(check_whole, "limit", None, 0)
    (5, None)
    """
    return None if value is None else check(what, value, *more, **options)


def _shown(number: Any) -> str:
    # Python refuses to write whole numbers with thousands of digits.
    is_long = isinstance(number, int) and abs(number) >= 10**30
    return f"{'-' if number < 0 else ''}10**{int(math.log10(abs(number)))}" if is_long else str(number)


def _got(what: str, value: Any) -> str:
    if not isinstance(value, str):
        return f"got {type(value).__name__}"
    try:
        number = f"{float(value):g}"
    except ValueError:
        return f"got the text {value!r}"
    return f"got the text {value!r}; write {what}={number}"
