"""Numbers of an answer: in the results, rounded, in another unit, or made of them by an operation that the answer states."""

import itertools
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from .facts import Figure, figures_of
from .measures import Measure, measured, measures_of, unit_of_key

_MOST = 60
"""Numbers of the results that are calculated with; of more of them almost any number can be made."""

_MEASURES = 400
"""Measures that are compared with one another."""

_DIGITS = re.compile(r"(?<![\d.])\d{1,15}(?:\.\d{1,15})?(?!\d)")
_OPERATIONS = {
    "sum": r"\b(?:total\w*|sum|together|combined|altogether|in all|overall|plus)\b|共|总|合计|加起来",
    "difference": r"\b(?:(?:more|less|fewer)(?! than [\d$€£])|left|net|by|differ\w*|remain\w*|minus|sav\w+|later|earlier|"
    r"\w+er than)\b|多|少|差|剩|省|余|增|减",
    "ratio": r"\b(?:per|each|times|ratio|average|mean|a (?:day|week|month|year|head))\b|倍|每|平均|率",
    "percent": r"%|\bper ?cent\b|百分|折",
}
"""How a text states an operation."""

_STATED = {name: re.compile(words, re.I) for name, words in _OPERATIONS.items()}
_SENTENCE = re.compile(r"(?<=[.!?]) |(?<=[。！？；\n])")


class Numbers:
    """Numbers, and whether one of them is near a given one."""

    def __init__(self, numbers: Iterable[float]) -> None:
        self._all = sorted({number for number in numbers if math.isfinite(number)})
        self._broken = [number for number in self._all if number != int(number)]

    def has(self, figure: Figure) -> bool:
        """Whether the number is known, perhaps rounded to the digits that it is written with."""
        rounded = min(figure.step / 2, 0.05 * abs(figure.value)) if figure.step >= 100 else 0.0
        return self.is_near(figure.value, rounded) or _near(self._broken, figure.value, figure.step / 2)

    def makes(self, figure: Figure, is_percent: bool) -> bool:
        """Whether the number is one of these, calculated: rounded to its digits, and not further away than 2 %."""
        exact = is_percent or figure.step < 1
        return self.is_near(
            figure.value, min(figure.step / 2, math.inf if exact else 0.02 * abs(figure.value))
        )

    def is_near(self, number: float, distance: float = 0.0) -> bool:
        """Whether a number that is not further away is known."""
        return _near(self._all, number, distance)


def _near(known: list[float], number: float, distance: float) -> bool:
    return bisect_left(known, number - distance - 1e-9) < bisect_right(known, number + distance + 1e-9)


class Figures:
    """The numbers of the results and of the question, and what can be made of them."""

    def __init__(self, text: str, values: list[Any], question: str, more: Iterable[float]) -> None:
        figures = list(figures_of(text))
        columns: dict[Any, list[float]] = {}
        counted: set[float] = set(more)
        for place, value in enumerate(values):
            for part in parts(value):
                counted |= set(_counts(part))
                for key, number in _members(part):
                    columns.setdefault((place, key), []).append(number)
                    columns.setdefault((None, key), []).append(number)
        self._measures = list(measures_of(text, figures))[:_MEASURES]
        keys = ((unit_of_key(key), column) for (place, key), column in columns.items() if place is None)
        self._keyed = [measured(unit, one, 0.0) for unit, column in keys if unit for one in column][
            :_MEASURES
        ]
        self._bare = Counter(one.value for one in figures)
        self._bare.subtract(one.figures[0].value for one in self._measures if len(one.figures) == 1)
        self._base = {one.value for one in figures} - {0.0, 1.0}
        self.known = Numbers(
            counted | {0.0 + one for one in self._bare} | set(map(float, _DIGITS.findall(text)))
        )
        self._asked = {one.value for one in figures_of(question)}
        self._few = len(self._base) <= _MOST
        self._made = {
            name: Numbers(made) for name, made in made_of(self._base if self._few else set()).items()
        }
        self._totals = Numbers(one for (_, key), column in columns.items() for one in _totals(key, column))
        sums = [(math.fsum(column), column) for column in columns.values()]
        self._shares = Numbers(100 * one / total for total, column in sums if total for one in column)
        self.days = {
            round(one.base / 86_400) for one in (*self._measures, *self._keyed) if one.kind == "time"
        } - {0}

    def wrong(self, answer: str) -> Iterator[str]:
        """Sentences about the numbers of an answer that are not there, and about units that are wrong."""
        figures = list(figures_of(answer))
        right: set[Figure] = set()
        misread: set[Figure] = set()
        for measure in sorted(
            list(measures_of(answer, figures))[:_MEASURES], key=lambda one: -len(one.figures)
        ):
            if any(map(measure.is_same, (*self._measures, *self._keyed))) or self._is_size(measure):
                right |= {*measure.figures}
            elif len(measure.figures) == 1 and self._has_other_unit(measure):
                misread |= {*measure.figures}
        yield from (
            f"The unit of {one.written} is not that of the results."
            for one in figures
            if one in misread - right
        )
        stated = (self._asked | {one.value for one in figures}) & self._base
        # Many digits are hardly right by chance, unless small counts are added.
        usual = {one for one in self._base if abs(one) > 12 or one in stated} if self._few else set[float]()
        told, unlikely = _all_of(stated if self._few else set()), _all_of(usual)
        starts = [0, *(found.end() for found in _SENTENCE.finditer(answer)), len(answer) + 1]
        for figure in figures:
            if figure in right | misread or self.known.has(figure):
                continue
            is_percent = (
                _STATED["percent"].search(answer, max(0, figure.start - 4), figure.end + 10) is not None
            )
            if any(one.makes(figure, is_percent) for one in (self._totals, told)) or (
                (is_percent and self._shares.makes(figure, True))
                or (6 * len(usual) ** 2 < 10**figure.digits and unlikely.makes(figure, is_percent))
            ):
                continue
            at = bisect_right(starts, figure.start)
            sentence = answer[starts[at - 1] : min(starts[at], starts[at - 1] + 1_000)]
            names = [
                name
                for name in self._made
                if (name == "percent") is is_percent and _STATED[name].search(sentence)
            ]
            # With too many numbers to calculate with, nothing is said where an operation is stated.
            if not any(self._made[name].makes(figure, is_percent) for name in names) and (
                self._few or not names
            ):
                yield f"The number {figure.written} is not in the results."

    def _is_size(self, measure: Measure) -> bool:
        """Whether a bare number of the results is this size in bytes, with 1,000 or 1,024 of them in a kilobyte."""
        figure, power = measure.figures[0], {"kb": 1, "mb": 2, "gb": 3, "tb": 4}.get(measure.unit)
        units = (1_000**power, 1_024**power) if power and figure.value else ()
        return any(self.known.is_near(figure.value * one, figure.step * one / 2) for one in units)

    def _has_other_unit(self, measure: Measure) -> bool:
        """Whether the results have the number with another unit only. What a key says is believed for the same kind."""
        value = measure.figures[0].value
        others = any(one.figures[0].value == value for one in self._measures if len(one.figures) == 1)
        keyed = (one for one in self._keyed if one.kind == measure.kind and one.unit != measure.unit)
        return (others and self._bare[value] <= 0) or any(
            measured(one.unit, value, 0.0).is_same(one) for one in keyed
        )


