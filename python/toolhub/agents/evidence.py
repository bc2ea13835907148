"""Answers against the record: every number, date, quotation, address and deed of an answer is looked up in what happened."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from ..kit import readable
from ..ledger import LedgerRow
from .cells import wrong_amounts, wrong_cells, wrong_keys
from .comparisons import wrong_comparisons
from .deeds import succeeded, undone
from .derived import HEDGED, NEAR, Figures, nothing_there, spelt_as_digits
from .entries import Known
from .facts import Date, dates_of, numbers_of, quotations_of, references_of, times_of
from .figures import parts
from .kinds import wrong_kinds
from .lookups import KnownDates, KnownTimes
from .measures import Measure, compounds, durations, measures_in, measures_of
from .names import unknown_names
from .outcomes import claimed_anyway
from .prose import said_in
from .readings import unread
from .relations import exchanged, misattributed, turned_round
from .statements import mismatched, opposite
from .states import States

_MEASURES = 200
"""Numbers with units that are compared with one another."""

_TIMES = 12
"""Times of day between which an answer may tell how long something takes."""

_LISTS = 20
"""Lists of records whose members are told apart."""

_THERE_IS = re.compile(
    r"\b(?:there (?:is|are|was|were)|(?:I|we) found|(?:it|they) (?:has|have)) (?:an?|one|two|three|some|several|many|\d+)\b",
    re.I,
)


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
        keyed = [one for record in self._records for one in measures_in(record.get("result"))]
        lasting = durations([time for time, _ in times_of(self._text)][:_TIMES])
        for measure in (*told, *(whole for whole, _ in compounds(self._text, told)), *keyed, *lasting):
            self._measures.setdefault(measure.number, []).append(measure)
        self._figures = Figures(
            self._records, self._text, question, {float(date.year) for date in dates if date.year}
        )
        self._good = [record for record in self._records if succeeded(record)]
        self._results = Known(self._good)

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
        converted, wrong = self._measured(spelt_as_digits(answer))
        yield from (f"The unit of {written} is not that of the results." for written in wrong)
        unknown = list(self._figures.unknown(answer, converted))
        yield from (f"The number {written} is not in the results." for written in unknown)
        if self._good:
            yield from self._untold(answer, unknown)
        deeds = list(undone(answer, self._records, self._names()))
        yield from deeds
        for said, tool in () if deeds else claimed_anyway(answer, self._records):
            yield f"The answer says {said!r}, but the call did not succeed ({tool})."

    def _names(self) -> list[str]:
        """The names of entries that consist of several words."""
        found = {name for group in self._results.groups for name in group.owners}
        return [name for name in found if re.fullmatch(r"[\w'-]+(?: [\w'-]+){1,3}", name)]

    def _untold(self, answer: str, unknown: list[str]) -> Iterator[str]:
        """Sentences about what an answer says otherwise than the results; `unknown` are numbers that are told already."""
        texts = [_text(record.get("result")) for record in self._good]
        tools = " ".join(
            str(record.get(part) or "") for record in self._records for part in ("tool", "title")
        )
        known = self._results
        said, digits = said_in(answer), spelt_as_digits(answer)
        in_digits = said if digits == answer else said_in(digits)
        for name in dict.fromkeys(unknown_names(answer, f"{self._text}\n{tools}")):
            yield f"The name {name} is not in the results."
        told = list(opposite(answer, texts))
        yield from (f"The results say the opposite: {one!r}" for one in told)
        instead = itertools.chain(
            ()
            if told
            else States(known, "\n".join(texts).lower()).wrong(
                [clause for clause in in_digits if not any(one in clause.text for one in unknown)]
            ),
            turned_round(said, known),
            exchanged(said, known),
            misattributed(said, list(quotations_of(answer)), known),
            wrong_amounts(digits, known),
            wrong_keys(in_digits, known),
            wrong_kinds(said, f"{self._text}\n{tools}"),
        )
        yield from (f"The answer says {one!r}, but the results say {other!r}." for one, other in instead)
        for clause in wrong_comparisons(answer, known):
            yield f"The numbers of the results do not support {clause!r}."
        lists = [[entry.row() for entry in group.entries] for group in known.groups]
        for one, two in dict.fromkeys((*wrong_cells(said, known), *mismatched(answer, lists[:_LISTS]))):
            yield f"{one!r} and {two!r} do not belong together in the results."
        for one in unread(answer, self._good):
            yield f"The answer says {one!r}, but no call did that."
        if nothing_there(self._good):
            for clause in said:
                if clause.says and _THERE_IS.search(clause.text):
                    yield f"The answer says {clause.text!r}, but the results are empty."

    def _has_date(self, date: Date) -> bool:
        if self._dates.has(date):
            return True
        year = date.year is None or self._figures.is_year(date.year)
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
            hedged = HEDGED.search(answer[max(0, measure.at - 30) : measure.at]) is not None
            if any(measure.is_same(other) or (hedged and measure.is_near(other, NEAR)) for other in every):
                converted.add(measure.number)
            elif measure.number in self._measures and self._is_of_other_kind(measure):
                wrong.append(measure.written)
        return converted, wrong

    def _is_of_other_kind(self, measure: Measure) -> bool:
        """Whether the results have the number only with other units."""
        known = self._measures[measure.number]
        bare = [number for number, _ in numbers_of(self._text)].count(measure.number) - len(known)
        return any(other.kind == measure.kind for other in known) or bare <= 0


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
        return {"result": _plain(given), "success": True}
    record = dict(cast("Mapping[str, Any]", given))
    record |= {part: _plain(record[part]) for part in ("arguments", "result") if part in record}
    arguments: Any = record.get("arguments")
    if isinstance(arguments, str) and arguments.startswith("sha256:"):
        # A row of the ledger has a digest, whose digits prove nothing.
        record["arguments"] = None
    meta: Any = record.get("_meta")
    if isinstance(meta, Mapping) and "tool" not in record:
        record["tool"] = cast("Mapping[str, Any]", meta).get("tool")
    return record


def _plain(value: Any) -> Any:
    """A value that can be written down; of another one, such as a very deep one, the texts in it."""
    try:
        json.dumps(value, default=str)
    except Exception:  # whatever its objects raise
        return _text(value)
    return value


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
