"""What an answer says of several numbers: that one is higher, the highest, or that it rose; and whether the results agree."""

import calendar
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..kit import words
from .entries import Entry, Known
from .facts import numbers_of
from .prose import is_negative, is_open, pieces, stem

_TIME = r"\b(?:time|ms|s|sec|seconds?|minutes?|min|hours?|duration|latency|days?|elapsed)\b"
_MONEY = r"\b(?:price|cost|fee|total|amount|usd|eur|rent|fare)"


class _Quality(NamedTuple):
    """Which way an adjective points, and how the numbers it is about are called."""

    way: int
    about: str = ""


_QUALITIES = {
    "cheap": _Quality(-1, _MONEY),
    "expensive": _Quality(1, _MONEY),
    "cost": _Quality(1, _MONEY),
    "warm": _Quality(1, r"\btemp"),
    "hot": _Quality(1, r"\btemp"),
    "cold": _Quality(-1, r"\btemp"),
    "cool": _Quality(-1, r"\btemp"),
    "tall": _Quality(1, r"\b(?:height|tall|length)"),
    "long": _Quality(1, rf"\b(?:length|long|distance)|{_TIME}"),
    "short": _Quality(-1, rf"\b(?:length|long|distance|height)|{_TIME}"),
    "old": _Quality(1, r"\bage\b"),
    "young": _Quality(-1, r"\bage\b"),
    "heav": _Quality(1, r"\b(?:weight|mass|kg)"),
    "light": _Quality(-1, r"\b(?:weight|mass|kg)"),
    "fast": _Quality(-1, _TIME),
    "quick": _Quality(-1, _TIME),
    "slow": _Quality(1, _TIME),
    "popul": _Quality(1, r"\b(?:population|inhabitants|people|stars|downloads|votes|users)"),
    "best": _Quality(1, r"\b(?:rating|score|stars|grade)"),
    "high": _Quality(1),
    "low": _Quality(-1),
    "larg": _Quality(1),
    "big": _Quality(1),
    "great": _Quality(1),
    "small": _Quality(-1),
    "deep": _Quality(1),
    "wid": _Quality(1),
    "bus": _Quality(1),
    "strong": _Quality(1),
    "weak": _Quality(-1),
    "few": _Quality(-1),
    "most": _Quality(1),
    "least": _Quality(-1),
}
_THAN = re.compile(r"\b(?:(more|less|fewer)(?:\s+([a-z]+))?\s+than|([a-z]+er)\s+than)\b", re.I)
_MOST = re.compile(r"\b(?:the|its|was|were|is|are)\s+(?:(most|least|fewest)\s+([a-z]+)|([a-z]+est))\b", re.I)
_RANKED = re.compile(r"\b(?:second|third|fourth|next|among|one of)\b", re.I)
_TREND = re.compile(
    r"\b(rose|risen|rising|grew|grown|increased|climbed|jumped|surged|gained|(?:went|gone|going) up)\b|"
    r"\b(fell|fallen|falling|dropped|drops|decreased|declined|shrank|sank|(?:went|gone|come|came) down)\b|"
    "(上升|上涨|增长|增加)|(下降|下跌|减少|降低)",
    re.I,
)
_FROM_TO = re.compile(r"\bfrom\b(.{1,60}?)\bto\b(.{1,40})|从(.{1,30}?)到(.{1,20})", re.I)
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s?(?:%|percent\b|per cent\b)")
_MOMENTS = (
    (
        "previous",
        "last",
        "old",
        "before",
        "yesterday",
        "start",
        "first",
        "begin",
        "opening",
        "earlier",
        "from",
    ),
    ("current", "now", "new", "after", "today", "end", "final", "closing", "later", "latest", "to"),
)
_ORDER = {word: float(place) for place, moments in enumerate(_MOMENTS) for word in moments} | {
    name.lower(): float(place)
    for names in (calendar.day_name, calendar.day_abbr, calendar.month_name, calendar.month_abbr)
    for place, name in enumerate(names)
    if name
}


def wrong_comparisons(answer: str, known: Known) -> Iterator[str]:
    """Parts of an answer that compare numbers the wrong way round.

    >>> towns = Known([{"result": [{"town": "Rome", "temp": 19}, {"town": "Oslo", "temp": 4}]}])
    >>> list(wrong_comparisons("Oslo is warmer than Rome. Rome is the warmest.", towns))
    ['Oslo is warmer than Rome']
    """
    for piece in pieces(answer):
        if is_negative(piece) or is_open(piece):
            continue
        if not all(_compared(piece, known)) or not all(_ranked(piece, known)):
            yield piece.strip()
    yield from _trends(answer, known.entries)


