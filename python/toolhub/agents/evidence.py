"""Answers against the record: five checks of what an answer says, each of which is right or silent.

What is recorded is cut and its blanks collapsed before any pattern reads it; in what was cut off nothing is missed.
"""

import contextlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from ..kit import Message, in_digits, readable
from ..ledger import LedgerRow
from .action_claims import Call, undone
from .facts import Date, collapsed, dates_of, numbers_of, quotations_of, references_of, times_meant, times_of
from .number_sources import Figures

ANSWER = 50_000
"""Characters of an answer that are checked."""

_RECORD, _ALL = 100_000, 400_000
"""Characters of one record, and of all records, that are read."""

_NODES = 20_000
"""Values of one record that are read."""

_PAIRS = 12
"""Dates and times between which an answer may tell how long something takes."""

_ASKS = re.compile(r"(?i)^(?:is|are|was|were|do|does|did|ha[sd]|have|will)\b(?! you\b)|吗|是不是|是否|对不对")
_COMPARES = "no|not|than|below|under|above|over|least|most|within|almost|about"
_DENIES = re.compile(rf"(?i)\b(?:{_COMPARES})\b|n['’]t\b|[不没非未超低高多少近约内]")
"""Where a sentence denies or compares, a number in it may be one of the question."""

_NUMBER, _DATE, _TIME = (
    "The number {} is not in the results.",
    "The date {} is not in the results.",
    "The time {} is not in the results.",
)
_VALUES: dict[str, Callable[[str], Iterator[tuple[Any, str]]]] = {
    _NUMBER: numbers_of,
    _DATE: lambda text: ((date[1:], written) for date, written in dates_of(text)),
    _TIME: lambda text: (((time[0] % 12, time[1]), written) for time, written in times_of(text)),
}


