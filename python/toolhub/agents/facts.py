"""Facts in a text: numbers, dates, times, quotations and addresses; and whether they can be true.

All patterns read texts whose blanks are `collapsed`, so that a long gap costs nothing; each is linear in the text.
"""

import calendar
import math
import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from ..kit import Message, in_digits

LARGEST = 1e15
"""Numbers in a result are below this."""

_NAMES = (*calendar.month_name, *calendar.month_abbr)
_MONTHS = {"sept": 9} | {name.lower(): n % 13 for n, name in enumerate(_NAMES) if name}
_MONTH = "|".join(name.capitalize() for name in sorted(_MONTHS, key=len, reverse=True))
_TH = "(?:st|nd|rd|th)?"
_WORTH = (
    "hundred 1e2 thousand 1e3 k 1e3 千 1e3 万 1e4 million 1e6 m 1e6 mn 1e6 百万 1e6 千万 1e7 亿 1e8 billion 1e9 bn 1e9 b 1e9 "
    "trillion 1e12 万亿 1e12"
)
_SCALES = dict[str, float](zip(_WORTH.split()[::2], map(float, _WORTH.split()[1::2]), strict=True))

_DATES = [
    re.compile(r"(?<!\d)(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)"),
    re.compile(r"(?<![\d.])(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})(?![\d.]\d)"),
    re.compile(r"(?P<y>\d{4}) ?年 ?(?P<m>\d{1,2}) ?月(?: ?(?P<d>\d{1,2}) ?[日号])?"),
    re.compile(rf"\b(?P<n>{_MONTH})\.? (?P<d>\d{{1,2}}){_TH},? (?P<y>\d{{4}})\b"),
    re.compile(rf"\b(?P<d>\d{{1,2}}){_TH} (?:of )?(?P<n>{_MONTH})\.?(?:,? (?P<y>\d{{4}}))?\b"),
    re.compile(rf"\b(?P<n>{_MONTH})\.? (?P<y>\d{{4}})\b"),
    # "In January 38 of them": a number beyond a month's days, or after "in", is not a day.
    re.compile(rf"(?<!\b[Ii]n )\b(?P<n>{_MONTH})\.? (?P<d>3[01]|[12]\d|0?[1-9]){_TH}\b(?![.,]?\d)"),
    re.compile(r"(?<![\d年])(?P<m>\d{1,2}) ?月 ?(?P<d>\d{1,2}) ?[日号]"),
]
# "2点" may be two points, unless something says that it is a time.
_TIME = re.compile(
    r"(?i)(?P<before>凌晨|[上中下]午|[早晚]上)? ?(?<![\d:.])(?:(?P<h>\d{1,2})[:：](?P<m>\d{2})(?:[:：](?P<s>\d{2}))?(?![\d:])"
    r"(?: ?(?P<half>[ap])\.?m\b)?|(?P<hour>\d{1,2}) ?(?P<short>[ap])\.?m\b|"
    r"(?P<dian>\d{1,2})点(?:(?P<fen>\d{1,2})分?|(?P<ban>半)|(?<=[午上晨]\d点)|(?<=[午上晨]\d\d点)|(?=[钟整开出到])))"
)
_HALF = re.compile(r"[ap]\.?m\b|[晨午]|[早晚]上|^0\d", re.I)
# A number may follow a Chinese character, and a sign of its own. Before a capital letter it is a name (3D), before 月 a month.
_NUMBER = re.compile(
    r"(?:(?<![A-Za-z0-9_.,/-])[-−+])?(?<![A-Za-z0-9_.])(?<!\d,)(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?"
    r"(?!\d|\.\d|[ACDEFGHIJLNOPQRSTUVWXYZ]\b|(?:st|nd|rd|th)\b| ?世纪| ?月)"
    r"(?: ?(hundred|thousand|million|billion|trillion|bn|mn)\b|(k|K|m|M|b|B)\b| ?(万亿|百万|千万|[千万亿]))?",
)
_NOT_FINITE = re.compile(
    r"(?i)(?:^|[=:\[,(] ?|\bis |为|是)([-+]?(?:nan|inf|infinity))(?= ?(?:$|[,.;\])}。]))"
)
# "7 minus 4" is a difference.
_MINUS = re.compile(r"(?:零下|(?<![\d)])(?<![\d)] )\b(?:minus|negative)) ?$", re.I)
_BELOW = re.compile(r" ?(?:°|degrees?)? ?(?:Celsius|Fahrenheit|[CF])? ?below (?:zero|freezing)\b", re.I)
_MARKER = re.compile(r"(?m)(?:(?P<line>^) ?(?:[-*] )?|[ :：,，;；。])\(?(?P<n>\d{1,2})[.)、] ?(?=\D)")
_QUOTED = re.compile(
    r"\"([^\"\n]{3,})\"|“([^“”\n]{3,})”|「([^「」\n]{2,})」|『([^『』\n]{2,})』|《([^《》\n]{2,})》|«([^«»\n]{3,})»"
)
# One attempt for each run of characters, and no way back into it: a long run without an end would take quadratic time.
_ADDRESSES = re.compile(
    r"https?://[^\s\"'<>)\]，。；、（）\u4e00-\u9fff]+|(?<![A-Za-z0-9_.+-])[A-Za-z0-9_.+-]++@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)+"
)
_FILES = re.compile(
    r"(?a)(?<![\w/.@-])(?:~?/)?(?:[\w.-]++/)*+(?:[\w-]++\.)+(?:[a-z]{2,5}|mp[34]|7z)(?!\w)(?!\.\w)|"
    r"(?<![\w/.@~-])(?:~|/[\w.-]*\w)(?:/[\w.-]*\w)+"
)


