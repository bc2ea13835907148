"""Numbers with units: whether a length, a time, a size, a weight or a price of an answer is that of the results."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from ..kit import words
from .facts import is_below_zero
from .figures import parts

_UNITS: dict[str, dict[str, float]] = {
    "length": {
        "mm": 1e-3,
        "cm": 1e-2,
        "m": 1.0,
        "km": 1e3,
        "meter": 1.0,
        "metre": 1.0,
        "kilometer": 1e3,
        "kilometre": 1e3,
    }
    | {
        "mile": 1609.344,
        "ft": 0.3048,
        "feet": 0.3048,
        "inch": 0.0254,
        "毫米": 1e-3,
        "厘米": 1e-2,
        "米": 1.0,
        "公里": 1e3,
        "千米": 1e3,
    },
    "time": {
        "ms": 1e-3,
        "s": 1.0,
        "sec": 1.0,
        "second": 1.0,
        "min": 60.0,
        "minute": 60.0,
        "h": 3600.0,
        "hr": 3600.0,
    }
    | {
        "hour": 3600.0,
        "day": 86400.0,
        "week": 604800.0,
        "毫秒": 1e-3,
        "秒": 1.0,
        "分钟": 60.0,
        "小时": 3600.0,
        "天": 86400.0,
    }
    | {"month": 2629800.0, "year": 31557600.0, "millisecond": 1e-3},
    "size": {
        "kb": 1e3,
        "mb": 1e6,
        "gb": 1e9,
        "tb": 1e12,
        "kib": 2.0**10,
        "mib": 2.0**20,
        "gib": 2.0**30,
        "byte": 1.0,
    }
    | {"kilobyte": 1e3, "megabyte": 1e6, "gigabyte": 1e9, "terabyte": 1e12},
    "weight": {
        "mg": 1e-6,
        "g": 1e-3,
        "gram": 1e-3,
        "kg": 1.0,
        "kilogram": 1.0,
        "ton": 1e3,
        "tonne": 1e3,
        "lb": 0.45359237,
    }
    | {"pound": 0.45359237, "克": 1e-3, "千克": 1.0, "公斤": 1.0, "斤": 0.5, "吨": 1e3},
    "volume": {
        "gallon": 3.785411784,
        "pint": 0.473176473,
        "ml": 1e-3,
        "l": 1.0,
        "liter": 1.0,
        "litre": 1.0,
        "毫升": 1e-3,
        "升": 1.0,
    },
    "speed": {
        "km/h": 1.0,
        "kmh": 1.0,
        "kph": 1.0,
        "m/s": 3.6,
        "mph": 1.609344,
        "knot": 1.852,
        "公里/小时": 1.0,
    },
    # Prices are not converted: what counts is that the currency is the same.
    "price": {
        "$": 1.0,
        "usd": 1.0,
        "dollar": 1.0,
        "美元": 1.0,
        "€": 2.0,
        "eur": 2.0,
        "euro": 2.0,
        "欧元": 2.0,
        "£": 3.0,
    }
    | {
        "gbp": 3.0,
        "¥": 4.0,
        "cny": 4.0,
        "yuan": 4.0,
        "rmb": 4.0,
        "元": 4.0,
        "人民币": 4.0,
        "chf": 5.0,
        "jpy": 6.0,
        "日元": 6.0,
    },
}
_KINDS = {unit: (kind, factor) for kind, units in _UNITS.items() for unit, factor in units.items()}
_WORDS = "|".join(re.escape(unit) for unit in sorted(_KINDS, key=len, reverse=True))
_DIGITS = r"(?<![A-Za-z0-9_.,])(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
_AFTER = re.compile(
    rf"{_DIGITS}[\s-]?(?:(?:business|working|calendar)\s)?({_WORDS})(?:s\b|\b(?![²³/°])|(?=[^\x00-\x7f])|(?<=[^\x00-\x7f])(?=\d)|$)",
    re.I,
)
_BEFORE = re.compile(r"([$€£¥])\s?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\d.,]*\d)")
_TEMPERATURE = re.compile(
    r"(?<![A-Za-z0-9_.,])(?P<sign>[-−])?(?P<number>\d+(?:\.\d+)?)\s?"
    r"(?:(?:°\s?|degrees? |deg )(?P<short>[CF])|"
    r"(?:°\s?|degrees? )?(?P<long>Celsius|Fahrenheit|[℃℉]|摄氏度|华氏度))(?![A-Za-z])",
    re.I,
)
_SCALES = {
    "c": 1.0,
    "celsius": 1.0,
    "℃": 1.0,
    "摄氏度": 1.0,
    "f": 5 / 9,
    "fahrenheit": 5 / 9,
    "℉": 5 / 9,
    "华氏度": 5 / 9,
}
_FREEZING = {1.0: 0.0, 5 / 9: 32.0}
_BETWEEN = re.compile(r",?\s*(?:and\s+|又)?")
_LARGEST = 1e15
_OF_KEYS = frozenset(
    [
        "km",
        "miles",
        "kg",
        "usd",
        "eur",
        "gbp",
        "ms",
        "seconds",
        "minutes",
        "hours",
        "days",
        "weeks",
        "mb",
        "gb",
        "kmh",
        "mph",
        "cm",
        "mm",
        "litres",
        "liters",
        "grams",
        "metres",
        "meters",
        "years",
        "months",
        "bytes",
    ]
)
"""Units at the end of a key: `duration_minutes`. Others, such as `min` and `m`, may mean something else there."""

_SPANS = frozenset(["distance", "length", "height", "width", "depth", "altitude", "elevation"])
"""Words before `m` that make it metres."""

_LASTING = frozenset(["duration", "time", "travel", "drive", "wait", "length"])
"""Words before `min` that make it a unit of time."""


class Measure(NamedTuple):
    """A number, what it measures, the size of its unit, how it is written and where."""

    number: float
    kind: str
    factor: float
    written: str
    at: int = 0

    @property
    def size(self) -> float:
        """The number in the unit that all of its kind have in common."""
        zero = _FREEZING[self.factor] if self.kind == "temperature" else 0.0
        return (self.number - zero) * self.factor

    def is_same(self, other: "Measure") -> bool:
        """Whether both say the same, perhaps in other units."""
        if self.kind != other.kind or (self.kind == "price" and self.factor != other.factor):
            return False
        one, two = self.size, other.size
        # Rounded to the digits that it is written with.
        digits = self.written.partition(".")[2]
        places = len(re.match(r"\d*", digits).group()) if digits else 0  # pyright: ignore[reportOptionalMemberAccess]
        return abs(one - two) <= max(
            0.5 * 10.0**-places * self.factor * (self.factor != other.factor), 1e-9 * abs(two)
        )

    def is_near(self, other: "Measure", share: float) -> bool:
        """Whether both are nearly the same."""
        alike = self.kind == other.kind and (self.kind != "price" or self.factor == other.factor)
        return alike and abs(self.size - other.size) <= share * abs(other.size)


def durations(times: Sequence[tuple[int, int, int]]) -> Iterator[Measure]:
    """How long it is from one time of day to a later one.

    >>> [one.number for one in durations([(9, 4, 0), (11, 2, 0)])]
    [118.0]
    """
    for one, two in itertools.combinations(sorted({hours * 60 + minutes for hours, minutes, _ in times}), 2):
        yield Measure(float(two - one), "time", 60.0, f"{two - one} min")


def measures_of(text: str) -> Iterator[Measure]:
    """The numbers with units in a text.

    >>> [(one.number, one.kind) for one in measures_of("250 m of cable for €480 within 2 hours")]
    [(250.0, 'length'), (2.0, 'time'), (480.0, 'price')]
    """
    if re.search(r"\d", text) is None:
        return
    for found in _AFTER.finditer(text):
        # Letters count as they are written where a capital means something else: 5 M is no length.
        unit = found.group(2)
        if len(unit) == 1 and unit.isascii() and unit.isalpha() and not unit.islower():
            continue
        kind, factor = _KINDS[unit.lower()]
        yield Measure(_number(found.group(1)), kind, factor, found.group(), found.start())
    yield from _temperatures(text)
    for found in _BEFORE.finditer(text) if any(sign in text for sign in "$€£¥") else ():
        kind, factor = _KINDS[found.group(1)]
        yield Measure(_number(found.group(2)), kind, factor, found.group(), found.start())


def _temperatures(text: str) -> Iterator[Measure]:
    for found in _TEMPERATURE.finditer(text):
        number = float(found["number"])
        if found["sign"] or is_below_zero(text, found.start(), found.end()):
            number = -number
        unit = (found["short"] or found["long"]).lower()
        yield Measure(number, "temperature", _SCALES[unit], found.group(), found.start())


def measures_in(value: Any) -> Iterator[Measure]:
    """The numbers of a value whose keys name their units.

    >>> [(one.number, one.kind) for one in measures_in({"temp_c": 20, "drive": {"duration_minutes": 95}})]
    [(20.0, 'temperature'), (95.0, 'time')]
    """
    for one in parts(value):
        for key, number in cast("Mapping[Any, Any]", one).items() if isinstance(one, Mapping) else ():
            if isinstance(number, bool) or not isinstance(number, (int, float)) or abs(number) > _LARGEST:
                continue
            *before, unit = words(str(key)) or [""]
            if "per" in before:
                continue
            if unit in ("c", "f", "celsius", "fahrenheit") and before:
                yield Measure(float(number), "temperature", _SCALES[unit], f"{number}")
            elif unit in ("length", "size") and {"content", "file"} & set(before):
                # Megabytes of a file may be those of 1,000 or of 1,024.
                yield Measure(float(number), "size", 1.0, f"{number}")
                yield Measure(number / 1.024**2, "size", 1.0, f"{number}")
                yield Measure(number / 1.024**3, "size", 1.0, f"{number}")
            elif unit == "m" and _SPANS & set(before):
                yield Measure(float(number), "length", 1.0, f"{number}")
            elif unit == "min" and _LASTING & set(before):
                yield Measure(float(number), "time", 60.0, f"{number}")
            elif unit in _OF_KEYS:
                kind, factor = _KINDS.get(unit) or _KINDS[unit.removesuffix("s")]
                yield Measure(float(number), kind, factor, f"{number}")


def compounds(text: str, measures: Iterable[Measure]) -> Iterator[tuple[Measure, tuple[Measure, ...]]]:
    """Measures that are told in several units, "1 hour and 35 minutes", in the smallest of these, and their parts.

    >>> said = "It takes 1 hour and 35 minutes."
    >>> [whole.number for whole, _ in compounds(said, measures_of(said))]
    [95.0]
    """
    run: list[Measure] = []
    for measure in [*sorted(measures, key=lambda one: one.at), None]:
        if measure is not None and run and _goes_on(text, run[-1], measure):
            run.append(measure)
            continue
        if len(run) > 1:
            last = run[-1]
            total = sum(one.size for one in run) / last.factor
            yield Measure(round(total, 6), last.kind, last.factor, last.written, run[0].at), tuple(run)
        run = [] if measure is None else [measure]


def _goes_on(text: str, one: Measure, two: Measure) -> bool:
    """Whether the second measure continues the first: right behind it, of its kind, in a smaller unit."""
    return (
        one.kind == two.kind
        and one.kind not in ("price", "temperature")
        and two.factor < one.factor
        and _BETWEEN.fullmatch(text, one.at + len(one.written), two.at) is not None
    )


def _number(digits: str) -> float:
    return float(digits.replace(",", ""))
