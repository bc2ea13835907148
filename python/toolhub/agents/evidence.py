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
from .lookups import KnownDates, KnownNumbers, KnownTimes
from .measures import Measure, measures_of
from .statements import mismatched, opposite, rows_in

_GLUED = re.compile(r"(?<![A-Za-z\d_])[A-Za-z]{1,3}(\d++(?:\.\d++)?+)(?![\w.]*\w)")
_SMALL = 12
_PAIRS = 40
"""Numbers of the evidence up to which an answer may state what two of them make together."""

_MEASURES = 200
"""Numbers with units that are compared with one another."""

_LISTS = 20
"""Lists of records whose members are told apart."""

_NAMED = re.compile(r"\b[A-Za-z]+-\d+\b")


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
        self._low, self._flat = self._text.lower(), _flat(self._text)
        dates = [date for date, _ in dates_of(self._text)]
        self._dates, self._times = KnownDates(dates), KnownTimes(time for time, _ in times_of(self._text))
        self._measures: dict[float, list[Measure]] = {}
        for measure in measures_of(self._text):
            self._measures.setdefault(measure.number, []).append(measure)
        stated = {number for number, _ in numbers_of(self._text)}
        glued = {float(one) for one in _GLUED.findall(self._text)}
        counted = set(_counts(self._records))
        totals = {total for record in self._records for total in _totals(record.get("result"))}
        self._years = {float(date.year) for date in dates if date.year}
        self._known = KnownNumbers(stated | glued | counted | totals | self._years | {float(len(self._records))})
        # The number of a ticket is a name; nobody calculates with it.
        self._base = {number for number, _ in numbers_of(_NAMED.sub(" ", self._text))} | glued | counted - {0.0, 1.0}
        self._parts = {part for record in self._records for part in _shares(record.get("result"))}

    def unsupported(self, answer: str) -> Iterator[str]:
        """Sentences about the claims of an answer that nothing supports."""
        for quoted in quotations_of(answer):
            if _flat(quoted) not in self._flat:
                yield f"The quotation {quoted!r} is not in the results."
        for written in references_of(answer):
            if written.lower() not in self._low:
                yield f"The address or file {written} is not in the results."
        for date, written in dates_of(answer):
            if not self._has_date(date):
                yield f"The date {written} is not in the results."
        for time, written in times_of(answer):
            if not self._times.has(time):
                yield f"The time {written} is not in the results."
        converted, wrong = self._measured(answer)
        yield from (f"The unit of {written} is not that of the results." for written in wrong)
        for number, written in dict.fromkeys(numbers_of(answer)):
            if number not in converted and not self._has_number(number, written):
                yield f"The number {written} is not in the results."
        results = [_text(record.get("result")) for record in self._records]
        yield from (f"The results say the opposite: {told!r}" for told in opposite(answer, results))
        lists = [rows for record in self._records for value in _parts(record.get("result")) if (rows := rows_in(value))]
        for one, two in mismatched(answer, lists[:_LISTS]):
            yield f"{one!r} and {two!r} do not belong together in the results."
        yield from undone(answer, self._records)

    def _has_date(self, date: Date) -> bool:
        if self._dates.has(date):
            return True
        year = date.year is None or self._known.has(float(date.year), 0)
        return date.day is None and year and date.month in self._dates.months

    def _measured(self, answer: str) -> tuple[set[float], list[str]]:
        """The numbers of an answer that are known in another unit, and the measures with a unit that is wrong."""
        converted: set[float] = set()
        wrong: list[str] = []
        every = [measure for measures in self._measures.values() for measure in measures][:_MEASURES]
        for measure in list(measures_of(answer))[:_MEASURES]:
            if any(measure.is_same(other) for other in every):
                converted.add(measure.number)
            elif any(other.kind == measure.kind for other in self._measures.get(measure.number, ())):
                wrong.append(measure.written)
        return converted, wrong

    def _has_number(self, number: float, written: str) -> bool:
        decimals = re.search(r"\.(\d+)", written)
        precision = len(decimals.group(1)) if decimals else 0
        if self._known.has(number, precision):
            return True
        # A round figure: 2.1 million for 2,102,650, or 350,000 for 350,826.
        digits = re.sub(r"[^\d.]", "", written)
        last = 10.0**-precision if precision else 10.0 ** (len(digits) - len(digits.rstrip("0")))
        unit = last * (number / float(digits) if digits and float(digits) else 1.0)
        if unit >= 100 and self._known.near(number, unit / 2):
            return True
        if any(_same(number, part, precision) for part in itertools.islice(self._parts, _PAIRS)):
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
                # How many of them are alike: the failed ones among the jobs.
                alike = Counter(
                    (key, one)
                    for row in rows_in(value)
                    for key, one in row.items()
                    if isinstance(one, (str, bool)) and len(str(one)) < 40
                )
                yield from (float(count) for count in alike.values())


def _totals(result: Any) -> Iterator[float]:
    """The sum and the mean of the numbers of each list."""
    for value in _parts(result):
        if isinstance(value, (list, tuple)):
            inner = [
                one for one in _parts(value) if isinstance(one, (int, float)) and not isinstance(one, bool)
            ]
            if len(inner) > 1:
                yield from (float(sum(inner)), float(sum(inner)) / len(inner))


def _shares(result: Any) -> Iterator[float]:
    """The sum of the numbers of one record, and each as a share of it in percent."""
    for value in _parts(result):
        if isinstance(value, Mapping):
            members = cast("Mapping[Any, Any]", value).values()
            inner = [one for one in members if isinstance(one, (int, float)) and not isinstance(one, bool)]
            total = float(sum(inner)) if 1 < len(inner) < _SMALL and all(map(_is_usual, inner)) else 0.0
            if total:
                yield from (total, *(100 * one / total for one in inner))


def _is_usual(number: float) -> bool:
    return abs(number) < 1e15


def _parts(value: Any, depth: int = 0) -> Iterator[Any]:
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
            yield from _parts(one, depth + 1)


def _made_of(known: set[float], is_count: bool) -> Iterator[float]:
    """What two numbers make: sum and difference of alike ones; for a number that is no small count, also other things."""
    for one, two in itertools.permutations(known, 2):
        alike = is_count or (abs(one) > _SMALL and abs(two) > _SMALL)
        if alike:
            yield from (one + two, one - two)
        if not is_count and two:
            yield from (one / two, 100 * one / two, abs(100 * (one - two) / two))
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
