"""The numbers of a result: how many there are of something, what they add up to, and what two of them make."""

import contextlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

SMALL = 12
"""Up to this, a number counts things."""

_LINES = 100
_COUNTED = re.compile(r"(?:^|, |and )(\d[\d,]{0,12}) [a-z]+(?=,| and|$| in )")


def counts(records: list[Mapping[str, Any]]) -> Iterator[float]:
    """How many there are of something: calls of a tool, items of a list, lines of a text."""
    tools = [str(record.get("tool")) for record in records]
    yield from (float(tools.count(tool)) for tool in set(tools))
    ends = Counter((str(record.get("tool")), bool(record.get("error"))) for record in records)
    yield from (float(count) for count in ends.values())
    for record in records:
        for value in parts(record.get("result")):
            if isinstance(value, str):
                lines = len([line for line in value.splitlines() if line.strip()])
                yield from (float(lines), float(lines - 1)) if lines > 1 else ()
            elif isinstance(value, Mapping):
                members = list(cast("Mapping[Any, Any]", value).values())
                # Members of one type are things of one kind, such as services and their states.
                yield from (float(len(members)),) if len(set(map(type, members))) == 1 else ()
            elif isinstance(value, (list, tuple)):
                yield float(len(cast("list[Any]", value)))
                # How many of them are alike: the failed ones among the jobs.
                alike = Counter(
                    (key, one)
                    for row in rows_in(value)
                    for key, one in row.items()
                    if isinstance(one, (str, bool)) and len(str(one)) < 40
                )
                yield from (float(count) for count in alike.values())


def totals(result: Any) -> Iterator[float]:
    """The sum and the mean of the numbers of each list; what a line counts, "3 passed, 1 failed", together."""
    for value in parts(result):
        if isinstance(value, str):
            for line in value.splitlines()[:_LINES]:
                counted = [float(one.replace(",", "")) for one in _COUNTED.findall(line)]
                yield from (sum(counted),) if len(counted) > 1 else ()
        if isinstance(value, (list, tuple)):
            inner = [
                one for one in parts(value) if isinstance(one, (int, float)) and not isinstance(one, bool)
            ]
            if len(inner) > 1:
                yield from (float(sum(inner)), float(sum(inner)) / len(inner))


def shares(result: Any) -> Iterator[float]:
    """The sum of the numbers of one record, and each as a share of it in percent."""
    for value in parts(result):
        if isinstance(value, Mapping):
            members = cast("Mapping[Any, Any]", value).values()
            inner = [one for one in members if isinstance(one, (int, float)) and not isinstance(one, bool)]
            total = float(sum(inner)) if 1 < len(inner) < SMALL and all(map(_is_usual, inner)) else 0.0
            if total:
                yield from (total, *(100 * one / total for one in inner))


def _is_usual(number: float) -> bool:
    return abs(number) < 1e15


def parts(value: Any, depth: int = 0) -> Iterator[Any]:
    """A value and everything in it; text that is JSON is read."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        # Text that is nested too deeply stays text.
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(value)
    yield value
    if depth < 30:
        inner: Iterable[Any] = ()
        if isinstance(value, Mapping):
            inner = cast("Mapping[Any, Any]", value).values()
        elif isinstance(value, (list, tuple)):
            inner = cast("list[Any]", value)
        for one in inner:
            yield from parts(one, depth + 1)


def made_of(known: set[float], is_count: bool, percent: str | None) -> Iterator[float]:
    """What two numbers make: sum and difference of alike ones; for a number that is no small count, also other things.

    `percent` is None, `share`, or `change`, which may be a share too.
    """
    for one, two in itertools.permutations(known, 2):
        alike = is_count or (abs(one) > SMALL and abs(two) > SMALL)
        if alike:
            yield from (one + two, one - two)
        if not is_count and two:
            yield one / two
            yield from (100 * one / two,) if percent else ()
            yield from (abs(100 * (one - two) / two),) if percent == "change" else ()
            if two == int(two) and two > 1:
                yield one * two


def same(claimed: float, known: float, precision: int) -> bool:
    """Whether a number is the known one, perhaps rounded to the digits that it is written with."""
    if claimed == known:
        return True
    is_whole = known == int(known) if abs(known) < 1e300 else True
    return not is_whole and abs(claimed - known) <= 0.5 * 10.0**-precision + 1e-9


def rows_in(value: Any) -> list[Mapping[str, Any]]:
    """The records of a list, if it is one of records."""
    if not isinstance(value, (list, tuple)):
        return []
    entries = cast("list[Any]", value)
    return [cast("Mapping[str, Any]", one) for one in entries if isinstance(one, Mapping)]