def collapsed(text: str, limit: int) -> str:
    """The first characters of a text, with one blank for each gap; lines stay.

    >>> collapsed("a   b\\t\\n\\n  c", 100)
    'a b\\nc'
    """
    lines = (" ".join(line.split()) for line in text[:limit].splitlines())
    return "\n".join(line for line in lines if line)


class Date(NamedTuple):
    """A date, of which the year or the day may be missing."""

    year: int | None
    month: int
    day: int | None

    def as_day(self) -> date | None:
        """The day, or one that it may be; None if there is no such day."""
        try:
            return date(2024 if self.year is None else self.year, self.month, self.day or 1)
        except ValueError:
            return None


Time = tuple[int, int, int]
Place = tuple[int, int]


def dates_of(text: str) -> Iterator[tuple[Date, str]]:
    """The dates in a text, and how they are written.

    >>> sorted(date for date, _ in dates_of("From March 5, 2024 to 2024-04-01"))
    [Date(year=2024, month=3, day=5), Date(year=2024, month=4, day=1)]
    """
    yield from ((day, text[start:end]) for day, (start, end) in _dated(text))


def _dated(text: str) -> Iterator[tuple[Date, Place]]:
    """The dates in a text and their places. What one pattern has read, no other reads again."""
    taken = bytearray(len(text))
    for pattern in _DATES:
        for found in pattern.finditer(text):
            start, end = found.span()
            if taken.find(1, start, end) >= 0:
                continue
            taken[start:end] = b"\1" * (end - start)
            parts = found.groupdict()
            month = _MONTHS[parts["n"].lower()] if parts.get("n") else int(parts["m"])
            year, day = parts.get("y"), parts.get("d")
            yield Date(int(year) if year else None, month, int(day) if day else None), (start, end)


def times_of(text: str) -> Iterator[tuple[Time, str]]:
    """The times of day in a text as hours (0 to 23 where they are valid), minutes and seconds.

    >>> [time for time, _ in times_of("9:05 pm, 下午2:30")]
    [(21, 5, 0), (14, 30, 0)]
    """
    for found in _TIME.finditer(text):
        part = found.groupdict()
        hours = int(part["h"] or part["hour"] or part["dian"])
        minutes = 30 if part["ban"] else int(part["m"] or part["fen"] or 0)
        half = (part["half"] or part["short"] or "").lower()
        if half:
            hours = hours % 12 + (12 if half == "p" else 0) if 1 <= hours <= 12 else 99
        elif part["before"] in ("下午", "晚上") and hours < 12:
            hours += 12
        yield (hours, minutes, int(part["s"] or 0)), found.group().strip()


def times_meant(time: Time, written: str) -> set[Time]:
    """What a time may mean: both halves of the day, if nothing says which one it is."""
    hours, minutes, seconds = time
    is_clear = hours > 12 or _HALF.search(written)
    return {time} if is_clear else {time, ((hours + 12) % 24, minutes, seconds)}


