"""Answers against the record: every number, date, quotation, address and deed of an answer is looked up in what happened."""

import contextlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from ..kit import readable
from ..ledger import LedgerRow
from .deeds import undone
from .facts import Date, dates_of, numbers_of, quotations_of, references_of, times_of

_GLUED = re.compile(r"(?<![A-Za-z\d_])[A-Za-z]{1,3}(\d++(?:\.\d++)?+)(?![\w.]*\w)")
_SMALL = 12
_PAIRS = 40
"""Numbers of the evidence up to which an answer may state what two of them make together."""


class Evidence:
    """What happened: the records of calls, and what the user said.

    A record is a mapping with `tool`, `arguments`, `result`, and `success` or `state` (`done`, `failed`, `unknown`, as in the
    ledger of a hub); the result of a call or of a step, or a plain text, is one too.

    >>> evidence = Evidence([{"tool": "get_weather", "arguments": {"city": "Oslo"}, "result": {"temp": 7.4}}])
    >>> list(evidence.unsupported("It is 7.4 degrees in Oslo.")), list(evidence.unsupported("It is 9 degrees."))
    ([], ['The number 9 is not in the results.'])
    """

    def __init__(self, records: Iterable[Any], question: str = "") -> None:
        self._records = [_record(one) for one in records]
        texts = [question]
        for record in self._records:
            texts += [_text(record.get(part)) for part in ("arguments", "result", "error")]
        self._text = "\n".join(text for text in texts if text)
        self._flat = _flat(self._text)
        self._dates = [date for date, _ in dates_of(self._text)]
        self._times = {time for time, _ in times_of(self._text)}
        stated = {number for number, _ in numbers_of(self._text)} | {
            float(one) for one in _GLUED.findall(self._text)
        }
        counted = set(_counts(self._records))
        years = {float(date.year) for date in self._dates if date.year}
        self._numbers = stated | counted | years | {float(len(self._records))}
        self._base = stated | counted - {0.0, 1.0}
        self._totals = {total for record in self._records for total in _totals(record.get("result"))}

    def unsupported(self, answer: str) -> Iterator[str]:
        """Sentences about the claims of an answer that nothing supports."""
        for quoted in quotations_of(answer):
            if _flat(quoted) not in self._flat:
                yield f"The quotation {quoted!r} is not in the results."
        for written in references_of(answer):
            if written.lower() not in self._text.lower():
                yield f"The address or file {written} is not in the results."
        for date, written in dates_of(answer):
            if not self._has_date(date):
                yield f"The date {written} is not in the results."
        for time, written in times_of(answer):
            if not self._has_time(time):
                yield f"The time {written} is not in the results."
        for number, written in dict.fromkeys(numbers_of(answer)):
            if not self._has_number(number, written):
                yield f"The number {written} is not in the results."
        yield from undone(answer, self._records)

    def _has_date(self, date: Date) -> bool:
        if any(date.fits(other) and (other.day is not None or date.day is None) for other in self._dates):
            return True
        year = date.year is None or float(date.year) in self._numbers
        return date.day is None and year and any(other.month == date.month for other in self._dates)

    def _has_time(self, time: tuple[int, int, int]) -> bool:
        hours, minutes, seconds = time
        halves = {hours, (hours + 12) % 24} if hours <= 12 else {hours}
        return any(h in halves and m == minutes and (s == seconds or seconds == 0) for h, m, s in self._times)

    def _has_number(self, number: float, written: str) -> bool:
        known = self._numbers | self._totals
        decimals = re.search(r"\.(\d+)", written)
        precision = len(decimals.group(1)) if decimals else 0
        if any(_same(number, other, precision) for other in known):
            return True
        # A round figure: 2.1 million for 2,102,650, or 350,000 for 350,826.
        digits = re.sub(r"[^\d.]", "", written)
        last = 10.0**-precision if precision else 10.0 ** (len(digits) - len(digits.rstrip("0")))
        unit = last * (number / float(digits) if digits and float(digits) else 1.0)
        if unit >= 100 and any(abs(number - other) <= unit / 2 for other in known):
            return True
        if len(self._base) > _PAIRS:
            return False
        # Of small counts almost any number can be made, so only what is left of them or what they are together counts.
        is_count = abs(number) <= _SMALL and number == int(number)
        made = (one for one in _made_of(self._base, is_count) if _same(number, one, precision))
        return any(precision or abs(one - number) <= 0.01 * abs(number) for one in made)


