"""Numbers of an answer: in the results, rounded, in another unit, or made of them by an operation that the answer states."""

import itertools
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from ..kit import Message, units, words
from .facts import Figure, figures_of

_MOST = 60
"""Numbers of the results that are calculated with; of more of them almost any number can be made."""

_FACTORS = 8
"""Numbers of which three are multiplied."""

_MEASURES = 400
"""Measures that are compared with one another."""

_DIGITS = re.compile(r"(?<![\d.])(?<![\s(\[:=][-−])(?<!^[-−])\d{1,15}(?:\.\d{1,15})?(?!\d)")
_LESS = (
    r"\b(?:f[ae]ll\w*|drop\w*|declin\w*|decreas\w*|reduc\w*|down|less|fewer|lower|lost|loss\w*|overdra\w*|sav\w+)\b|"
    r"[减降跌低少亏欠]|透支"
)
_OPERATIONS = {
    "sum": r"\b(?:total\w*|sum|together|combined|altogether|in all|overall|plus)\b|\d ?\+|共|总|合计|加",
    "difference": r"\b(?:(?:more|less|fewer)(?! than [\d$€£])|left|net|by|differ\w*|remain\w*|minus|sav\w+|later|earlier|"
    r"\w+er than)\b|\d ?[-−] ?\d|多|少|差|剩|省|余|增|减",
    "ratio": r"\b(?:per|each|times|ratio|average|mean|a (?:day|week|month|year|head)|divided)\b|"
    r"\d ?[×÷*/] ?\d|[倍每率乘除]|平均",
    "sign": _LESS,
    "percent": r"%|\bper ?cent\b|折",
    "rise": r"\b(?:r[io]s\w+|gr[eo]w\w*|increas\w*|gain\w*|up|more|higher)\b|[增涨升高多]",
    "fall": _LESS,
}
"""How a text states an operation."""

_SHARES = {"percent": "", "rise": "fall", "fall": "rise"}
"""The operations that give a percentage, each with its contrary."""

_STATED = {name: re.compile(words, re.I) for name, words in _OPERATIONS.items()}
_DEGREES = re.compile(r" ?(?:°|℃|℉|度|degrees?\b)", re.I)
_BY = re.compile(r"(?:\bby(?: about)?|[了降跌低少]) ?$")
_PERCENT = re.compile(r" ?(?:%|per ?cent|折)", re.I)
_SENTENCE = re.compile(r"(?<=[.!?]) |(?<=[。！？；\n])")


_KINDS = {unit: (kind, worth) for unit, kind, worth in units()}
_SIGNS = ("$", "€", "£", "¥")
_WORDS = "|".join(re.escape(unit) for unit in sorted(_KINDS, key=len, reverse=True) if unit not in ("c", "f"))
_AFTER = re.compile(
    rf"(?i)[ -]?(?:(?:° ?|degrees? )?({_WORDS})(?:s(?![A-Za-z0-9])|(?![A-Za-z0-9²³/°])|(?<=[^\x00-\x7f]))|"
    r"(?:° ?|degrees? |deg )(C|F)(?![A-Za-z]))"
)
_BETWEEN = re.compile(r"(?: ?,)?(?: and| 又|零)? ?")


class Measure(NamedTuple):
    """A number with a unit. `base` is its worth in the first unit of its kind; `step` that of its last digit."""

    kind: str
    unit: str
    base: float
    step: float
    figures: tuple[Figure, ...]

    def is_same(self, other: "Measure") -> bool:
        """Whether both are equal, to the digits that this one is written with."""
        near = 1e-9 + max(1e-9 * abs(self.base), min(self.step / 2, 0.05 * abs(self.base)))
        return self.kind == other.kind and abs(self.base - other.base) <= near


def measured(unit: str, value: float, step: float, *figures: Figure) -> Measure:
    """A number with a known unit; degrees Fahrenheit are the one that is not a multiple."""
    kind, worth = _KINDS[unit]
    base = value * worth if worth else (value - 32) * 5 / 9
    return Measure(kind, unit, base, step * (worth or 5 / 9), figures)