def _all_of(known: set[float]) -> Numbers:
    return Numbers(itertools.chain.from_iterable(made_of(known).values()))


def made_of(known: set[float]) -> dict[str, set[float]]:
    """What two numbers make by each operation."""
    made: dict[str, set[float]] = {name: set() for name in _OPERATIONS}
    for one, two in itertools.permutations([one for one in known if abs(one) < 1e15], 2):
        made["sum"] |= {one + two, one * two}
        made["difference"].add(one - two)
        made["ratio"] |= {one * two, one * two / 100}
        if two:
            made["ratio"].add(one / two)
            made["percent"] |= {100 * one / two, abs(100 * (one - two) / two)}
        if one + two:
            made["percent"].add(100 * one / (one + two))
    return made


def _totals(key: str, column: list[float]) -> Iterator[float]:
    """Sum, mean and range of numbers that belong together; of those of one record only the sum."""
    if len(column) > 1:
        total = math.fsum(column)
        yield from (total,) if key == "{}" else (total, total / len(column), max(column) - min(column))


def _members(part: Any) -> Iterator[tuple[str, float]]:
    """The numbers of a record by key, and what two of them make: a price times a quantity. The items of a list."""
    if isinstance(part, Mapping):
        fields = [
            (str(key), float(one)) for key, one in cast("Mapping[Any, Any]", part).items() if _is_number(one)
        ]
        yield from (*fields, *(("{}", number) for _, number in fields))
        if len(fields) <= 6:
            yield from ((f"{a} × {b}", x * y) for (a, x), (b, y) in itertools.combinations(fields, 2))
    elif isinstance(part, list):
        yield from (("[]", float(one)) for one in cast("list[Any]", part) if _is_number(one))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15


def _counts(part: Any) -> Iterator[float]:
    """How many there are of something: items of a list, those of them that are alike, lines of a text."""
    if isinstance(part, str):
        lines = part.count("\n") + 1
        yield from (float(lines), float(lines - 1)) if lines > 1 else ()
        return
    members: list[Any] = []
    if isinstance(part, list):
        items = cast("list[Any]", part)
        yield float(len(items))
        rows = [cast("dict[Any, Any]", one) for one in items if isinstance(one, dict)]
        members = [pair for row in rows for pair in row.items()]
    elif isinstance(part, dict):
        fields = list(cast("dict[Any, Any]", part).values())
        # Members of one type are things of one kind, such as services and their states.
        members = [("", one) for one in fields] if len(set(map(_type, fields))) == 1 else []
        yield from (float(len(members)),) if members else ()
    yield from map(float, Counter(pair for pair in members if isinstance(pair[1], (str, bool))).values())


def _type(value: object) -> str:
    return type(value).__name__


def parts(value: Any) -> Iterator[Any]:
    """A value that was read, and everything in it."""
    yield value
    items = cast("dict[Any, Any] | list[Any]", value) if isinstance(value, (dict, list)) else []
    for one in items.values() if isinstance(items, dict) else items:
        yield from parts(one)
