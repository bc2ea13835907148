"""Words that exclude one another: rain and snow, production and staging."""

import re
from collections.abc import Iterator, Sequence

from .prose import Clause

_CLASSES = [
    {
        "rain": "rain|drizzl|shower",
        "snow": "snow",
        "sun": "sunny|sunshine|clear sk",
        "cloud": "cloud|overcast",
        "fog": "fog|mist",
    },
    {
        "production": r"production|prod\b|live environment",
        "staging": "staging",
        "development": "development environment|dev environment",
    },
    {
        "mit": r"mit\b",
        "apache": "apache",
        "gpl": r"[al]?gpl",
        "bsd": r"bsd\b",
        "mpl": r"mpl\b",
        "proprietary": "proprietary",
    },
    {
        "medium": r"medium (?:priority|severity)",
        "high": r"high (?:priority|severity)",
        "critical": "critical",
    },
    {"red": r"red\b", "green": r"green\b", "blue": r"blue\b", "yellow": r"yellow\b", "black": r"black\b"},
    {
        "daily": "daily|every day",
        "weekly": "weekly|every week",
        "monthly": "monthly|every month",
        "yearly": "yearly|annual",
    },
    {"cash": r"cash\b", "card": "credit card|debit card|by card", "bank": "bank transfer|wire transfer"},
    {"male": r"male\b", "female": r"female\b"},
    {"held": r"(?:held|unchanged|kept) ", "cut": r"(?:cut|lowered|reduced) ", "raised": r"(?:raised|hiked) "},
]
_PATTERNS = [
    {name: re.compile(rf"\b(?:{pattern})", re.I) for name, pattern in one.items()} for one in _CLASSES
]


def wrong_kinds(said: Sequence[Clause], known: str) -> Iterator[tuple[str, str]]:
    """Words of an answer that exclude what a text says, and the words of the text.

    >>> from toolhub.agents.prose import said_in
    >>> list(wrong_kinds(said_in("It is deployed to production."), "env: staging"))
    [('production', 'staging')]
    """
    for members in _PATTERNS:
        told: list[tuple[str, str]] | None = None
        for clause in said:
            found = [(name, one.group()) for name, p in members.items() if (one := p.search(clause.text))]
            if len(found) != 1 or not clause.says:
                continue
            if told is None:
                told = [(name, one.group()) for name, p in members.items() if (one := p.search(known))]
            if told and found[0][0] not in {name for name, _ in told}:
                yield found[0][1].strip(), told[0][1].strip()