class Evidence:
    """What happened: the records of calls, and what the user said.

    A record is a mapping with `tool`, `arguments`, `result`, and `success` or `state` (`done`, `failed`, `unknown`, as in the
    ledger of a hub); the result of a call or of a step, or a plain text, is one too. `go_on` is called between the parts of
    the work; what it raises ends it.

    >>> evidence = Evidence([{"tool": "get_weather", "arguments": {"city": "Oslo"}, "result": {"temp": 7.4}}])
    >>> list(evidence.unsupported("It is 7.4 degrees in Oslo.")), list(evidence.unsupported("It is 9 degrees."))
    ([], ['The number 9 is not in the results.'])
    """

    def __init__(
        self, records: Iterable[Any], question: str = "", *, go_on: Callable[[], None] = lambda: None
    ) -> None:
        self._go_on = go_on
        self._question = collapsed(question, ANSWER)
        self._calls: list[Call] = []
        values: list[Any] = []
        texts = [self._question]
        self.is_cut = len(question) > ANSWER
        ends: Counter[tuple[str, bool]] = Counter()
        for record in map(_record, records):
            go_on()
            reader = _Reader(min(_RECORD, max(0, _ALL - sum(map(len, texts)))))
            read = {part: reader.read(record.get(part)) for part in ("arguments", "result", "error")}
            texts.append("\n".join(filter(None, reader.texts)))
            self.is_cut = self.is_cut or reader.is_cut
            self._calls.append(Call.of({**record, **read}, texts[-1]))
            ends[str(record.get("tool")), self._calls[-1].is_done] += 1
            values.append(read["result"])
        self.text = "\n".join(filter(None, texts))
        go_on()
        self._low, self._flat = self.text.lower(), _flat(self.text)
        digits, asked = in_digits(self.text), in_digits(self._question)
        self._results = digits[len(asked) :]
        dates = {date for date, _ in dates_of(digits)}
        self._dates, self._undated = _variants(dates), _variants(date for date in dates if date.year is None)
        self._days = sorted(filter(None, (date.as_day() for date in dates)))
        times = list(times_of(digits))
        self._times = {time for time, _ in times}
        meant = {one for time in times for one in times_meant(*time)}
        # An answer may leave out the seconds.
        self._clock = meant | {(hours, minutes, 0) for hours, minutes, _ in meant}
        go_on()
        counts = map(float, (len(self._calls), *ends.values(), *(date.year or 0 for date in dates)))
        self._figures = Figures(digits, values, asked, [*counts, *self._spans()])

    def unsupported(self, answer: str) -> Iterator[str]:
        """Sentences about the claims of an answer that nothing supports."""
        answer = collapsed(answer, ANSWER)
        unknown = () if self.is_cut else self._unknown(answer)
        for issue in itertools.chain(unknown, undone(answer, self._calls, self._question)):
            self._go_on()
            yield issue

    def _unknown(self, answer: str) -> Iterator[str]:
        for quoted in quotations_of(answer):
            if _flat(quoted) not in self._flat:
                yield Message("The quotation {} is not in the results.", repr(quoted))
        for written in references_of(answer):
            low = written.lower().rstrip("/")
            # A folder and the name of a file in it may be in different places.
            parts = [low] if "://" in low else low.rsplit("/", 1)
            if low not in self._low and ("" in parts or not all(part in self._low for part in parts)):
                yield Message("The address or file {} is not in the results.", written)
        answer = in_digits(answer)
        yield from self._only_asked(answer)
        for date, written in dates_of(answer):
            if not self._has_date(date):
                yield Message(_DATE, written)
        for time, written in times_of(answer):
            if not times_meant(time, written) & self._clock:
                yield Message(_TIME, written)
        yield from self._figures.wrong(answer)

    def _only_asked(self, answer: str) -> Iterator[str]:
        """Sentences about values that the question asks about and the answer confirms, where the results have others."""
        if not _ASKS.search(self._question) or _DENIES.search(self._question + answer):
            return
        asked = in_digits(self._question)
        for unknown, read in _VALUES.items():
            said, known = dict(read(answer)), dict(read(self._results))
            for value, written in said.items():
                others = [one for one in known if unknown != _NUMBER or value / 2 < one < value * 2]
                if value in dict(read(asked)) and value not in known and others:
                    yield Message(unknown, written)

    def _has_date(self, date: Date) -> bool:
        """Whether a known date may be this one, or is a known number of days away from it."""
        if date in self._dates or date._replace(year=None) in self._undated:
            return True
        if date.day is None and date.year is not None:
            return date._replace(year=None) in self._dates and self._figures.known.is_near(date.year)
        near = self._days[:_PAIRS] if date.day is not None else ()
        ours = ((date._replace(year=date.year or one.year).as_day(), one) for one in near)
        return any(day is not None and abs((day - one).days) in self._figures.days for day, one in ours)

    def _spans(self) -> Iterator[float]:
        """The days between dates, and the minutes and hours between times."""
        for one, two in itertools.combinations(self._days[:_PAIRS], 2):
            yield from (float((two - one).days), float((two - one).days + 1))
        for before, after in itertools.combinations(sorted(self._times)[:_PAIRS], 2):
            minutes = 60 * (after[0] - before[0]) + after[1] - before[1]
            yield from (float(minutes), minutes / 60, float(minutes // 60), float(minutes % 60))


class _Reader:
    """Reads values up to a number of characters: plain copies of them, and their texts and keys."""

    def __init__(self, room: int) -> None:
        self._room, self._nodes = room, _NODES
        self.texts: list[str] = []
        self.is_cut = False

    def read(self, value: Any, depth: int = 30) -> Any:
        """A copy of a value: texts with single blanks, JSON texts as what they hold."""
        self._nodes -= 1
        if self._nodes < 0 or depth < 0:
            self.is_cut = True
            return None
        if isinstance(value, Mapping):
            items = itertools.islice(cast("Mapping[Any, Any]", value).items(), self._nodes + 1)
            return {self._text(str(key)): self.read(one, depth - 1) for key, one in items}
        if isinstance(value, (list, tuple)):
            parts = itertools.islice(cast("list[Any]", value), self._nodes + 1)
            return [self.read(one, depth - 1) for one in parts if self._nodes >= 0]
        if isinstance(value, str):
            if value[:1] in ("[", "{") and len(value) <= self._room:
                # Text that is nested too deeply stays text.
                with contextlib.suppress(ValueError, RecursionError):
                    return self.read(json.loads(value), depth - 1)
            return self._text(value)
        if value is not None:
            with contextlib.suppress(Exception):  # whatever its objects raise
                self._text(readable(value))
        return value if isinstance(value, (int, float)) else None

    def _text(self, text: str) -> str:
        self.is_cut = self.is_cut or len(text) > self._room
        text = collapsed(text, self._room)
        self._room -= len(text)
        self.texts.append(text)
        return text


def _variants(dates: Iterable[Date]) -> set[Date]:
    """All dates that say the same as these, or less."""
    return {Date(y, date.month, d) for date in dates for y in (date.year, None) for d in (date.day, None)}


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
    kept = (cast("Mapping[str, Any]", row.result if isinstance(row.result, Mapping) else {}) for row in more)
    rest = ({"tool": row.tool, "state": row.state, "error": row.error} for row in more)
    return [{**row, "result": one.get("result")} for row, one in zip(rest, kept, strict=True)]


def _record(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        return {"result": given, "success": True}
    record = dict(cast("Mapping[str, Any]", given))
    if str(record.get("arguments"))[:7] == "sha256:":
        # A row of the ledger has a digest, whose digits prove nothing.
        record["arguments"] = None
    if isinstance(record.get("_meta"), Mapping):
        record.setdefault("tool", record["_meta"].get("tool"))
    return record


def _flat(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
