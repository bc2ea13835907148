"""Numbers of an answer: in the results, rounded, or made of them where the answer says so."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from ..kit import words
from .facts import numbers_of, times_of
from .figures import SMALL, counts, made_of, parts, same, shares, totals
from .lookups import KnownNumbers

_GLUED = re.compile(
    r"(?<![A-Za-z\d])(?:[A-Za-z]{1,3}(\d++(?:\.\d++)?+)(?![\w.]*\w)|(\d++)[A-Za-z]{1,3}(?![A-Za-z\d]))"
)
_PAIRS = 40
"""Numbers of the results up to which an answer may state what two of them make together."""

_LONG = 3_000

_NAMED = re.compile(r"\b[A-Za-z]+-\d+\b")
_CALCULATED = re.compile(
    r"\b(?:totals?|sum|together|combined|altogether|in all|overall|average|mean|"
    r"(?<!no )(?<!not )(?:more|less|fewer)(?! than [\d$€£])|higher|lower|differ\w*|"
    r"increas\w+|decreas\w+|rose|rise|grew|grow\w*|fell|drop\w*|gain\w*|sav\w+|left|remain\w*|net|per|times|twice|doubl\w+|"
    r"ratio|share|percent|discount|chang\w+|comes? to|equals?|later|earlier|ahead|behind|apart|older|younger|longer|shorter|"
    r"cheaper|another|other|rest|plus|minus|too)\b|%|=|共|总|合计|平均|多|少|差|增|减|剩|占|倍|每|率|其余|其他|百分",
    re.I,
)
HEDGED = re.compile(
    r"\b(?:about|around|roughly|nearly|almost|approximately|some|(?:just |a (?:little|bit) |slightly )?(?:under|over)|"
    r"(?:more|less) than|close to|circa|up to)\s+(?:an?\s+)?$|[~≈≥≤]\s?$|约$|大约$|近$|将近$",
    re.I,
)
"""Before a number that is only near the right one."""

NEAR = 0.12
"""How far from the right one such a number may be."""

_FRACTION = re.compile(
    r"\b(half|(?:a|one)[ -](?:third|quarter|fifth|tenth)|two[ -]thirds|three[ -]quarters)\s+(?:of|the)\s+(?!an?\b|hour)",
    re.I,
)
_FRACTIONS = {
    "half": 0.5,
    "third": 1 / 3,
    "quarter": 0.25,
    "fifth": 0.2,
    "tenth": 0.1,
    "thirds": 2 / 3,
    "quarters": 0.75,
}
_PERCENT = re.compile(r"\s?(?:%|percent|per cent|percentage|pp\b|个百分)", re.I)
_CHANGED = re.compile(
    r"\b(?:more|less|fewer|\w+er|increas\w+|decreas\w+|rose|risen?|grew|grow\w*|fell|fall\w*|drop\w*|gain\w*|lost|sav\w+|"
    r"up|down|discount|chang\w+|off|reduc\w+|rais\w+)\b|增|减|涨|跌|降|升|多|少|折|省",
    re.I,
)
_CLOCK = re.compile(r"\b(?:at|until|till|by|from|to|before|after|since)\s+$", re.I)
_QUANTITY = re.compile(r"quantity|qty|count|units|number|nights|hours|days|seats|pieces|amount")


class Figures:
    """The numbers of the results and of the question."""

    def __init__(self, records: list[Mapping[str, Any]], text: str, question: str, years: set[float]) -> None:
        stated = {number for number, _ in numbers_of(text)}
        glued = {float(one or two) for one, two in _GLUED.findall(text.replace("_", " "))}
        counted = set(counts(records))
        added = {total for record in records for total in totals(record.get("result"))}
        bought = {total for record in records for total in _products(record.get("result"))}
        self._known = KnownNumbers(stated | glued | counted | added | bought | years | {float(len(records))})
        # The number of a ticket is a name; nobody calculates with it.
        self._base = (
            {number for number, _ in numbers_of(_NAMED.sub(" ", text))} | glued | counted - {0.0, 1.0}
        )
        self._parts = {part for record in records for part in shares(record.get("result"))}
        self._asked = {number for number, _ in numbers_of(question)}
        self._hours = {float(hours) for (hours, _, _), _ in times_of(text)}
        self._low = text.lower()

    def is_year(self, year: int) -> bool:
        """Whether a number of the results is this year."""
        return self._known.has(float(year), 0)

    def unknown(self, answer: str, converted: set[float]) -> Iterator[str]:
        """The numbers of an answer that are not there, as they are written, but for those that are known in another unit."""
        stated = {number for number, _ in numbers_of(answer)} | self._asked
        seen: set[tuple[float, str]] = set()
        for sentence in re.split(r"(?<=[.!?])\s+|(?<=[。！？；\n])", answer):
            for number, written in numbers_of(sentence):
                if number in converted or (number, written) in seen:
                    continue
                if not self._has(number, written, sentence, stated):
                    seen.add((number, written))
                    yield written
        for found in _FRACTION.finditer(answer):
            if not self._has_share(answer, found):
                yield found.group().strip()

    def _has(self, number: float, written: str, sentence: str, stated: set[float]) -> bool:
        decimals = re.search(r"\.(\d+)", written)
        precision = len(decimals.group(1)) if decimals else 0
        if self._known.has(number, precision):
            return True
        # Looking for each number of a very long sentence would take quadratic time.
        is_short = len(sentence) < _LONG
        place = re.search(rf"(?<![\d.,]){re.escape(written)}(?!\d|[.,]\d)", sentence) if is_short else None
        before = sentence[: place.start()] if place else ""
        # In "+210/−34" a sign says what the number counts.
        if number < 0 and before.endswith("/") and self._known.has(-number, precision):
            return True
        if written.isalpha() and _CLOCK.search(before) and {number, number + 12} & self._hours:
            return True
        if HEDGED.search(before) and number > SMALL and self._known.near(number, NEAR / 2 * number):
            return True
        # A round figure: 2.1 million for 2,102,650, or 350,000 for 350,826.
        digits = re.sub(r"[^\d.]", "", written)
        last = 10.0**-precision if precision else 10.0 ** (len(digits) - len(digits.rstrip("0")))
        unit = last * (number / float(digits) if digits and float(digits) else 1.0)
        if unit >= 100 and self._known.near(number, unit / 2):
            return True
        if any(same(number, part, precision) for part in itertools.islice(self._parts, _PAIRS)):
            return True
        # What is calculated is told as such, or from numbers that are told too.
        base = self._base if _CALCULATED.search(sentence) else self._base & stated
        if len(base) > _PAIRS:
            return False
        # Of small counts almost any number can be made, so only what is left of them or what they are together counts.
        is_percent = place is not None and _PERCENT.match(sentence, place.end()) is not None
        is_percent = is_percent or "百分之" in before[-4:]
        is_count = abs(number) <= SMALL and number == int(number) and not is_percent
        ratio = None if not is_percent else "change" if _CHANGED.search(sentence) else "share"
        made = (one for one in made_of(base, is_count, ratio) if same(number, one, precision))
        return any(precision or abs(one - number) <= 0.01 * abs(number) for one in made)

    def _has_share(self, answer: str, found: re.Match[str]) -> bool:
        """Whether a fraction is that of two numbers of the results."""
        word = re.split(r"[ -]", found.group(1).lower())[-1]
        if word in self._low or len(self._base) > _PAIRS:
            return True
        share = _FRACTIONS[word]
        near = 0.06 if HEDGED.search(answer[: found.start()]) else 0.02
        known = [one for one in self._base if one]
        ratios = (one / two for one, two in itertools.permutations(known, 2))
        percents = (one / 100 for one in self._base | self._parts)
        return any(abs(one - share) <= near for one in (*ratios, *percents))


def _products(result: Any) -> Iterator[float]:
    """What prices times quantities make, for each record of a list and together."""
    for value in parts(result):
        if not isinstance(value, (list, tuple)):
            continue
        made: list[float] = []
        for row in cast("list[Any]", value)[:200]:
            fields = cast("Mapping[Any, Any]", row).items() if isinstance(row, Mapping) else ()
            numbers = {
                " ".join(words(str(key))): float(one)
                for key, one in fields
                if isinstance(one, (int, float)) and not isinstance(one, bool) and abs(one) < 1e12
            }
            many = [number for key, number in numbers.items() if _QUANTITY.search(key)]
            price = [number for key, number in numbers.items() if not _QUANTITY.search(key) and key != "id"]
            if len(many) == 1 and len(price) == 1:
                made.append(many[0] * price[0])
        yield from made
        if len(made) > 1:
            yield sum(made)


def spelt_as_digits(text: str) -> str:
    """A text with digits for numbers that are words, so that "two hours" is a measure.

    >>> spelt_as_digits("It takes two hours.")
    'It takes 2 hours.'
    """
    for number, written in dict.fromkeys(numbers_of(text)):
        if written.isalpha():
            text = re.sub(rf"\b{written}\b(?=\s+[a-z])", f"{number:g}", text)
    return text


def nothing_there(records: Iterable[Mapping[str, Any]]) -> bool:
    """Whether calls that look something up have found nothing."""
    results = [next(parts(record.get("result"))) for record in records]
    return bool(results) and all(map(_is_nothing, results))


def _is_nothing(value: Any) -> bool:
    if isinstance(value, Mapping):
        inner = list(cast("Mapping[Any, Any]", value).values())
        lists: list[Any] = [one for one in inner if isinstance(one, (list, tuple))]
        return not inner or (len(lists) == 1 and not lists[0])
    if isinstance(value, str):
        return not value.strip() or re.match(r"\s*(?:no|0|nothing|none)\b.{0,40}$", value, re.I) is not None
    return isinstance(value, (list, tuple)) and not value
