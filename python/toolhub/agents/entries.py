"""What belongs together in the results: records, rows of tables, lines and sentences, each with its names and its numbers."""

import calendar
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from ..kit import words
from .facts import numbers_of
from .figures import parts
from .measures import measures_of
from .prose import EMPTY, names_it, stem

_MOST = 200
"""More entries than these are not told apart."""

_LONGEST = 20_000
"""So much of a text is read."""

_LINE = re.compile(r"\s*(?:[-*•]\s+)?([^:=\d][^:=]{0,60}?)\s*[:=]\s*(\S.*)")
_SENTENCE = re.compile(
    r"(?<=[.!?;])(?<!\b[A-Z]\.)(?<!\b[DM][rs]\.)(?<!\bMrs\.)\s+|(?<=[.!?][\"”])\s+|(?<=[。！？；\n])\s*"
)
_NAME = re.compile(r"[A-Z][\w&'’-]*(?:\s+[A-Z][\w&'’-]*)*")
_COUNTED = re.compile(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?)\s+([a-z]{3,})")
_NO_NAME = re.compile(r"[\d\s:.,/TZ+%€$£-]+")
"""Moments and numbers, which name no entry."""

_WHOLE = {
    short.lower(): long.lower()
    for names in ((calendar.month_abbr, calendar.month_name), (calendar.day_abbr, calendar.day_name))
    for short, long in zip(*names, strict=True)
    if short
}
SIZES = ("long", "tall", "high", "wide", "deep", "thick", "old", "heavy")
"""Adjectives behind a measure that say what it measures."""

_SIZED = re.compile(rf"(?<![\w.,])(\d[\d,]*(?:\.\d+)?)\s?[a-z]+\s({'|'.join(SIZES)})\b", re.I)


class Entry(NamedTuple):
    """A record of the results, or a line or sentence that is one."""

    group: int
    """Entries of one list, table or text, or of calls of one tool, have the same."""
    fields: tuple[tuple[str, Any], ...]
    names: tuple[str, ...]
    """Texts in lower case that may name it."""
    numbers: tuple[tuple[str, float], ...]
    """What is measured or counted, and how much it is."""
    text: str

    def number(self, key: str) -> float | None:
        """How much something is."""
        return next((number for name, number in self.numbers if name == key), None)

    def row(self) -> dict[str, Any]:
        """What belongs together in it, by name."""
        if self.fields:
            return dict(self.fields)
        named = {f"name {place}": name for place, name in enumerate(self.names)}
        return {**named, **dict(self.numbers)}


def entries_of(records: Iterable[Mapping[str, Any]]) -> list[Entry]:
    """The entries of the results of calls."""
    groups = itertools.count(1)
    of_tools: dict[str, int] = {}
    found: list[Entry] = []
    for record in records:
        group = of_tools.setdefault(str(record.get("tool")), next(groups))
        arguments: Any = record.get("arguments")
        given: Mapping[str, Any] = (
            cast("Mapping[str, Any]", arguments) if isinstance(arguments, Mapping) else {}
        )
        in_lists: set[int] = set()
        for place, value in enumerate(parts(record.get("result"))):
            if len(found) >= _MOST:
                return found[:_MOST]
            if isinstance(value, Mapping) and id(cast("Any", value)) not in in_lists:
                own = cast("Mapping[Any, Any]", value)
                # The result itself is about what the call was given.
                extra = [] if place else [(key, one) for key, one in given.items() if key not in own]
                found.append(_entry(next(groups) if place else group, [*extra, *own.items()]))
                found += _sides(own, next(groups))
                found += _members(own, next(groups))
                found += _listed(own, next(groups))
            elif isinstance(value, (list, tuple)):
                rows: list[Any] = [one for one in cast("list[Any]", value) if isinstance(one, Mapping)]
                in_lists.update(map(id, rows))
                of_list = next(groups)
                found += [
                    _entry(of_list, list(cast("Mapping[Any, Any]", row).items())) for row in rows[:_MOST]
                ]
            elif place == 0 and isinstance(value, str):
                found += itertools.islice(_rows(value, next(groups)), _MOST)
            elif place == 0 and value is not None:
                found.append(_entry(group, [*given.items(), ("value", cast("Any", value))]))
    return found[:_MOST]


def _rows(text: str, group: int) -> Iterator[Entry]:
    text = text[:_LONGEST]
    table = _table(text)
    return (_entry(group, row) for row in table) if table else _of_text(text, group)


def _sides(record: Mapping[str, Any], group: int) -> Iterator[Entry]:
    """The sides of a record whose keys name them: `home` and `home_goals`, `away` and `away_goals`."""
    sides = [str(key) for key in record if any(str(other).startswith(f"{key}_") for other in record)]
    if len(sides) > 1:
        for side in sides:
            own = [
                (str(key).removeprefix(f"{side}_") if key != side else "name", one)
                for key, one in record.items()
                if key == side or str(key).startswith(f"{side}_")
            ]
            yield _entry(group, own)


def _members(record: Mapping[Any, Any], group: int) -> Iterator[Entry]:
    """The members of a record that names things of one kind and their states: `db` is `ok`, `cache` is `down`."""
    values = [value for value in record.values() if isinstance(value, str) and len(value) < 20]
    if len(values) == len(record) and len(set(values)) < len(values):
        yield from (_entry(group, [("name", str(key)), ("state", value)]) for key, value in record.items())


