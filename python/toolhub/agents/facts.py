"""Facts in a text: numbers, dates, times, quotations, addresses and names of files; and whether they can be true."""

import calendar
import math
import re
from collections.abc import Iterator
from typing import NamedTuple

LARGEST = 1e15
"""Numbers in a result are below this."""

_MONTHS = {"sept": 9} | {
    name.lower(): n
    for names in (calendar.month_name, calendar.month_abbr)
    for n, name in enumerate(names)
    if name
}
_MONTH = "|".join(name.capitalize() for name in sorted(_MONTHS, key=len, reverse=True))
_SCALES = {
    "thousand": 1e3,
    "k": 1e3,
    "million": 1e6,
    "m": 1e6,
    "mn": 1e6,
    "billion": 1e9,
    "bn": 1e9,
    "b": 1e9,
    "trillion": 1e12,
    "千": 1e3,
    "万": 1e4,
    "百万": 1e6,
    "千万": 1e7,
    "亿": 1e8,
    "万亿": 1e12,
}


def listed(words: str) -> list[str]:
    """Words that are written with a blank between them, for long lists.

    >>> listed("one two")
    ['one', 'two']
    """
    return words.split()


_UNITS = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen"
)
_TENS = listed("twenty thirty forty fifty sixty seventy eighty ninety hundred")
_SPELT = {word: float(n) for n, word in enumerate(_UNITS)} | {
    word: 10.0 * n for n, word in enumerate(_TENS, 2)
}

_DATES = [
    re.compile(r"(?<!\d)(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)"),
    re.compile(r"(?P<y>\d{4})\s*年\s*(?P<m>\d{1,2})\s*月(?:\s*(?P<d>\d{1,2})\s*[日号])?"),
    re.compile(rf"\b(?P<n>{_MONTH})\.?[^\S\n]+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?[^\S\n]+(?P<y>\d{{4}})\b"),
    re.compile(
        rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[^\S\n]+(?:of\s+)?(?P<n>{_MONTH})\.?(?:,?[^\S\n]+(?P<y>\d{{4}}))?\b"
    ),
    re.compile(rf"\b(?P<n>{_MONTH})\.?[^\S\n]+(?P<y>\d{{4}})\b"),
    # "In January 38 of them": a number beyond a month's days, or after "in", is no day.
    re.compile(
        rf"(?<!\b[Ii]n )\b(?P<n>{_MONTH})\.?[^\S\n]+(?P<d>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?\b(?![.,]?\d)"
    ),
    re.compile(r"(?<![\d年])(?P<m>\d{1,2})\s*月\s*(?P<d>\d{1,2})\s*[日号]"),
]
_TIME = re.compile(
    r"(?<![\d:.])(?:(\d{1,2}):(\d{2})(?::(\d{2}))?(?![\d:])(?:\s*([ap])\.?m\b)?|(\d{1,2})\s*([ap])\.?m\b)",
    re.I,
)
# A number may follow a Chinese character, and a sign of its own. A capital letter behind it makes it a name: 3D, 5G.
_NUMBER = re.compile(
    r"(?:(?<![A-Za-z0-9_.,-])[-−+])?(?<![A-Za-z0-9_.])(?<!\d,)(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?"
    r"(?!\d|\.\d|[ACDEFGHIJLNOPQRSTUVWXYZ]\b)"
    r"(?:\s?(thousand|million|billion|trillion|bn|mn)\b|(k|K|m|M|b|B)\b|\s?(万亿|百万|千万|[千万亿]))?",
)
_NOT_FINITE = re.compile(
    r"(?:^|[=:\[,(]\s*|\bis\s+|为|是)([-+]?(?:nan|inf|infinity))(?=\s*(?:$|[,.;\])}。]))", re.I
)
_DIGIT = re.compile(r"\d")
_SPELT_NUMBER = re.compile(
    rf"\b({'|'.join(sorted(_SPELT, key=len, reverse=True))})(?:\s+(thousand|million|billion))?\b", re.I
)
_COUNTED_ZH = re.compile("(?<![第一二两三四五六七八九十百])[两二三四五六七八九十](?=[个件条份封项张台名位])")
# "The one that failed" counts nothing, nor does "below zero".
_NO_NUMBERS = {
    "one": re.compile(r"\b(?:the|this|that|which|each|every|any|another|other|no)\s+$", re.I),
    "zero": re.compile(r"\b(?:below|above|sub)[ -]$", re.I),
}
# "7 minus 4" is a difference.
_MINUS = re.compile(r"(?:零下|(?<![\d)])(?<![\d)] )\b(?:minus|negative))\s*$", re.I)
_BELOW = re.compile(
    r"\s?(?:°\s?[CF]?|degrees?(?: (?:Celsius|Fahrenheit|[CF]))?)? ?below (?:zero|freezing)\b", re.I
)
_QUOTED = re.compile(
    r"\"([^\"\n]{3,})\"|“([^”\n]{3,})”|「([^」\n]{2,})」|『([^』\n]{2,})』|《([^》\n]{2,})》|«([^»\n]{3,})»"
)
# One attempt for each run of characters, and no way back into it: a long run without an end would take quadratic time.
_ADDRESSES = re.compile(r"https?://[^\s\"'<>)\]，。]+|(?<![\w.+-])[\w.+-]++@[\w-]+(?:\.[\w-]+)+")
_FILES = re.compile(r"(?<![\w/.@-])(?:~?/)?(?:[\w.-]++/)*+[\w-]++\.(?:[a-z]{2,5}|mp[34]|7z)\b(?!\.\w)")


