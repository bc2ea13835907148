"""Where an answer says that something comes from: "I searched the web" needs a call that searches it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..kit import words


class _Reading(NamedTuple):
    """How answers say that they looked something up, and the words of tools that do it."""

    said: re.Pattern[str]
    tools: frozenset[str]


def _reading(said: str, tools: str) -> _Reading:
    return _Reading(re.compile(said, re.I), frozenset(tools.split()))


_I = r"\bI(?:'ve| have)?(?: (?:just|also|now|already|then))*\s+"
_READINGS = [
    _reading(
        rf"{_I}(?:searched|browsed|googled)\s+(?:(?:the|on the|across the)\s+)?(?:web|internet|online)\b|"
        r"我(?:已经?)?(?:上网|在网上)(?:搜索|查询|查)",
        "web search browse google bing fetch url page internet http crawl tavily brave duckduckgo news 搜索 网页",
    ),
    _reading(
        rf"{_I}(?:searched|looked up|looked for)\b",
        "search find query look lookup list get fetch browse google grep glob read web filter select sql 搜索 查询 查找",
    ),
    _reading(
        rf"{_I}(?:asked|called|phoned|spoke (?:to|with)|talked (?:to|with))\s+(?!about)",
        "ask call phone message send chat mail email dial request invoke run execute 询问",
    ),
    _reading(
        rf"{_I}(?:tested|measured|ran the tests|benchmarked)\b",
        "test tests run execute measure bench benchmark shell command bash check pytest python code probe ping gauge read get",
    ),
]


def unread(answer: str, records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What an answer says that it has looked up, and no call that succeeded could have.

    >>> list(unread("I searched the web and found it.", [{"tool": "read_file", "success": True}]))
    ['I searched the web']
    """
    used: set[str] = set()
    for record in records:
        used.update(words(f"{record.get('tool') or ''} {record.get('title') or ''}"))
    for reading in _READINGS:
        found = reading.said.search(answer)
        if found is not None and not used & reading.tools:
            yield found.group()
            return
