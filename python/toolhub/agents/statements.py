"""What sentences say besides numbers: the opposite of a result, or pairs of things that do not belong together."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..kit import words
from .prose import MOST_CLAUSES, clauses, content, is_negative, sentences

_ALIKE = 0.75
"""From this share of common words on, two sentences are about the same."""

_FEWEST_WORDS = 2
_MOST_SENTENCES = 300
_MOST_RECORDS = 200
"""More sentences and records than these are not compared with one another."""

_CONTRAST = re.compile(r"\b(?:but|except|however|although)\b|但|除", re.I)
"""A sentence with one of these says yes to one thing and no to another."""

_SMALL = 12
"""Smaller numbers count things, and belong to no record."""


def opposite(answer: str, results: Sequence[str]) -> Iterator[str]:
    """What the results say no to where the answer says yes in the same words, or the other way round."""
    known = [_said_in(part) for text in results for part in (*sentences(text), *clauses(text))]
    known = [one for one in known if len(one[1]) >= _FEWEST_WORDS][:_MOST_SENTENCES]
    told: set[str] = set()
    whole = [one for one in sentences(answer)[:MOST_CLAUSES] if not _CONTRAST.search(one)]
    for part in (*whole, *clauses(answer)):
        _, said, negative = _said_in(part)
        if len(said) < _FEWEST_WORDS:
            continue
        alike = [
            (other, is_no)
            for other, words_of, is_no in known
            if len(said & words_of) >= _ALIKE * len(said | words_of)
        ]
        if alike and all(is_no != negative for _, is_no in alike) and alike[0][0] not in told:
            told.add(alike[0][0])
            yield alike[0][0]


def _said_in(part: str) -> tuple[str, set[str], bool]:
    """A part of a text, what it is about, and whether it denies that."""
    return part.strip(), content(part), is_negative(part)


def mismatched(answer: str, records: Sequence[Sequence[Mapping[str, Any]]]) -> Iterator[tuple[str, str]]:
    """Pairs of values that an answer tells in one breath and that belong to different records of one list."""
    for rows in records:
        if not 1 < len(rows) <= _MOST_RECORDS:
            continue
        owners = _owners(rows)
        for clause in clauses(answer):
            said = _said(clause, owners)
            for text, key, row in said:
                for other, key_of_other, row_of_other in said:
                    if (
                        row < row_of_other
                        and _kind(key) != _kind(key_of_other)
                        and not _is_paired(said, row, row_of_other)
                    ):
                        yield text, other


def _kind(key: str) -> str:
    """What a member is: the names of a sentence are numbered."""
    return "name" if key.startswith("name ") else key


def _owners(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, int]]:
    """The values that only one record has: the name of the member and the number of the record."""
    count: Counter[str] = Counter()
    owners: dict[str, tuple[str, int]] = {}
    for number, row in enumerate(rows):
        for key, value in row.items():
            is_number = (
                isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) > _SMALL
            )
            if isinstance(value, (int, float)) and not isinstance(value, bool) and not is_number:
                # A small number counts things, so that it is told with their name.
                text = f"{value:g} {' '.join(words(str(key)))}"
                count[text] += 1
                owners[text] = (str(key), number)
            elif is_number or (isinstance(value, str) and 2 - (not value.isascii()) < len(value) < 60):
                text = str(value).lower()
                count[text] += 1
                owners[text] = (str(key), number)
    return {text: owner for text, owner in owners.items() if count[text] == 1}


def _said(clause: str, owners: Mapping[str, tuple[str, int]]) -> list[tuple[str, str, int]]:
    low = clause.replace(",", "").lower()
    return [
        (text, *owner)
        for text, owner in owners.items()
        if text in low and re.search(rf"(?<![A-Za-z0-9_.,]){re.escape(text)}(?![A-Za-z0-9_]|[.,]\d)", low)
    ]


def _is_paired(said: Sequence[tuple[str, str, int]], *rows: int) -> bool:
    """Whether a clause has two values of one of these records, or is about more than two: then it lists or compares."""
    counted = Counter(row for _, _, row in said)
    return len(said) > 2 or any(counted[row] > 1 for row in rows)