def measures_of(text: str, figures: Iterable[Figure]) -> Iterator[Measure]:
    """The numbers of a text that have units; "1 h 35 min" is one measure, after its parts.

    >>> [(one.kind, one.base) for one in measures_of("1 h 35 min", figures_of("1 h 35 min"))]
    [('time', 3600.0), ('time', 2100.0), ('time', 5700.0)]
    """
    last: tuple[Measure, int] | None = None
    for figure in sorted(figures, key=lambda one: one.start):
        sign = text[max(0, figure.start - 2) : figure.start].strip()[-1:]
        found = None if sign in _SIGNS else _AFTER.match(text, figure.end)
        if sign not in _SIGNS and found is None:
            last = None
            continue
        unit, end = (sign, figure.end) if found is None else ((found[1] or found[2]).lower(), found.end())
        measure = measured(unit, figure.value, figure.step, figure)
        yield measure
        if last is not None and measure.kind == "time" and _BETWEEN.fullmatch(text, last[1], figure.start):
            base = last[0].base + measure.base
            measure = Measure("time", "", base, measure.step, (*last[0].figures, figure))
            yield measure
        last = (measure, end) if measure.kind == "time" else None


def unit_of_key(key: str) -> str | None:
    """The unit that the name of a field ends with, or many of which it begins with: `size_mb`, `days_left`.

    >>> unit_of_key("temp_c"), unit_of_key("duration_minutes"), unit_of_key("days_left"), unit_of_key("name")
    ('c', 'minute', 'day', None)
    """
    *before, last = words(key[-40:]) or [""]
    known = (last, last.removesuffix("s")) if before or len(last) > 3 else ()
    known += tuple(one.removesuffix("s") for one in before[:1] if len(one) > 3 and one[-1] == "s")
    return next((one for one in known if one in _KINDS), None)


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
        most = math.inf if is_percent or figure.step < 1 else 0.02 * abs(figure.value)
        return self.is_near(figure.value, min(figure.step / 2, most))

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
        keyed = (measured(unit, one, 0.0) for unit, column in keys if unit for one in column)
        self._keyed = list(itertools.islice(keyed, _MEASURES))
        self._bare = Counter(one.value for one in figures)
        self._bare.subtract(one.figures[0].value for one in self._measures if len(one.figures) == 1)
        self._base = {one.value for one in figures} - {0.0, 1.0}
        self._asked = {one.value for one in figures if one.end <= len(question)}
        # What the question alone has is calculated with as it says.
        self._only_asked = self._asked - {one.value for one in figures if one.end > len(question)}
        self._named = {name for name, stated in _STATED.items() if stated.search(question)}
        self.known = Numbers((*counted, *self._bare, *map(float, _DIGITS.findall(text))))
        self._few = len(self._base) <= _MOST
        self._made = self._all_of(self._base)
        self._totals = Numbers(one for (_, key), column in columns.items() for one in _totals(key, column))
        sums = [(math.fsum(column), column) for column in columns.values()]
        self._shares = Numbers(100 * one / total for total, column in sums if total for one in column)
        times = (one.base for one in (*self._measures, *self._keyed) if one.kind == "time")
        self.days = {round(base / 86_400) for base in times} - {0}

    def wrong(self, answer: str) -> Iterator[str]:
        """Sentences about the numbers of an answer that are not there, and about units that are wrong."""
        figures = list(figures_of(answer))
        right, misread = set[Figure](), set[Figure]()
        measures = itertools.islice(measures_of(answer, figures), _MEASURES)
        for measure in sorted(measures, key=lambda one: -len(one.figures)):
            if any(map(measure.is_same, (*self._measures, *self._keyed))) or self._is_size(measure):
                right |= {*measure.figures}
            elif len(measure.figures) == 1 and self._has_other_unit(measure):
                misread |= {*measure.figures}
        stated = (self._asked | {one.value for one in figures}) & self._base
        # Many digits are hardly right by chance, unless small counts are added.
        usual = {one for one in self._base if abs(one) > 12 or one in stated} if self._few else set[float]()
        told, unlikely = self._all_of(stated), self._all_of(usual)
        starts = [0, *(found.end() for found in _SENTENCE.finditer(answer)), len(answer) + 1]
        sentences = [answer[start : min(end, start + 1_000)] for start, end in itertools.pairwise(starts)]
        stating = [{name for name, how in _STATED.items() if how.search(one)} for one in sentences]
        for figure in figures:
            if figure in misread - right:
                yield Message("The unit of {} is not that of the results.", figure.written)
            if figure in right | misread or self.known.has(figure):
                continue
            said = stating[bisect_right(starts, figure.start) - 1]
            is_percent = _PERCENT.match(answer, figure.end) is not None
            # A share or a change; a rise is not a fall, whose share is of another number.
            shares = {one for one in _SHARES if one in said or _SHARES[one] not in said}
            names = shares if is_percent else {"sum", "difference", "ratio"}
            said = names | (said & {"sign"}) if is_percent else said.difference(_SHARES)
            # "It fell to 3°" is not −3°, "by 3°" may be.
            near = answer[max(0, figure.start - 12) : figure.start]
            if _DEGREES.match(answer, figure.end) and not _BY.search(near):
                said = said - {"sign"}
            rare = 6 * len(usual) ** 2 < 10**figure.digits
            tried = ((told, names), (self._made, said), (unlikely, names if rare else ()))
            if any(made[name].makes(figure, is_percent) for made, by in tried for name in by):
                continue
            share = figure.value / 100, figure.step / 200
            is_share = is_percent and (self.known.is_near(*share) or self._shares.makes(figure, True))
            if is_share or self._totals.makes(figure, is_percent):
                continue
            # With too many numbers to calculate with, nothing is said where an operation is stated.
            if self._few or not said:
                yield Message("The number {} is not in the results.", figure.written)

    def _all_of(self, known: set[float]) -> dict[str, Numbers]:
        """What numbers make by each operation, those of the question alone by what it names; nothing of too many."""
        made = made_of(known if self._few else set(), self._only_asked, self._named)
        return {name: Numbers(numbers) for name, numbers in made.items()}

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
        is_keyed = any(measured(one.unit, value, 0.0).is_same(one) for one in keyed)
        return is_keyed or (others and self._bare[value] <= 0)


