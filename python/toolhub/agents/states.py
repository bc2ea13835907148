"""States: what an answer says something is (running, open, delivered, all passed), and what the results say it is."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..kit import words
from .entries import Entry, Group, Known
from .facts import listed
from .prose import Clause, clauses, content, is_negative, stem

_OPPOSITES = [
    (
        r"running|active|online|alive|reachable|answering|responding|operational|(?:is|are|was|be|back) up|运行中|在线",
        r"stopped|inactive|offline|dead|unreachable|crashed|exited|(?:is|are|was|be|went) down|已停止|离线",
    ),
    ("healthy|fine|ok|okay|正常", "unhealthy|degraded|down|broken|异常|故障"),
    ("on time|准时", "delayed|late|晚点|延误"),
    ("supported|works on|works with|支持", "unsupported|不支持"),
    ("clean", "dirty|uncommitted"),
    (
        "passe[sd]|passing|pass|succeeded|successful|通过|成功",
        "failed|failing|fails?|unsuccessful|失败|未通过",
    ),
    ("open", "closed|shut"),
    ("enabled|启用", "disabled|禁用"),
    ("allowed|permitted|允许", "forbidden|prohibited|disallowed|禁止"),
    ("valid|有效", "invalid|expired|无效|过期"),
    ("paid", "unpaid|overdue"),
    ("approved|accepted|批准", "rejected|declined|denied|refused|拒绝|驳回"),
    ("unlocked", "locked"),
    ("connected", "disconnected"),
    ("available|in stock|有货", "unavailable|out of stock|sold out|缺货|售罄"),
    ("safe", "unsafe|dangerous"),
    ("encrypted", "unencrypted"),
    ("present|exists", "missing|absent"),
    ("compatible", "incompatible"),
    ("free|vacant", "occupied|busy|taken"),
    ("included|包含", "excluded"),
    ("true", "false"),
]
_PAIRS = [
    (
        re.compile(rf"(?<![A-Za-z0-9_-])(?:{yes})(?![A-Za-z0-9_-])", re.I),
        re.compile(rf"(?<![A-Za-z0-9_-])(?:{no})(?![A-Za-z0-9_-])", re.I),
    )
    for yes, no in _OPPOSITES
]

_STAGES = [
    "draft|planned|scheduled|草稿",
    "pending|queued|waiting|processing|in progress|ongoing|under review|open|new|submitted|待处理|处理中|进行中|等待",
    "confirmed|approved|accepted|paid|packed|ready|ordered|已确认|已付款",
    "shipped|dispatched|sent|in transit|on its way|out for delivery|发货|运输中|在途",
    "delivered|arrived|received|completed?|done|finished|resolved|closed|settled|merged|deployed|published|released|送达|签收|完成|到达了",
]
_ENDED_BADLY = "cancell?ed|failed|rejected|declined|refused|refunded|expired|aborted|取消|失败|拒绝"
_STAGE_PATTERNS = [re.compile(rf"(?<![A-Za-z0-9_-])(?:{stage})(?![A-Za-z0-9_-])", re.I) for stage in _STAGES]
_BADLY = re.compile(rf"(?<![A-Za-z0-9_-])(?:{_ENDED_BADLY})(?![A-Za-z0-9_-])", re.I)
_ASSERTS = re.compile(r"\b(?:is|are|was|were|been|now|already|got)\b|已|了", re.I)
_STATUS = re.compile(r"status|state|phase|stage|outcome|状态", re.I)
_ALL = re.compile(r"\b(?:all|every|each|both|everything|everyone)\b|全部|所有|[都均]", re.I)
_PREDICATES = listed(
    "fine good ok okay low high full empty normal critical weak strong bad poor stable unstable on off"
)
_IS = re.compile(
    rf"(.{{1,60}}?)\b(?:is|are|was|were)\s+(?:now\s+|still\s+)?({'|'.join(_PREDICATES)})\b", re.I
)
_ALIKE = [
    {"fin", "good", "ok", "okai", "normal", "stabl"},
    {"bad", "poor", "weak", "critical", "low"},
    {"full", "high"},
]
_MOST_ARE = re.compile(r"\bmost (?:of (?:the|them) ?)?(?:\w+ )?(?:is|are|was|were)\b|大多数|多数", re.I)
_TOTAL = re.compile(r"\b(?:total|together|in all|altogether|combined|sum|about|over|around)\b|共|总", re.I)
_NO_VALUES = listed(
    "current last first next final new old same whole entire other own right wrong main only exact given full"
)
_IN_STOCK = re.compile(r"(?:^|_)stock|inventory|库存", re.I)
_STILL = re.compile(
    r"\b(?:is|are)\s+(?:still\s+|currently\s+)?(?:pending|queued|waiting|processing|in progress|under review)\b",
    re.I,
)
_NO_SUCH = re.compile(r"\b(?:no|without(?: any)?|zero)\s+(?:\w+\s+)?([a-z]{3,})\b", re.I)
_COUNTED = re.compile(r"(?<![\w.,])(\d[\d,]*)\s+([a-z]{3,})\b", re.I)
_OF_STATE = re.compile(r"pass|fail|skip|error|open|clos|succe|block|warn|miss|reject|approv", re.I)


class _Told(NamedTuple):
    """What an entry says of a pair of opposites."""

    group: int
    is_so: bool
    text: str
    about: set[str]
    """What it is about; empty for a record, which may be about anything."""


class States:
    """The states that results tell.

    >>> from toolhub.agents.prose import said_in
    >>> known = States(Known([{"result": {"name": "worker", "active": False}}]), "")
    >>> list(known.wrong(said_in("The worker is running.")))
    [('The worker is running', 'active: False')]
    """

    def __init__(self, known: Known, low: str) -> None:
        self._known = known
        self._low = low
        self._told: dict[int, dict[int, list[_Told]]] = {}
        self._counts: list[tuple[str, float, str]] | None = None
        self._statuses = [
            (entry.group, key, value)
            for entry in known.entries
            for key, value in entry.fields
            if isinstance(value, str) and _STATUS.search(key)
        ]

        keys = Counter(key for entry in known.entries for key, _ in entry.fields)
        self._singles = {
            key.lower(): value
            for entry in known.entries
            for key, value in entry.fields
            if keys[key] == 1 and key.isalpha() and isinstance(value, str) and value.isalpha()
        }
        """Members that only one record has, and that are one word."""

    def wrong(self, said: Sequence[Clause]) -> Iterator[tuple[str, str]]:
        """Clauses of an answer that say a state, and what the results say instead."""
        for clause in said:
            if clause.is_open:
                continue
            named = self._known.named(clause.low)
            groups = {entry.group for entry in named}
            about = [*named, *(entry for entry in self._known.entries if entry.group not in groups)]
            found = (
                self._denied(clause, named)
                or self._denied(clause, about)
                or _flags(clause, about)
                or _predicate(clause, about)
                or self._stage(clause, groups)
                or self._not_all(clause)
                or self._counted(clause)
                or self._most(clause)
                or self._slot(clause)
            )
            if found is not None:
                yield clause.text, found

    def _told_by(self, pair: int, entries: Iterable[Entry]) -> Iterator[_Told]:
        """What entries say of a pair of opposites, read once."""
        kept = self._told.setdefault(pair, {})
        for entry in entries:
            if id(entry) not in kept:
                about = set[str]() if entry.fields else content(entry.text)
                kept[id(entry)] = [
                    _Told(entry.group, is_so, text, about) for is_so, text in _told(entry, *_PAIRS[pair])
                ]
            yield from kept[id(entry)]

    def _denied(self, clause: Clause, entries: Sequence[Entry]) -> str | None:
        """What the results say if they only say the opposite of a state."""
        for pair, (yes, no) in enumerate(_PAIRS) if entries else ():
            found, other = yes.search(clause.text), no.search(clause.text)
            state = found or other
            if state is None or (found is not None and other is not None):
                continue
            said = (found is not None) != is_negative(clause.text[: state.start()])
            told = [
                one
                for one in self._told_by(pair, entries)
                if not one.about or not one.about.isdisjoint(clause.stems)
            ]
            if told and all(one.is_so != said for one in told):
                return told[0].text
        return None

    def _stage(self, clause: Clause, named: set[int]) -> str | None:
        """A status of the results that a clause says to be over, or to have ended in another way."""
        statuses = [(key, value) for group, key, value in self._statuses if not named or group in named]
        statuses = statuses or [(key, value) for _, key, value in self._statuses]
        if clause.is_negative or not statuses or not _ASSERTS.search(clause.text):
            return None
        if _STILL.search(clause.text):
            is_over = all(_STAGE_PATTERNS[-1].search(value) for _, value in statuses)
            return f"{statuses[0][0]}: {statuses[0][1]}" if is_over else None
        said = [(place, one) for place, p in enumerate(_STAGE_PATTERNS) if (one := p.search(clause.text))]
        badly = _BADLY.search(clause.text)
        if any(one.group().lower() in self._low for one in (*(one for _, one in said), badly) if one):
            return None
        wrong: list[str] = []
        for key, value in statuses if said or badly else ():
            place = max((n for n, p in enumerate(_STAGE_PATTERNS) if p.search(value)), default=None)
            is_later = place is not None and (badly is not None or (said and said[-1][0] > place))
            if is_later or (_BADLY.search(value) and said and said[-1][0] > 1):
                wrong.append(f"{key}: {value}")
            elif place is not None:
                return None
        return wrong[0] if wrong else None

    def _not_all(self, clause: Clause) -> str | None:
        """What is not so of all things, or what there is although a clause denies it."""
        if _ALL.search(clause.text) and not clause.is_negative:
            for group in self._known.groups:
                found = _mixed(clause, group) or self._mixed_states(clause, group)
                if found is not None:
                    return found
            if re.search(r"\b(?:pass|succe|green|fine|ok)", clause.text, re.I):
                return self._count_of("fail")
        for found in _NO_SUCH.finditer(clause.text):
            there = self._count_of(stem(found.group(1).lower()))
            if there is not None:
                return there
        is_none = re.search(r"\bno(?:ne|thing)?\b.*\bfail|\bwithout fail", clause.text, re.I)
        return self._count_of("fail") if is_none else None

    def _mixed_states(self, clause: Clause, group: Group) -> str | None:
        """The state of one entry, if a clause says the opposite of all and so it is of some."""
        for pair, (yes, no) in enumerate(_PAIRS):
            if yes.search(clause.text) and not no.search(clause.text):
                told = list(self._told_by(pair, group.entries))
                wrong = next((one.text for one in told if not one.is_so), None)
                if wrong is not None and any(one.is_so for one in told) and not group.named(clause.low):
                    return wrong
        return None

    def _counted(self, clause: Clause) -> str | None:
        """How many there are, if a clause says another number of a state, or a higher one of things."""
        for written, noun in _COUNTED.findall(clause.text):
            told = {one[1]: one[2] for one in self._all_counts() if one[0] == stem(noun.lower())}
            is_sum = _TOTAL.search(clause.text) is not None
            if told and not is_sum and float(written.replace(",", "")) > sum(told):
                return told[max(told)]
        for number, word in _COUNTED.findall(clause.text):
            if _OF_STATE.match(word):
                told = [one for one in self._all_counts() if one[0] == stem(word.lower())]
                if told and all(one[1] != float(number.replace(",", "")) for one in told):
                    return told[0][2]
        return None

    def _most(self, clause: Clause) -> str | None:
        """A member that counts less than half of the others, if a clause says it of most."""
        if not _MOST_ARE.search(clause.text) or clause.is_negative:
            return None
        for entry in self._known.entries:
            largest = max((number for _, number in entry.numbers), default=0.0)
            for key, number in entry.numbers:
                if len(entry.numbers) > 2 and stem(key) in clause.stems and 0 <= number < largest / 2:
                    return f"{key}: {number:g}"
        return None

    def _slot(self, clause: Clause) -> str | None:
        """A member whose name stands behind another word than its value: "the test stage" where the stage is lint."""
        for key, value in self._singles.items() if clause.says else ():
            if key in clause.low and value.lower() not in clause.low:
                found = re.search(rf"\b(?:the|in|at) ([a-z]+) {re.escape(key)}\b", clause.low)
                if found and found.group(1) not in self._low and found.group(1) not in _NO_VALUES:
                    return f"{key}: {value}"
        return None

    def _count_of(self, word: str) -> str | None:
        """How the results tell that there are some of something."""
        return next((text for name, number, text in self._all_counts() if name == word and number > 0), None)

    def _all_counts(self) -> list[tuple[str, float, str]]:
        if self._counts is None:
            self._counts = list(_counts(self._known.entries))
        return self._counts


def _told(entry: Entry, yes: re.Pattern[str], no: re.Pattern[str]) -> Iterator[tuple[bool, str]]:
    """What an entry says of a pair of opposites."""
    for key, value in entry.fields:
        name = key.replace("_", " ")
        if isinstance(value, bool):
            if yes.search(name) or no.search(name):
                yield value == (yes.search(name) is not None), f"{key}: {value}"
        elif isinstance(value, str) and len(value) < 40 and not re.search(r"\d", value):
            if yes.search(value) or no.search(value):
                yield (no.search(value) is None) != is_negative(value), f"{key}: {value}"
        elif isinstance(value, (int, float)) and _IN_STOCK.search(key) and yes.search("available"):
            yield value > 0, f"{key}: {value}"
        elif isinstance(value, (int, float)) and (yes.search(name) or no.search(name)):
            # "failed: 2" says that some did, which says nothing of all the others.
            yield from ((True, f"{key}: {value}"), (False, f"{key}: {value}"))
    if not entry.fields and (yes.search(entry.text) or no.search(entry.text)):
        for clause in clauses(entry.text):
            is_yes, is_no = yes.search(clause), no.search(clause)
            state = is_yes or is_no
            if state is not None and re.search(r"\d\s+$", clause[: state.start()]):
                yield from ((True, clause.strip()), (False, clause.strip()))
            elif (is_yes is None) != (is_no is None):
                yield (is_yes is not None) != is_negative(clause), clause.strip()


def _predicate(clause: Clause, entries: Iterable[Entry]) -> str | None:
    """A member that a clause names and gives another state: "the battery is fine" where it is low."""
    found = _IS.search(clause.text)
    if found is None or clause.is_negative:
        return None
    subject, said = set(map(stem, words(found.group(1))[-2:])), stem(found.group(2).lower())
    for entry in entries:
        for key, value in entry.fields:
            if (
                isinstance(value, str)
                and value.lower() in _PREDICATES
                and stem((words(key) or [""])[-1]) in subject
            ):
                alike = {said, stem(value.lower())}
                if len(alike) > 1 and not any(alike <= one for one in _ALIKE):
                    return f"{key}: {value}"
    return None


def _flags(clause: Clause, entries: Iterable[Entry]) -> str | None:
    """A member that is true or false, or a status, and that a clause says the other way round."""
    wrong: list[str] = []
    for entry in entries:
        for key, value in entry.fields:
            is_status = isinstance(value, str) and _STATUS.search(key) is not None and len(words(value)) == 1
            if not is_status and not isinstance(value, bool):
                continue
            name = words(value)[0] if isinstance(value, str) else (words(key) or [""])[-1]
            word = clause.stems.get(stem(name))
            if word is None or len(name) < 4:
                continue
            if (is_status or value is True) != is_negative(clause.low[: clause.low.find(word)]):
                return None
            wrong.append(f"{key}: {value}")
    return wrong[0] if wrong else None


def _mixed(clause: Clause, group: Group) -> str | None:
    """The values of a column of which a clause says one of all."""
    columns: dict[str, list[Any]] = {}
    for entry in group.entries:
        for key, value in entry.fields:
            columns.setdefault(key, []).append(value)
    named = set(group.named(clause.low).values())
    for key, values in columns.items():
        alike = [value for value in values if _is_said(key, value, clause)]
        if 0 < len(alike) < len(values) and not named - {str(value).lower() for value in alike}:
            return f"{key}: {', '.join(str(value) for value in values[:10])}"
    return None


def _is_said(key: str, value: Any, clause: Clause) -> bool:
    if isinstance(value, bool):
        return value and stem((words(key) or [""])[-1]) in clause.stems
    if not isinstance(value, str) or len(value) > 30:
        return False
    stems = content(value)
    return 0 < len(stems) < 3 and all(one in clause.stems for one in stems)


def _counts(entries: Iterable[Entry]) -> Iterator[tuple[str, float, str]]:
    """What the results count: the stem of the word, how many, and how they say it."""
    for entry in entries:
        for key, value in entry.fields:
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                yield stem((words(key) or [""])[-1]), float(value), f"{key}: {value}"
            elif isinstance(value, str):
                yield from _counts_in(value)
        if not entry.fields:
            yield from _counts_in(entry.text)


def _counts_in(text: str) -> Iterator[tuple[str, float, str]]:
    for number, word in _COUNTED.findall(text):
        yield stem(word.lower()), float(number.replace(",", "")), f"{number} {word}"
