"""Names in an answer: codes, people, companies and places that nothing in the results mentions."""

import calendar
import re
from collections.abc import Iterator

from .facts import listed
from .prose import EMPTY, content

_CODE = re.compile(
    r"(?<![\w./@:#-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*(?![\w/@-]|\.\w)"
)
_SPELLED = re.compile(
    r"(?<![\w./])(?:\d+\.\d+(?:\.\d+)+|[a-z]+(?:_[a-z0-9]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)*(?:Error|Exception))(?![\w/]|\.\w)"
)
"""Versions, names of functions, kinds of errors."""

_MEASURED = re.compile(
    r"\d+(?:st|nd|rd|th|s|x|k|m|b|h|d|g|[a-z]{1,3}|[KMGT]?i?B|[kMG]?Hz|[ap]m)(?:-[a-z]+)?|\d+(?:-[a-z]+)+|[A-Za-z]+-\d|"
    r"(?:v|p|q|h|mp|utf-?|sha-?|ipv|covid-?|top-?)\d+",
    re.I,
)
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\b[DM][rs]\.)(?<!\bMrs\.)\s+|(?<=[。！？；;\n])\s*|:\s")
_NAME = re.compile(r"(?<![\w@/.'’-])[A-Z][a-z]+(?:['’-][A-Z]?[a-z]+)*(?![\w@/]|\.\w)")
_ACRONYM = re.compile(
    r"(?<=\bby )[A-Z]{2,5}\b|(?<=\bwith )[A-Z]{2,5}\b|(?<=\bvia )[A-Z]{2,5}\b|(?<=\bfrom )[A-Z]{2,5}\b|"
    r"(?<=\bto )[A-Z]{3,5}\b"
)
_GENERAL = frozenset(
    listed(
        "i mr mrs ms dr prof sir ok yes no celsius fahrenheit kelvin english chinese internet web excel "
        "python json csv pdf html http https url api sql ai usd eur gbp cny jpy chf utc gmt cet est pst am pm "
        "kb mb gb tb id ids faq todo ceo cto cfo dns ip tcp udp ssl tls ssh git markdown unicode windows "
        "linux macos ios android google christmas easter north south east west northern southern eastern "
        "western european american spring summer autumn winter "
    )
) | {
    name.lower()
    for names in (calendar.day_name, calendar.day_abbr, calendar.month_name, calendar.month_abbr)
    for name in names
    if name
}
_ADVICE = re.compile(
    r"\b(?:let me know|please|you (?:can|could|may|might|should)|"
    r"would you|i (?:can|could|recommend|suggest)|feel free|for example|"
    r"e\.g\.|such as|hope)\b",
    re.I,
)
_SHORT = re.compile(r"^[A-Z]{2,4}$", re.M)
_SHORTEST_CODE = 4


def unknown_names(answer: str, known: str) -> Iterator[str]:
    """Codes and names of an answer that a text does not have.

    Names are looked up only in sentences that are about that text; what stands behind a comma explains the name before it
    ("Oslo, Norway"), and a sentence begins with a capital letter anyway.

    >>> list(unknown_names("The parcel QX7PML went to Ann with UPS.", "Parcel QX7PLM for Ann Lee is with DHL."))
    ['QX7PML', 'UPS']
    """
    low = known.lower()
    plain = re.sub(r"[\W_]", "", low)
    for code in codes_of(answer):
        if re.sub(r"[\W_]", "", code.lower()) not in plain:
            yield code
    found = [(sentence, one) for sentence in _told(answer) for one in _names_in(sentence)]
    if not found:
        return
    starts = {word[:4] for word in re.findall(r"[a-z]{4,}", low)}
    about = content(known)
    codes = _SHORT.search(known) is not None
    for sentence, one in found:
        name, before = one.group().lower(), sentence[: one.start()]
        if name in low or (len(name) > 5 and name[:4] in starts) or not content(sentence) & about:
            continue
        # A code such as ZRH may stand for a place.
        if not (codes and re.search(r"\b(?:from|to|in|at|of)\s+$", before)):
            yield one.group()


def _told(answer: str) -> list[str]:
    """The sentences of an answer that tell something."""
    split = _SENTENCE.split(answer[:20_000])
    return [sentence for sentence in split if not _ADVICE.search(sentence) and not _is_heading(sentence)]


def _names_in(sentence: str) -> "Iterator[re.Match[str]]":
    for found in (*_NAME.finditer(sentence), *_ACRONYM.finditer(sentence)):
        name, before = found.group().lower(), sentence[: found.start()]
        is_general = name in EMPTY or name in _GENERAL or name.removesuffix("s") in _GENERAL
        if not is_general and re.search(r"\w", before) and not re.search(r"[,(*#\"“]\s*$", before):
            yield found


def codes_of(text: str) -> list[str]:
    """The words of a text that mix letters and digits, without measures and the like."""
    found = dict.fromkeys(_CODE.findall(text))
    codes = [code for code in found if len(code) >= _SHORTEST_CODE and not _MEASURED.fullmatch(code)]
    return [*codes, *dict.fromkeys(_SPELLED.findall(text))]


def _is_heading(sentence: str) -> bool:
    found = re.findall(r"[A-Za-z]\w+", sentence)
    return len(found) < 3 or sum(word[0].isupper() for word in found) > 0.7 * len(found)
