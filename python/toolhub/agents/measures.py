"""Numbers with units: lengths, times, sizes, weights, volumes, speeds, temperatures and prices."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..kit import words
from .facts import Figure

_UNITS = {
    "length": "mm .001 cm .01 m 1 meter 1 metre 1 km 1e3 kilometer 1e3 kilometre 1e3 mile 1609.344 ft .3048 feet .3048 "
    "inch .0254 inches .0254 毫米 .001 厘米 .01 米 1 公里 1e3 千米 1e3 英里 1609.344 英尺 .3048 英寸 .0254",
    "time": "ms .001 millisecond .001 s 1 sec 1 second 1 min 60 minute 60 h 3600 hr 3600 hour 3600 day 86400 week 604800 "
    "month 2629800 year 31557600 毫秒 .001 秒 1 分 60 分钟 60 小时 3600 天 86400 周 604800 个月 2629800",
    "size": "byte 1 kb 1e3 mb 1e6 gb 1e9 tb 1e12 kib 1024 mib 1048576 gib 1073741824 kilobyte 1e3 megabyte 1e6 gigabyte 1e9 "
    "terabyte 1e12 字节 1",
    "weight": "mg 1e-6 g .001 gram .001 kg 1 kilogram 1 tonne 1e3 lb .45359237 pound .45359237 oz .0283495 ounce .0283495 "
    "毫克 1e-6 克 .001 千克 1 公斤 1 斤 .5 吨 1e3",
    "volume": "ml .001 l 1 liter 1 litre 1 gallon 3.785411784 pint .473176473 毫升 .001 升 1",
    "speed": "km/h 1 kmh 1 kph 1 m/s 3.6 mph 1.609344 knot 1.852",
    # Prices are not converted: each currency is a kind of its own.
    "usd": "$ 1 usd 1 dollar 1 美元 1",
    "eur": "€ 1 eur 1 euro 1 欧元 1",
    "gbp": "£ 1 gbp 1 英镑 1",
    "cny": "¥ 1 cny 1 yuan 1 rmb 1 元 1 人民币 1",
    "temperature": "c 1 celsius 1 ℃ 1 摄氏度 1 f 0 fahrenheit 0 ℉ 0 华氏度 0",
}
_KINDS = {
    unit: (kind, float(worth))
    for kind, table in _UNITS.items()
    for unit, worth in zip(table.split()[::2], table.split()[1::2], strict=True)
}
_SIGNS = ("$", "€", "£", "¥")
_WORDS = "|".join(re.escape(unit) for unit in sorted(_KINDS, key=len, reverse=True) if unit not in ("c", "f"))
_AFTER = re.compile(
    rf"[ -]?(?:(?:° ?|degrees? )?({_WORDS})(?:s(?![A-Za-z0-9])|(?![A-Za-z0-9²³/°])|(?<=[^\x00-\x7f]))|"
    r"(?:° ?|degrees? |deg )(C|F)(?![A-Za-z]))",
    re.I,
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

    >>> from toolhub.agents.facts import figures_of
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
    """The unit that the name of a field ends with: `size_mb`.

    >>> unit_of_key("temp_c"), unit_of_key("duration_minutes"), unit_of_key("name")
    ('c', 'minute', None)
    """
    *before, last = words(key[-40:]) or [""]
    known = (last, last.removesuffix("s")) if before or len(last) > 3 else ()
    return next((one for one in known if one in _KINDS), None)