class Figure(NamedTuple):
    """A number in a text: what it is worth, how it is written, and where."""

    value: float
    written: str
    start: int
    end: int

    @property
    def step(self) -> float:
        """What its last digit is worth: 0.1 of 2.5, 10,000 of 105万; zeros at the end may be rounded from 100 on."""
        digits = re.sub(r"[^\d.]", "", self.written.lower().partition("e")[0])
        if not digits.strip("0."):
            return 1.0
        whole, _, decimals = digits.partition(".")
        step = 10.0 ** -len(decimals) if decimals else 10.0 ** (len(whole) - len(whole.rstrip("0")))
        scaled = step * abs(self.value) / float(digits)
        return scaled if decimals or scaled >= 100 else scaled / step

    @property
    def digits(self) -> int:
        """The number of its digits that count: 2 of 350,000, 5 of 121.55."""
        return len(re.sub(r"\D", "", self.written).strip("0"))


def figures_of(text: str) -> Iterator[Figure]:
    """The numbers in a text, without those of dates, times, list markers, addresses and ordinals.

    >>> [(one.value, one.step) for one in figures_of("1. About 2.5 million people, 12% of them on 2024-05-01")]
    [(2500000.0, 100000.0), (12.0, 1.0)]
    """
    rest = _blank(text, (found.span() for found in _ADDRESSES.finditer(text)))
    rest = _blank(rest, (place for _, place in _dated(rest)))
    for pattern in (_TIME, _FILES):
        rest = _blank(rest, (found.span() for found in pattern.finditer(rest)))
    rest = _blank(rest, _markers(rest))
    for found in _NUMBER.finditer(rest):
        scale = next((group for group in found.groups() if group), "")
        digits = found.group()[: len(found.group()) - len(scale)].strip()
        value = float(digits.replace(",", "").replace("−", "-")) * _SCALES.get(scale.lower(), 1.0)
        start, end = found.span()
        if value > 0 and (_MINUS.search(rest, max(0, start - 12), start) or _BELOW.match(rest, end)):
            value = -value
        yield Figure(value, found.group().strip(), start, end)


def _markers(text: str) -> Iterator[Place]:
    """The numbers of lists: at the beginning of a line, or one after another in it."""
    last = 0
    for found in _MARKER.finditer(text):
        if found["line"] is not None or int(found["n"]) == last + 1:
            last = int(found["n"])
            yield found.span("n")


def numbers_of(text: str) -> Iterator[tuple[float, str]]:
    """The numbers in a text, and how they are written."""
    yield from ((one.value, one.written) for one in figures_of(in_digits(collapsed(text, len(text)))))


def _blank(text: str, places: Iterator[Place]) -> str:
    """A text with blanks for these places, so that all others stay where they are."""
    parts: list[str] = []
    at = 0
    for start, end in sorted(places):
        if start >= at:
            parts += (text[at:start], " " * (end - start))
            at = end
    return "".join((*parts, text[at:]))


def quotations_of(text: str) -> Iterator[str]:
    """What a text quotes: at least two words, or four Chinese characters. Where it leaves something out, each part."""
    for found in _QUOTED.finditer(text):
        quoted = next(group for group in found.groups() if group)
        for part in re.split(r"\.\.\.|…+|\[[^\]]*\]", quoted):
            if len(part.split()) > 1 or len(re.findall("[\u4e00-\u9fff]", part)) > 3:
                yield part.strip()


def references_of(text: str) -> Iterator[str]:
    """The addresses and file names in a text."""
    for found in _ADDRESSES.finditer(text):
        yield found.group().rstrip(".,;:!?")
    rest = _blank(text, (found.span() for found in _ADDRESSES.finditer(text)))
    yield from (found.group() for found in _FILES.finditer(rest))


def impossible(text: str, known: str = "") -> Iterator[str]:
    """What cannot be: numbers that are not finite, or too large and not `known`; days and times that do not exist."""
    text = in_digits(text)
    for found in _NOT_FINITE.finditer(text):
        yield Message("The number {} is not finite.", found.group(1))
    for number, written in numbers_of(text):
        if not math.isfinite(number):
            yield Message("The number {} is not finite.", written)
        elif abs(number) >= LARGEST and written not in known:
            yield Message("The number {} is too large.", written)
    for day, written in dates_of(text):
        if day.as_day() is None or day.day == 0:
            yield Message("The date {} does not exist.", written)
    for (hours, minutes, seconds), written in times_of(text):
        at_midnight = (hours, minutes, seconds) == (24, 0, 0)
        if (hours > 23 and not at_midnight) or minutes > 59 or seconds > 59:
            yield Message("The time {} does not exist.", written)
