"""How an answer is read: sentences, clauses, the words that carry meaning, and whether something is denied."""

import re
from typing import Any, NamedTuple

from ..kit import words
from .facts import dates_of, listed, numbers_of, times_of

MOST_CLAUSES = 100
"""More clauses of one text than these are not compared with others."""

_LONGEST = 20_000

_SENTENCES = re.compile(
    r"(?<=[.!?;])(?<!\b[A-Z]\.)(?<!\b[DM][rs]\.)(?<!\bMrs\.)[\"”’)]*\s+|(?<=[。！？；\n])\s*|[:：]\s"
)
_CLAUSES = re.compile(
    r"(?:(?<!\b[A-Z])(?<!\b[DM][rs])(?<!\bMrs)\.|[!?;,:])[\"”’)]*(?:\s+|$)|[。！？；，\n]\s*|\s+(?:and|while|but|whereas|because|so|和|而)\s+|\s[–—-]\s"
)
_PIECES = re.compile(
    r"(?:(?<!\b[A-Z])(?<!\b[DM][rs])(?<!\bMrs)\.|[!?;,:])[\"”’)]*(?:\s+|$)|[。！？；，\n]\s*|\s[–—]\s"
)
_NOT = re.compile(
    r"\b(?:not|never|no|none|neither|nor|nothing|nobody|cannot|without|hardly)\b|n['’]t\b|没有|不是|不能|不会|未|无法|没|不",
    re.I,
)
_OPEN = re.compile(
    r"\b(?:if|once|until|unless|whether|when|would|will|should|could|might|can|must|shall|please|expected to)\b|'ll\b|"
    r"\?|如果|一旦|是否|将|应该|可以|可能|？",
    re.I,
)
EMPTY = frozenset(
    listed(
        "a an and are as at be been but by did do does for from had has have he her his i in is it its no "
        "none not never of on or our she so than that the their then there they this to was we were what when "
        "which who will with without yes you your cannot can t don doesn isn aren wasn weren also still now s "
        "re ve yet just too already "
    )
)
"""Words that say nothing about what a sentence is about."""


def sentences(text: str) -> list[str]:
    """The sentences of a text; what stands before a colon is one too."""
    return [part for part in _SENTENCES.split(text[:_LONGEST]) if part.strip()]


def clauses(text: str) -> list[str]:
    """The parts of sentences that say one thing each."""
    return [part for part in _CLAUSES.split(text[:_LONGEST]) if part.strip()][:MOST_CLAUSES]


def pieces(text: str) -> list[str]:
    """The parts of sentences between signs: "A is higher than B and C" stays whole."""
    return [part for part in _PIECES.split(text[:_LONGEST]) if part.strip()][:MOST_CLAUSES]


def stem(word: str) -> str:
    """A word without the endings that grammar asks for.

    >>> stem("raised"), stem("raises"), stem("permitted"), stem("permit"), stem("tries"), stem("try"), stem("red")
    ('rais', 'rais', 'permit', 'permit', 'tri', 'tri', 'red')
    """
    for ending in ("ing", "ied", "ies", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 2 + (len(ending) > 1):
            word = word[: -len(ending)] + ("i" if ending in ("ied", "ies", "y") else "")
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeious" else word


def content(text: str) -> set[str]:
    """The stems of the words that say what a text is about."""
    return {stem(word) for word in words(text) if word not in EMPTY}


def is_negative(text: str) -> bool:
    """Whether a text denies something."""
    return _NOT.search(text) is not None


def is_open(text: str) -> bool:
    """Whether a text says what may be, and not what is: a condition, a plan, a question."""
    return _OPEN.search(text) is not None


def names_it(name: str, low: str) -> bool:
    """Whether a text in lower case has a name, and not as a part of a longer word."""
    return name in low and re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", low) is not None


class Clause(NamedTuple):
    """A part of an answer that says one thing, read once for all rules."""

    text: str
    low: str
    stems: dict[str, str]
    """The stems of its words, and the words."""
    numbers: dict[float, str]
    moments: dict[Any, str]
    is_negative: bool
    is_open: bool

    @property
    def says(self) -> bool:
        """Whether it says that something is so."""
        return not self.is_negative and not self.is_open


def said_in(answer: str) -> list[Clause]:
    """The clauses of an answer.

    >>> [(one.text, one.numbers, one.is_negative) for one in said_in("Ann has 3 files, and Bob has none.")]
    [('Ann has 3 files', {3.0: '3'}, False), ('and Bob has none', {}, True)]
    """
    return [_read(text) for text in clauses(answer)]


def _read(text: str) -> Clause:
    moments: dict[Any, str] = {}
    moments.update(times_of(text))
    moments.update(dates_of(text))
    return Clause(
        text=text.strip(),
        low=text.lower(),
        stems={stem(word): word for word in words(text)},
        numbers=dict(numbers_of(text)),
        moments=moments,
        is_negative=is_negative(text),
        is_open=is_open(text),
    )
