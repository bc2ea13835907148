"""Rows and columns: what an answer says of one entry of the results and the results say of another, or under another name."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, cast

from ..kit import words
from .entries import SIZES, Entry, Group, Known
from .facts import dates_of, listed, times_of
from .prose import EMPTY, Clause, stem

_SMALL = 12
"""Smaller numbers count things, and belong to no entry unless they stand before its name."""

_FEWEST = 2
"""So many words of another entry make a clause one about that entry."""

_UNITS = frozenset(listed("pct percent c f kg g km cm mm m s ms min eur usd gbp kmh mph gb mb kb l"))
"""Words of keys that answers leave out."""


def wrong_cells(said: Sequence[Clause], known: Known) -> Iterator[tuple[str, str]]:
    """The name of an entry, and what an answer says of it that is so of another entry only.

    >>> from toolhub.agents.prose import said_in
    >>> pods = Known([{"result": [{"name": "web", "state": "running"}, {"name": "db", "state": "crashed"}]}])
    >>> list(wrong_cells(said_in("The db is running."), pods)), list(wrong_cells(said_in("The web is running."), pods))
    ([('db', 'running')], [])
    """
    for group in known.groups:
        own_words = _own_words(group.entries)
        columns = _columns(group)
        for clause in said:
            named = group.first_named(clause.low) if clause.says else {}
            if len(named) == 1:
                ((place, name),) = named.items()
                other = _cell(clause, columns, place) or _story(clause, name, own_words, place)
                if other is not None:
                    yield name, other


_Columns = dict[str, dict[Any, tuple[str, set[int]]]]


def _columns(group: Group) -> _Columns:
    """By key, the values of a group: what is compared, how it is written, and which entries have it."""
    columns: _Columns = {}
    for place, entry in enumerate(group.entries):
        for key, value in entry.fields:
            compared = _compared(value)
            if compared is not None:
                columns.setdefault(key, {}).setdefault(compared, (str(value), set()))[1].add(place)
    return columns


def _compared(value: Any) -> Any:
    """What of a value can be found in a clause: a number, a moment, or the stems of its words."""
    if isinstance(value, bool) or value is None:
        return None
    text = str(value).lower()
    if isinstance(value, (int, float)) or (text.isdigit() and len(text) < 12):
        number = float(value)
        # No clause has a text, so that a small number is known and never found.
        return number if abs(number) > _SMALL else text
    if len(text) >= 40:
        return None
    moments = [moment for moment, _ in (*times_of(text), *dates_of(text))]
    if moments:
        return moments[0]
    stems = frozenset(stem(word) for word in words(text) if word not in EMPTY)
    return stems if len(text) > 3 - 2 * (not text.isascii()) and stems else None


def _is_said(compared: Any, clause: Clause) -> bool:
    if isinstance(compared, float):
        return compared in clause.numbers
    if isinstance(compared, frozenset):
        return cast("frozenset[str]", compared) <= clause.stems.keys()
    return not isinstance(compared, str) and compared in clause.moments


def _cell(clause: Clause, columns: _Columns, place: int) -> str | None:
    """A value of another entry that a clause gives to this one, and whose own value it leaves out."""
    for values in columns.values():
        mine = [compared for compared, (_, places) in values.items() if place in places]
        if not mine or _is_said(mine[0], clause):
            continue
        for compared, (written, _) in values.items():
            if compared != mine[0] and _is_said(compared, clause) and not _has(columns, place, compared):
                return written
    return None


def _has(columns: _Columns, place: int, compared: Any) -> bool:
    return any(place in values[compared][1] for values in columns.values() if compared in values)


def _own_words(group: Sequence[Entry]) -> list[set[str]]:
    """The words that only one entry has. What a line or a sentence leaves out may stand in the next one, so they have none."""
    of_entries = [
        {stem(word) for word in words(entry.text) if word not in EMPTY and len(word) > 2}
        if len(entry.fields) > 1
        else set[str]()
        for entry in group
    ]
    counted = Counter(word for one in of_entries for word in one)
    return [{word for word in one if counted[word] == 1} for one in of_entries]


def _story(clause: Clause, name: str, own_words: Sequence[set[str]], place: int) -> str | None:
    """Words of another entry in a clause that has none of this one but its name."""
    of_name = set(map(stem, words(name)))
    said = set(clause.stems) - of_name
    if said & own_words[place] or not own_words[place] - of_name:
        return None
    for at, other in enumerate(own_words):
        shared = sorted(said & other)
        if at != place and len(shared) >= _FEWEST and all(word.isalpha() for word in shared):
            return " ".join(shared)
    return None


def wrong_amounts(answer: str, known: Known) -> Iterator[tuple[str, str]]:
    """How many of something an answer tells, if the results tell it of something else: "ten mugs".

    >>> order = Known([{"result": [{"name": "mug", "qty": 2}, {"name": "pen", "qty": 10}]}])
    >>> list(wrong_amounts("2 mugs and 10 pens", order)), list(wrong_amounts("10 mugs", order))
    ([], [('10 mug', 'name mug qty 2')])
    """
    low = answer[:20_000].lower()
    for group in known.groups:
        every = {number for entry in group.entries for _, number in entry.numbers}
        for name, place in group.owners.items() if every else ():
            if name not in low:
                continue
            own = {number for _, number in group.entries[place].numbers}
            for found in re.finditer(rf"(?<![\w.,])(\d{{1,6}}) {re.escape(name)}(?:s|es)?\b", low):
                number = float(found.group(1))
                if own and number not in own and number in every:
                    yield f"{found.group(1)} {name}", group.entries[place].text


def wrong_keys(said: Sequence[Clause], known: Known) -> Iterator[tuple[str, str]]:
    """What an answer tells under the name of another member of the same record: lines added for lines deleted.

    >>> from toolhub.agents.prose import said_in
    >>> change = Known([{"result": {"additions": 210, "deletions": 34}}])
    >>> list(wrong_keys(said_in("It adds 34 lines"), change)), list(wrong_keys(said_in("It adds 210 lines"), change))
    ([('34', 'deletions: 34')], [])
    """
    for entry in known.entries:
        keyed = {key: value for key, value in entry.numbers if entry.fields or key in SIZES}
        texts = {key: value for key, value in entry.fields if isinstance(value, str) and _is_name(value)}
        for clause in said:
            if clause.says and len(keyed) > 1 and len(clause.numbers) == 1:
                yield from _wrong_number(clause, keyed)
            if clause.says and len(set(texts.values())) == len(texts) > 1:
                yield from _wrong_text(clause, texts)


def _is_name(value: str) -> bool:
    return len(value) < 40 and " " in value.strip()


def _wrong_number(clause: Clause, keyed: dict[str, float]) -> Iterator[tuple[str, str]]:
    ((number, written),) = clause.numbers.items()
    own = [key for key, value in keyed.items() if value == number]
    others = [key for key, value in keyed.items() if value != number and _is_key(key, clause)]
    if len(own) != 1 or len(others) != 1 or set(own[0].split()) & set(others[0].split()):
        return
    if not any(_is_key(word, clause) for word in own[0].split()):
        yield written, f"{own[0]}: {number:g}"


def _wrong_text(clause: Clause, texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The secondary told as the primary."""
    told = [key for key, value in texts.items() if value.lower() in clause.low]
    if len(told) == 1 and stem(told[0].lower()) not in clause.stems:
        others = [
            key for key in texts if key not in told and len(key) > 3 and stem(key.lower()) in clause.stems
        ]
        if len(others) == 1:
            yield texts[told[0]], f"{told[0]}: {texts[told[0]]}"


def _is_key(key: str, clause: Clause) -> bool:
    """Whether a clause has the words of a key, or words that begin alike: `additions` and "adds"."""
    if not key.isascii():
        return key in clause.low
    parts = [stem(word) for word in key.split() if len(word) > 2 and word not in _UNITS]
    said = [one for one, word in clause.stems.items() if len(one) > 2 and word not in EMPTY]
    return bool(parts) and all(
        any(
            word == part or part.startswith(word) or (len(part) > 2 and word.startswith(part))
            for word in said
        )
        for part in parts
    )