def unseen(records: Iterable[Any], rows: Iterable[LedgerRow]) -> list[dict[str, Any]]:
    """Records of the rows of a ledger that are not among the records of the same calls: more calls of a tool than these tell.

    >>> unseen([], [])
    []
    """
    told = Counter(str(_record(one).get("tool")) for one in records)
    by_tool: dict[str, list[LedgerRow]] = {}
    for row in rows:
        by_tool.setdefault(row.tool, []).append(row)
    # The newest ones are those that the records tell.
    more = [row for tool, all_of in by_tool.items() for row in all_of[: max(0, len(all_of) - told[tool])]]
    return [
        {"tool": row.tool, "state": row.state, "result": _given(row.result), "error": row.error}
        for row in more
    ]


def _given(kept: Any) -> Any:
    """The value in what a run has kept of a call."""
    return cast("Mapping[str, Any]", kept).get("result") if isinstance(kept, Mapping) else None


def _record(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        return {"result": given, "success": True}
    record = dict(cast("Mapping[str, Any]", given))
    arguments: Any = record.get("arguments")
    if isinstance(arguments, str) and arguments.startswith("sha256:"):
        # A row of the ledger has a digest, whose digits prove nothing.
        record["arguments"] = None
    meta: Any = record.get("_meta")
    if isinstance(meta, Mapping) and "tool" not in record:
        record["tool"] = cast("Mapping[str, Any]", meta).get("tool")
    return record


def _text(value: Any) -> str:
    """All texts in a value, one to a line; keys too."""
    keys = [
        str(key)
        for one in _parts(value)
        if isinstance(one, Mapping)
        for key in cast("Mapping[Any, Any]", one)
    ]
    leaves = [
        readable(one)
        for one in _parts(value)
        if one is not None and not isinstance(one, (Mapping, list, tuple))
    ]
    return "\n".join([*keys, *leaves])


def _counts(records: list[Mapping[str, Any]]) -> Iterator[float]:
    """How many there are of something: calls of a tool, items of a list, lines of a text."""
    tools = [str(record.get("tool")) for record in records]
    yield from (float(tools.count(tool)) for tool in set(tools))
    for record in records:
        for value in _parts(record.get("result")):
            if isinstance(value, str):
                lines = len([line for line in value.splitlines() if line.strip()])
                yield from (float(lines), float(lines - 1)) if lines > 1 else ()
            elif isinstance(value, (list, tuple)):
                yield float(len(cast("list[Any]", value)))


def _totals(result: Any) -> Iterator[float]:
    """The sum and the mean of the numbers of each list."""
    for value in _parts(result):
        if isinstance(value, (list, tuple)):
            inner = [
                one for one in _parts(value) if isinstance(one, (int, float)) and not isinstance(one, bool)
            ]
            if len(inner) > 1:
                yield from (float(sum(inner)), float(sum(inner)) / len(inner))


def _parts(value: Any, depth: int = 0) -> Iterator[Any]:
    """A value and everything in it; text that is JSON is read."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        with contextlib.suppress(ValueError):
            value = json.loads(value)
    yield value
    if depth < 30:
        inner: Iterable[Any] = ()
        if isinstance(value, Mapping):
            inner = cast("Mapping[Any, Any]", value).values()
        elif isinstance(value, (list, tuple)):
            inner = cast("list[Any]", value)
        for one in inner:
            yield from _parts(one, depth + 1)


def _made_of(known: set[float], is_count: bool) -> Iterator[float]:
    """What two numbers make: sum and difference of alike ones; for a number that is no small count, also other things."""
    for one, two in itertools.permutations(known, 2):
        alike = is_count or (abs(one) > _SMALL and abs(two) > _SMALL)
        if alike:
            yield from (one + two, one - two)
        if not is_count and two:
            yield from (one / two, 100 * one / two, 100 * (one - two) / two)
            if two == int(two) and two > 1:
                yield one * two


def _same(claimed: float, known: float, precision: int) -> bool:
    """Whether a number is the known one, perhaps rounded to the digits that it is written with."""
    if claimed == known:
        return True
    is_whole = known == int(known) if abs(known) < 1e300 else True
    return not is_whole and abs(claimed - known) <= 0.5 * 10.0**-precision + 1e-9


def _flat(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