def _compared(piece: str, known: Known) -> Iterator[bool]:
    found = _THAN.search(piece)
    if found is None:
        return
    before, after = piece[: found.start()].lower(), piece[found.end() :].lower()
    for group in known.groups:
        one, two = list(group.named(before)), list(group.named(after))
        if len(one) == 1 and len(two) == 1 and one != two:
            first, second = group.entries[one[0]], group.entries[two[0]]
            more, what, single = found.groups()
            for key, way in _keys(single or what or "great", more, piece, [first, second]):
                left, right = first.number(key), second.number(key)
                if left is not None and right is not None:
                    yield (left - right) * way > 0


def _ranked(piece: str, known: Known) -> Iterator[bool]:
    found = _MOST.search(piece)
    if found is None or _RANKED.search(piece):
        return
    for group in known.groups:
        named = list(group.named(piece.lower()))
        if len(named) == 1:
            entry = group.entries[named[0]]
            more, what, single = found.groups()
            for key, way in _keys(single or what, more, piece, group.entries):
                own = entry.number(key)
                others = [number for one in group.entries if (number := one.number(key)) is not None]
                if own is not None and len(others) > 1:
                    yield own * way == max(number * way for number in others)


def _keys(word: str, more: str | None, piece: str, among: Sequence[Entry]) -> list[tuple[str, int]]:
    """The numbers that an adjective is about, and which way it points for them."""
    known = {key: None for entry in among for key, _ in entry.numbers}
    shared = [key for key in known if sum(entry.number(key) is not None for entry in among) > 1]
    low = word.lower()
    way_of_more = -1 if (more or "").lower() in ("less", "fewer", "least", "fewest") else 1
    counted = [key for key in shared if stem(low) in map(stem, key.split())]
    if more and counted:
        return [(key, way_of_more) for key in counted]
    quality = next((one for start, one in _QUALITIES.items() if low.startswith(start)), None)
    if quality is None:
        return []
    said = set(map(stem, words(piece)))
    about = [key for key in shared if quality.about and re.search(quality.about, key)]
    about = about or [key for key in shared if said & set(map(stem, key.split()))]
    only = list(dict.fromkeys(shared)) if len(shared) == 1 else []
    return [(key, quality.way * way_of_more) for key in about or only]


def _trends(answer: str, entries: Sequence[Entry]) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.!?;])\s+|(?<=[。！？；])", answer[:20_000]):
        found = _TREND.search(sentence)
        if found is None or is_negative(sentence[: found.end()]) or is_open(sentence[: found.end()]):
            continue
        way = 1 if found.group(1) or found.group(3) else -1
        told = _FROM_TO.search(sentence)
        ends = [
            [number for number, _ in numbers_of(part)] for part in (told.groups() if told else ()) if part
        ]
        if len(ends) == 2 and ends[0] and ends[1]:
            first, last = ends[0][0], ends[1][0]
            if (last - first) * way < 0 or not _is_share(sentence, first, last):
                yield sentence.strip()
        elif {one for entry in entries for one in _ways(entry)} == {-way}:
            yield sentence.strip()


def _is_share(sentence: str, first: float, last: float) -> bool:
    """Whether a change in percent is the one between two numbers, if a sentence tells one."""
    percent = _PERCENT.findall(sentence)
    if len(percent) != 1 or not first or float(percent[0]) in (first, last):
        return True
    return abs(abs(100 * (last - first) / first) - float(percent[0])) <= 1.0


def _ways(entry: Entry) -> Iterator[int]:
    """Which way the numbers of a record go whose keys name moments: `load_08h` and `load_12h`."""
    by_rest: dict[str, list[tuple[float, float]]] = {}
    for key, number in entry.numbers:
        for word in key.split():
            moment = _moment(word)
            if moment is not None:
                rest = " ".join(other for other in key.split() if other != word)
                by_rest.setdefault(rest, []).append((moment, number))
                break
    for told in by_rest.values():
        ordered = sorted(told)
        if len(ordered) > 1 and ordered[0][0] < ordered[-1][0] and ordered[0][1] != ordered[-1][1]:
            yield 1 if ordered[-1][1] > ordered[0][1] else -1


def _moment(word: str) -> float | None:
    digits = re.fullmatch(r"(\d{1,4})h?|q([1-4])", word)
    return float(digits.group(1) or digits.group(2)) if digits else _ORDER.get(word)