def _listed(record: Mapping[Any, Any], group: int) -> Iterator[Entry]:
    """The members of lists whose keys say what they are: the ports that are `open`, and those that are `closed`."""
    lists = {
        str(key): [one for one in cast("list[Any]", value) if isinstance(one, (str, int))]
        for key, value in record.items()
        if isinstance(value, (list, tuple)) and 0 < len(cast("list[Any]", value)) <= _MOST
    }
    if len(lists) > 1:
        for key, values in lists.items():
            for value in values:
                name = str(value)
                yield Entry(group, (("name", name), ("state", key)), (name.lower(),), (), f"{name} {key}")


def _entry(group: int, fields: Sequence[tuple[Any, Any]]) -> Entry:
    plain = [(str(key), one) for key, one in fields if not isinstance(one, (Mapping, list, tuple))]
    names: list[str] = []
    numbers: list[tuple[str, float]] = []
    for key, one in plain:
        if isinstance(one, str) and 1 < len(one) < 60:
            names += [] if _NO_NAME.fullmatch(one) else _aliases(one.lower())
            numbers += [(_key(key), number) for number in _only_number(one)]
        elif isinstance(one, (int, float)) and not isinstance(one, bool):
            numbers.append((_key(key), float(one)))
    text = " ".join(f"{key} {one}" for key, one in plain)
    return Entry(group, tuple(plain), tuple(names), tuple(numbers), text)


def _only_number(text: str) -> list[float]:
    numbers = [number for number, _ in numbers_of(text)]
    return numbers if len(numbers) == 1 and len(text) < 20 else []


def _key(key: str) -> str:
    return " ".join(words(key))


def _aliases(name: str) -> list[str]:
    """How a text may be named: months and days also by their whole names."""
    return [name, _WHOLE[name]] if name in _WHOLE else [name]


def _table(text: str) -> list[list[tuple[str, str]]]:
    """The rows of a text that is a table with a line of headings."""
    lines = [line.strip().strip("|") for line in text.splitlines()[:_MOST] if line.strip()]
    if len(lines) < 3:
        return []
    for sign in (r"\t", r"\|", ";", ",", r"\s{2,}", r"\s+"):
        cells = [[cell.strip() for cell in re.split(sign, line)] for line in lines]
        cells = [row for row in cells if not all(set(cell) <= set("-: ") for cell in row)]
        width = len(cells[0]) if cells else 0
        if sign == r"\s+" and (width < 4 or any(line.endswith(".") for line in lines)):
            continue
        if width > 1 and len(cells) > 2 and all(len(row) == width for row in cells):
            return [list(zip(cells[0], row, strict=True)) for row in cells[1:]]
    return []


def _of_text(text: str, group: int) -> Iterator[Entry]:
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        if found is not None and len(line) < 120 and not re.search(r"[.!?][\"”]?\s+[A-Z]", line):
            name, rest = found.groups()
            yield Entry(group, ((name, rest),), (name.lower(),), tuple(_measured(rest)), line)
            continue
        for sentence in _SENTENCE.split(line):
            if sentence.strip():
                named = tuple(
                    name for one in _NAME.findall(sentence) if (name := _without_article(one)) is not None
                )
                yield Entry(group, (), named, tuple(_measured(sentence)), sentence.strip())


def _without_article(name: str) -> str | None:
    kept = [word for word in name.split() if word.lower() not in EMPTY]
    return " ".join(kept).lower() if kept else None


def _measured(text: str) -> Iterator[tuple[str, float]]:
    """What a text measures: by the kind of the unit, or the noun behind the number."""
    yield from ((one.kind, one.number * _scale(one.kind, one.factor)) for one in measures_of(text))
    for number, noun in _COUNTED.findall(text):
        yield stem(noun), float(number.replace(",", ""))
    for number, adjective in _SIZED.findall(text):
        yield adjective, float(number.replace(",", ""))
    numbers = [number for number, _ in numbers_of(text)]
    if len(numbers) == 1:
        yield "value", numbers[0]


def _scale(kind: str, factor: float) -> float:
    return 1.0 if kind in ("price", "temperature") else factor


class Known:
    """The entries of results, arranged for looking things up in them."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self.entries = entries_of(records)
        by_group: dict[int, list[Entry]] = {}
        for entry in self.entries:
            by_group.setdefault(entry.group, []).append(entry)
        self.groups = [Group(group) for group in by_group.values() if len(group) > 1]

    def named(self, low: str) -> list[Entry]:
        """The entries that a text in lower case names."""
        return [group.entries[place] for group in self.groups for place in group.named(low)]


class Group:
    """Entries of one list, table or text, with the names that only one of them has."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        counted: Counter[str] = Counter(name for entry in entries for name in dict.fromkeys(entry.names))
        self.owners = {
            name: place for place, entry in enumerate(entries) for name in entry.names if counted[name] == 1
        }

    def first_named(self, low: str) -> dict[int, str]:
        """The same by the first name of an entry only, because another one may be a state: `running`."""
        first = {
            name: self.owners[name]
            for entry in self.entries
            for name in entry.names[:1]
            if name in self.owners
        }
        return {place: name for name, place in first.items() if names_it(name, low)}

    def named(self, low: str) -> dict[int, str]:
        """The places of the entries that a text in lower case names, and their names in it."""
        return {place: name for name, place in self.owners.items() if names_it(name, low)}
