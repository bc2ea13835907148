"""Answers against the record: every number, date, quotation, address and deed of an answer is looked up in what happened."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from ..kit import readable
from ..ledger import LedgerRow
from .deeds import undone
from .facts import Date, dates_of, numbers_of, quotations_of, references_of, times_of
from .figures import SMALL, counts, made_of, parts, same, shares, totals
from .lookups import KnownDates, KnownNumbers, KnownTimes
from .measures import Measure, compounds, measures_in, measures_of
from .statements import mismatched, opposite, rows_in

_GLUED = re.compile(r"(?<![A-Za-z\d_])[A-Za-z]{1,3}(\d++(?:\.\d++)?+)(?![\w.]*\w)")

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
        told = list(measures_of(self._text))
        keyed = (one for record in self._records for one in measures_in(record.get("result")))
        for measure in (*told, *(whole for whole, _ in compounds(self._text, told)), *keyed):
            self._measures.setdefault(measure.number, []).append(measure)
        stated = {number for number, _ in numbers_of(self._text)}
        glued = {float(one) for one in _GLUED.findall(self._text)}
        counted = set(counts(self._records))
        added = {total for record in self._records for total in totals(record.get("result"))}
        self._years = {float(date.year) for date in dates if date.year}
        self._known = KnownNumbers(
            stated | glued | counted | added | self._years | {float(len(self._records))}
        )
        # The number of a ticket is a name; nobody calculates with it.
        self._base = (
            {number for number, _ in numbers_of(_NAMED.sub(" ", self._text))} | glued | counted - {0.0, 1.0}
        )
        self._parts = {part for record in self._records for part in shares(record.get("result"))}

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
        lists = [
            rows
            for record in self._records
            for value in parts(record.get("result"))
            if (rows := rows_in(value))
        ]
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
        said = list(measures_of(answer))[:_MEASURES]
        for whole, part_of in compounds(answer, said):
            if any(whole.is_same(other) for other in every):
                converted.update(one.number for one in part_of)
        for measure in said:
            if measure.number in converted:
                continue
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
        if any(same(number, part, precision) for part in itertools.islice(self._parts, _PAIRS)):
            return True
        if len(self._base) > _PAIRS:
            return False
        # Of small counts almost any number can be made, so only what is left of them or what they are together counts.
        is_count = abs(number) <= SMALL and number == int(number)
        made = (one for one in made_of(self._base, is_count) if same(number, one, precision))
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
        str(key) for one in parts(value) if isinstance(one, Mapping) for key in cast("Mapping[Any, Any]", one)
    ]
    leaves = [
        readable(one)
        for one in parts(value)
        if one is not None and not isinstance(one, (Mapping, list, tuple))
    ]
    return "\n".join([*keys, *leaves])


def _flat(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