class Date(NamedTuple):
    """A date, of which the year or the day may be missing."""

    year: int | None
    month: int
    day: int | None

    def is_valid(self) -> bool:
        """Whether there is such a day."""
        if not 1 <= self.month <= 12 or self.year == 0:
            return False
        longest = calendar.monthrange(self.year or 2024, self.month)[1]
        return self.day is None or 1 <= self.day <= longest

    def fits(self, other: "Date") -> bool:
        """Whether both may be the same day: what both say is equal."""
        pairs = zip(self, other, strict=True)
        return all(one == two for one, two in pairs if one is not None and two is not None)


def dates_of(text: str) -> Iterator[tuple[Date, str]]:
    """The dates in a text, and how they are written.

    >>> sorted(date for date, _ in dates_of("From March 5, 2024 to 2024-04-01"))
    [Date(year=2024, month=3, day=5), Date(year=2024, month=4, day=1)]
    """
    yield from ((date, text[start:end]) for date, (start, end) in _dated(text))


def _dated(text: str) -> Iterator[tuple[Date, tuple[int, int]]]:
    """The dates in a text and their places. What one pattern has read, no other reads again."""
    taken = bytearray(len(text))
    low = text.lower()
    # Most texts have no month in words; looking for one at every place takes most of the time.
    named, wide = any(month in low for month in _MONTHS), "月" in text
    for pattern in _DATES if _DIGIT.search(text) else ():
        if ("P<n>" in pattern.pattern and not named) or ("月" in pattern.pattern and not wide):
            continue
        for found in pattern.finditer(text):
            start, end = found.span()
            if taken.find(1, start, end) >= 0:
                continue
            taken[start:end] = b"\1" * (end - start)
            parts = found.groupdict()
            month = _MONTHS[parts["n"].lower()] if parts.get("n") else int(parts["m"])
            year, day = parts.get("y"), parts.get("d")
            yield Date(int(year) if year else None, month, int(day) if day else None), (start, end)


def times_of(text: str) -> Iterator[tuple[tuple[int, int, int], str]]:
    """The times of day in a text as hours (0 to 23 where they are valid), minutes and seconds."""
    for found in _times_in(text):
        hours, minutes, seconds = (int(found.group(n) or 0) for n in (1 if found.group(1) else 5, 2, 3))
        half = (found.group(4) or found.group(6) or "").lower()
        if half and 1 <= hours <= 12:
            hours = hours % 12 + (12 if half == "p" else 0)
        elif half:
            hours = 99
        yield (hours, minutes, seconds), found.group()


