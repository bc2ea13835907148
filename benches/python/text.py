"""Cutting and merging, against the usual Python with `re.finditer`."""

from __future__ import annotations

import re

from harness import Group, Row, measure_sync

import toolhub

SENTENCE_END = re.compile(r"[.!?。！？；…](?=\s|$)|\n")
PROSE = (
    "The quick brown fox jumps over the lazy dog, e.g. 3.14 times. Then it rests for a while! Does it not? "
)
LIMIT = 4_000


def by_finditer(text: str, limit: int) -> str:
    """Cut at the last sentence end in the last 40 % of the window, otherwise at a space."""
    if len(text) <= limit:
        return text
    notice = f"… [{len(text) - limit:,} of {len(text):,} characters cut]"
    window = text[: limit - len(notice)]
    floor = int(len(window) * 0.6)
    ends = [match.end() for match in SENTENCE_END.finditer(window) if match.end() >= floor]
    end = ends[-1] if ends else window.rfind(" ")
    return window[: end if end > 0 else len(window)] + notice


def merge_by_hand(texts: list[str], limit: int) -> str:
    """Labels, a cut for each, the same answer once."""
    groups: dict[str, tuple[list[str], str]] = {}
    for number, text in enumerate(texts):
        folded = " ".join(word.strip(".,;:!?\"'“”‘’。，；：！？、") for word in text.lower().split())
        groups.setdefault(folded, ([], text))[0].append(f"result {number + 1}")
    return "\n\n".join(
        f"[{', '.join(labels)}] {by_finditer(text, limit)}" for labels, text in groups.values()
    )


def run(rounds: int) -> list[Row]:
    rows: list[Row] = []
    for name, size in (("100 KB", 100_000), ("10 MB", 10_000_000)):
        text = PROSE * (size // len(PROSE))
        group = Group(f"truncate {name} to {LIMIT:,} characters", goal=0.15)
        group.add("re.finditer", lambda text=text: by_finditer(text, LIMIT), 200)
        group.add("toolhub", lambda text=text: toolhub.truncate(text, LIMIT), 200)
        rows += measure_sync(group, rounds)
    wide = "今天天气很好，我们去公园散步。然后回家吃饭！你觉得怎么样？" * 400_000
    group = Group("truncate 12 million Chinese characters to 4,000", goal=0.15)
    group.add("re.finditer", lambda: by_finditer(wide, LIMIT), 200)
    group.add("toolhub", lambda: toolhub.truncate(wide, LIMIT), 200)
    rows += measure_sync(group, rounds)
    texts = [f"Answer {number}. " + PROSE * 96 for number in range(10)]
    group = Group("merge 10 results of 10 KB", goal=0.1)
    group.add("Python", lambda: merge_by_hand(texts, 300), 20)
    group.add("toolhub", lambda: toolhub.merge(texts), 20)
    rows += measure_sync(group, rounds)
    return rows
