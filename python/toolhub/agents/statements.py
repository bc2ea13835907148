"""What sentences say besides numbers: the opposite of a result, or pairs of things that do not belong together."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from ..kit import words

_ALIKE = 0.75
"""From this share of common words on, two sentences are about the same."""

_FEWEST_WORDS = 3
_MOST_SENTENCES = 300
_MOST_CLAUSES = 100
_MOST_RECORDS = 200
"""More sentences and records than these are not compared with one another."""

_SMALL = 12
"""Smaller numbers count things, and belong to no record."""

_NOT = re.compile(r"\b(?:not|never|no|none|cannot|without)\b|n't\b|没有|不是|不能|不会|未|无法|不", re.I)
_EMPTY = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "did",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "he",
        "her",
        "his",
        "i",
        "in",
        "is",
        "it",
        "its",
        "no",
        "none",
        "not",
        "never",
        "of",
        "on",
        "or",
        "our",
        "she",
        "so",
        "than",
        "that",
        "the",
        "their",
        "then",
        "there",
        "they",
        "this",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "which",
        "who",
        "will",
        "with",
        "without",
        "yes",
        "you",
        "your",
        "cannot",
        "can",
        "t",
        "don",
        "doesn",
        "isn",
        "aren",
        "wasn",
        "weren",
    ]
)
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；\n])\s*|[:：]\s")
_CLAUSES = re.compile(r"[.!?;,:](?:\s+|$)|[。！？；，\n]\s*|\s+(?:and|while|but|whereas|和|而)\s+")


def opposite(answer: str, results: Sequence[str]) -> Iterator[str]:
    """Sentences of the results that say no where the answer says yes in the same words, or the other way round."""
    known = [
        (sentence, set_of, _is_negative(sentence))
        for text in results
        for sentence in _sentences(text)
        if len(set_of := _content(sentence)) >= _FEWEST_WORDS
    ][:_MOST_SENTENCES]
    for sentence in _sentences(answer)[:_MOST_CLAUSES]:
        said = _content(sentence)
        if len(said) < _FEWEST_WORDS:
            continue
        alike = [
            (other, negative)
            for other, content, negative in known
            if len(said & content) >= _ALIKE * len(said | content)
        ]
        if alike and all(negative != _is_negative(sentence) for _, negative in alike):
            yield alike[0][0].strip()


def _sentences(text: str) -> list[str]:
    return [part for part in _SENTENCES.split(text[:20_000]) if part.strip()]


def _content(sentence: str) -> set[str]:
    """The words that say what a sentence is about, without endings that only grammar asks for."""
    found = (word for word in words(sentence) if word not in _EMPTY)
    return {word[:-1] if len(word) > 3 and word.endswith("s") else word for word in found}


def _is_negative(sentence: str) -> bool:
    return _NOT.search(sentence) is not None


def mismatched(answer: str, records: Sequence[Sequence[Mapping[str, Any]]]) -> Iterator[tuple[str, str]]:
    """Pairs of values that an answer tells in one breath and that belong to different records of one list."""
    for rows in records:
        if not 1 < len(rows) <= _MOST_RECORDS:
            continue
        owners = _owners(rows)
        for clause in _CLAUSES.split(answer)[:_MOST_CLAUSES]:
            said = _said(clause, owners)
            for text, key, row in said:
                for other, key_of_other, row_of_other in said:
                    if row < row_of_other and key != key_of_other and not _is_paired(said, row, row_of_other):
                        yield text, other


def _owners(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, int]]:
    """The values that only one record has: the name of the member and the number of the record."""
    count: Counter[str] = Counter()
    owners: dict[str, tuple[str, int]] = {}
    for number, row in enumerate(rows):
        for key, value in row.items():
            is_number = (
                isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) > _SMALL
            )
            if is_number or (isinstance(value, str) and 2 < len(value) < 60):
                text = str(value).lower()
                count[text] += 1
                owners[text] = (str(key), number)
    return {text: owner for text, owner in owners.items() if count[text] == 1}


def _said(clause: str, owners: Mapping[str, tuple[str, int]]) -> list[tuple[str, str, int]]:
    low = clause.replace(",", "").lower()
    return [
        (text, *owner)
        for text, owner in owners.items()
        if text in low and re.search(rf"(?<![\w.,]){re.escape(text)}(?!\w|[.,]\d)", low)
    ]


def _is_paired(said: Sequence[tuple[str, str, int]], *rows: int) -> bool:
    """Whether a clause has two values of one of these records, or is about more than two: then it lists or compares."""
    counted = Counter(row for _, _, row in said)
    return len(said) > 2 or any(counted[row] > 1 for row in rows)


def rows_in(value: Any) -> list[Mapping[str, Any]]:
    """The records of a list, if it is one of records."""
    if not isinstance(value, (list, tuple)):
        return []
    entries = cast("list[Any]", value)
    return [cast("Mapping[str, Any]", one) for one in entries if isinstance(one, Mapping)]
