"""Who did what to whom, and which of two values has which name: sentences that turn a relation of the results round."""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ..kit import words
from .entries import Entry, Known
from .facts import dates_of, times_of
from .prose import Clause, clauses, names_it, stem

_NAME = re.compile(r"[A-Z][\w&'’-]*(?:\s+[A-Z][\w&'’-]*)*")
_PASSIVE = re.compile(r"\b(?:was|were|is|are|been|being|be)\s+(?:\w+ly\s+)?([a-z]+)\s+by\b")
_SAYS = re.compile(
    r"\b(?:said|says|told|called|calls|wrote|writes|stated|states|asked|replied|"
    r"according to|quot\w+|added|claims?|claimed)\b|说|称|表示",
    re.I,
)
_CONVERSE = [
    ("manag|supervis|lead|head|boss", "report"),
    ("teach|taught", "learn"),
    ("lend|lent", "borrow"),
    ("own", "belong"),
    ("preced", "follow"),
    ("win|won|beat|defeat", "lost|lose"),
    ("outrank|exceed", "trail"),
]
_SAME_KEYS = [
    {"depart", "departur", "dep", "leav", "start", "begin", "outbound"},
    {"arriv", "arrival", "arr", "reach", "land", "end", "until", "finish", "inbound"},
    {"open", "opening"},
    {"clos", "closing"},
    {"creat", "opened"},
    {"updat", "modifi", "edit", "chang"},
    {"born", "birth"},
    {"died", "death"},
    {"min", "minimum", "low", "lowest"},
    {"max", "maximum", "high", "highest"},
    {"check-in", "checkin"},
    {"check-out", "checkout"},
    {"due", "deadlin"},
    {"issu", "issued"},
]


def turned_round(said: Sequence[Clause], known: Known) -> Iterator[tuple[str, str]]:
    """Clauses of an answer that exchange the two sides of a relation, and the sentence of the results.

    >>> from toolhub.agents.prose import said_in
    >>> told = Known([{"result": "Lumen acquired Norvex in 2019."}])
    >>> list(turned_round(said_in("Norvex acquired Lumen."), told))
    [('Norvex acquired Lumen', 'Lumen acquired Norvex in 2019')]
    >>> list(turned_round(said_in("Norvex was acquired by Lumen."), told))
    []
    """
    answered = [
        (relation, clause.text)
        for clause in said
        if not clause.is_negative
        for relation in _relations(clause.text)
    ]
    if not answered:
        return
    told = [
        (relation, clause.strip())
        for entry in known.entries
        if not entry.fields
        for clause in clauses(entry.text)
        for relation in _relations(clause)
    ]
    for (doer, deed, object_), clause in answered:
        same = [(one, text) for one, text in told if one[1] == deed and {one[0], one[2]} == {doer, object_}]
        if same and all(one[0] == object_ for one, _ in same):
            yield clause, same[0][1]


def _relations(clause: str) -> Iterator[tuple[str, str, str]]:
    """Who does what to whom, with the verb as a stem; of "is … by" and of converse verbs the sides are exchanged."""
    names = list(_NAME.finditer(clause))
    for left, right in itertools.pairwise(names):
        between = clause[left.end() : right.start()]
        passive = _PASSIVE.search(between)
        verb = passive.group(1) if passive else _first_verb(between)
        if verb is None or len(between) > 60:
            continue
        one, two = _last(left.group()), _last(right.group())
        deed = stem(verb)
        turned = passive is not None
        for first, second in _CONVERSE:
            if re.match(first, verb):
                deed = first
            elif re.match(second, verb):
                deed, turned = first, not turned
        yield (two, deed, one) if turned else (one, deed, two)


def _last(name: str) -> str:
    """The part of a name that also stands alone."""
    return name.split()[0].lower() if len(name.split()) > 1 and name.split()[-1].islower() else name.lower()


def _first_verb(between: str) -> str | None:
    found = re.match(r"\s+(?:has |had |have |also |then |directly )*([a-z]{3,})\b", between)
    word = found.group(1) if found else None
    is_verb = word is not None and (
        re.search(r"(?:ed|s|ght|old|aught)$", word) is not None
        or word in ("lent", "won", "beat", "lost", "led")
    )
    return word if is_verb and word not in ("was", "his", "its", "this", "has", "is", "does") else None


def exchanged(said: Sequence[Clause], known: Known) -> Iterator[tuple[str, str]]:
    """Moments of an answer that have the name of another member of the same record: it leaves when it arrives.

    >>> from toolhub.agents.prose import said_in
    >>> train = Known([{"result": {"departs": "09:04", "arrives": "11:02"}}])
    >>> list(exchanged(said_in("It leaves at 11:02."), train)), list(exchanged(said_in("It leaves at 09:04."), train))
    ([('11:02', 'arrives: 11:02')], [])
    """
    dated = [clause for clause in said if clause.moments]
    for entry in known.entries if dated else ():
        moments = _moments(entry)
        for clause in dated if len(moments) > 1 else ():
            for moment, text in clause.moments.items():
                own = [one for one in moments if one[2] == moment]
                others = [
                    one for one in moments if one[2] not in clause.moments and one[1] & clause.stems.keys()
                ]
                if own and others and not any(one[1] & clause.stems.keys() for one in own):
                    yield text, f"{own[0][0]}: {own[0][3]}"


def _moments(entry: Entry) -> list[tuple[str, set[str], Any, str]]:
    """The members of a record that are a time or a date: key, words for it, moment, as it is written."""
    found: list[tuple[str, set[str], Any, str]] = []
    for key, value in entry.fields:
        if not isinstance(value, str) or len(value) > 40:
            continue
        own = {stem(word) for word in words(key)}
        also = [group for group in _SAME_KEYS if group & own]
        for moment, _ in (*times_of(value), *dates_of(value)):
            found.append((key, own.union(*also), moment, value))
    return found


def misattributed(
    said: Sequence[Clause], quotations: Sequence[str], known: Known
) -> Iterator[tuple[str, str]]:
    """Clauses with a quotation, and the sentence of the results with it, if that names somebody else."""
    for quotation, clause in ((one, clause) for one in quotations for clause in said if one in clause.text):
        instead = _said_by_another(quotation, clause.text, known.entries)
        if instead is not None:
            yield clause.text, instead


def _said_by_another(quotation: str, clause: str, entries: Sequence[Entry]) -> str | None:
    if not _SAYS.search(clause):
        return None
    flat = " ".join(words(quotation))
    holders = [entry for entry in entries if flat in " ".join(words(entry.text))]
    low = clause.replace(quotation, " ").lower()
    named = {name for entry in entries for name in entry.names if _shares(name, low)}
    own = {name for entry in holders for name in entry.names}
    if not holders or not named or not own:
        return None
    is_own = any(_shares(name, entry.text) for entry in holders for name in named)
    return None if is_own else holders[0].text


def _shares(name: str, text: str) -> bool:
    """Whether a text has a word of a name."""
    low = text.lower()
    return any(names_it(word, low) for word in name.split() if len(word) > 2)