def _times_in(text: str) -> "Iterator[re.Match[str]]":
    low = text.lower()
    return _TIME.finditer(text) if ":" in text or ("m" in low and _DIGIT.search(text)) else iter(())


def numbers_of(text: str) -> Iterator[tuple[float, str]]:
    """The numbers in a text, without those of dates, times, list markers and addresses.

    >>> [number for number, _ in numbers_of("1. About 2.5 million people, 12% of them on 2024-05-01")]
    [2500000.0, 12.0]
    """
    rest = _ADDRESSES.sub(" ", text)
    if _DIGIT.search(rest):
        rest = _FILES.sub(" ", _without_moments(rest))
        rest = re.sub(r"(?m)^\s*(?:[-*]\s+)?\(?\d{1,2}[.)、]\s", " ", rest)
    for found in _NUMBER.finditer(rest) if _DIGIT.search(rest) else ():
        scale = next((group for group in found.groups() if group), "")
        digits = found.group()[: len(found.group()) - len(scale)].strip()
        number = float(digits.replace(",", "").replace("−", "-")) * _SCALES.get(scale.lower(), 1.0)
        if number > 0 and is_below_zero(rest, found.start(), found.end()):
            number = -number
        yield number, found.group().strip()
    for found in _COUNTED_ZH.finditer(rest):
        yield float("零一二三四五六七八九十".find(found.group().replace("两", "二"))), found.group()
    low = rest.lower()
    for found in _SPELT_NUMBER.finditer(rest) if any(word in low for word in _SPELT) else ():
        no_number = _NO_NUMBERS.get(found.group().lower())
        if no_number is not None and no_number.search(rest, max(0, found.start() - 12), found.start()):
            continue
        yield _SPELT[found.group(1).lower()] * _SCALES.get((found.group(2) or "").lower(), 1.0), found.group()


def is_below_zero(text: str, start: int, end: int) -> bool:
    """Whether words around a number make it negative.

    >>> is_below_zero("北京零下3.5度", 4, 7), is_below_zero("It is minus 4.", 12, 13), is_below_zero("7 minus 4", 8, 9)
    (True, True, False)
    """
    return _MINUS.search(text, max(0, start - 12), start) is not None or _BELOW.match(text, end) is not None


def _without_moments(text: str) -> str:
    """A text with a blank for each date and time of day."""
    places = [place for _, place in _dated(text)] + [found.span() for found in _times_in(text)]
    parts: list[str] = []
    at = 0
    for start, end in sorted(places):
        if start >= at:
            parts.append(text[at:start])
        at = max(at, end)
    return " ".join([*parts, text[at:]])


def quotations_of(text: str) -> Iterator[str]:
    """What a text quotes: at least two words, or four Chinese characters."""
    for found in _QUOTED.finditer(text):
        quoted = next(group for group in found.groups() if group).strip()
        if len(quoted.split()) > 1 or len(re.findall("[\u4e00-\u9fff]", quoted)) > 3:
            yield quoted


def references_of(text: str) -> Iterator[str]:
    """The addresses and file names in a text."""
    for found in _ADDRESSES.finditer(text):
        yield found.group().rstrip(".,;:!?")
    for found in _FILES.finditer(_ADDRESSES.sub(" ", text)):
        yield found.group()


def impossible(text: str) -> Iterator[str]:
    """What cannot be: numbers that are not finite or too large, days and times that do not exist."""
    for found in _NOT_FINITE.finditer(text):
        yield f"The number {found.group(1)} is not finite."
    for number, written in numbers_of(text):
        if not math.isfinite(number):
            yield f"The number {written} is not finite."
        elif abs(number) >= LARGEST:
            yield f"The number {written} is too large."
    for date, written in dates_of(text):
        if not date.is_valid():
            yield f"The date {written} does not exist."
    for (hours, minutes, seconds), written in times_of(text):
        at_midnight = (hours, minutes, seconds) == (24, 0, 0)
        if (hours > 23 and not at_midnight) or minutes > 59 or seconds > 59:
            yield f"The time {written} does not exist."