def made_of(known: set[float], asked: set[float], named: set[str]) -> dict[str, set[float]]:
    """What two numbers make by each operation; two that were `asked` for only by those that were `named`."""
    made = {name: {-one for one in known if one < 0 and name == "sign"} for name in _OPERATIONS}
    # Rooms, nights and the price of one.
    few = itertools.combinations(known - asked if len(known) <= _FACTORS else (), 3)
    made["sum"] |= {math.prod(three) for three in few}
    for one, two in itertools.permutations([one for one in known if abs(one) < 1e15], 2):
        is_asked = {one, two} <= asked
        by = [("sum", one + two), ("difference", one - two), ("ratio", one * two), ("ratio", one * two / 100)]
        by += [] if is_asked else [("sum", one * two)]
        if two:
            change = 100 * (one - two) / two
            by += [("ratio", one / two), ("percent", 100 * one / two)]
            by.append(("rise" if change > 0 else "fall", abs(change)))
        by += [("percent", 100 * one / (one + two))] if one + two else []
        for name, number in by:
            if name in named or not is_asked:
                made[name].add(number)
    return made


def _totals(key: str, column: list[float]) -> Iterator[float]:
    """Sum, mean and range of numbers that belong together; of those of one record, and of products, only the sum."""
    if len(column) > 1:
        total = math.fsum(column)
        more = () if key == "{}" or "×" in key else (total / len(column), max(column) - min(column))
        yield from (total, *more)


def _members(part: Any) -> Iterator[tuple[str, float]]:
    """The numbers of a record by key, and what two of them make: a price times a quantity. The items of a list."""
    if isinstance(part, Mapping):
        items = cast("Mapping[Any, Any]", part).items()
        fields = [(str(key), float(one)) for key, one in items if _is_number(one)]
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
        members = [("", one) for one in fields] if len({*map(repr, map(type, fields))}) == 1 else []
        yield from (float(len(members)),) if members else ()
    yield from map(float, Counter(pair for pair in members if isinstance(pair[1], (str, bool))).values())


def parts(value: Any) -> Iterator[Any]:
    """A value that was read, and everything in it."""
    yield value
    items = cast("dict[Any, Any] | list[Any]", value) if isinstance(value, (dict, list)) else []
    for one in items.values() if isinstance(items, dict) else items:
        yield from parts(one)
