"""Calls in model text: against `re` with orjson, and a stream against an incremental parser in Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson
from harness import Group, Row, measure_sync

import toolhub

PROSE = (
    "The quick brown fox jumps over the lazy dog; it rained all day (a < b, c[0], d), and nobody knew why. "
)
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}\n</tool_call>\n'
BLOCK = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
OPEN, CLOSE = "<tool_call>", "</tool_call>"
# The same for who does not know which of the usual formats a model speaks.
ANY = re.compile(
    r"<tool_call>(.*?)</tool_call>|<function=(\w+)>(.*?)</function>|\[TOOL_CALLS\](\[.*?\])|<\|python_tag\|>(\{.*?\})"
    r'|```json\n(.*?)```|<invoke name="(\w+)">(.*?)</invoke>|\nAction: (\w+)',
    re.DOTALL,
)


def one_call(size: int) -> str:
    return PROSE * (size // len(PROSE)) + CALL


def many_calls(size: int) -> str:
    return ("Then: " + CALL) * (size // (len(CALL) + 6))


def long_argument(size: int) -> str:
    line = 'def f(x):\\n    return \\"yes\\" if x else {}\\n'
    return f'<tool_call>{{"name": "write", "arguments": {{"content": "{line * (size // len(line))}"}}}}</tool_call>'


def by_re(text: str, pattern: re.Pattern[str] = BLOCK) -> tuple[list[dict[str, Any]], str]:
    """What the usual parser does: no repair. (The calls of the texts here are all of the first format.)"""
    calls: list[dict[str, Any]] = []
    around: list[str] = []
    last = 0
    for match in pattern.finditer(text):
        around.append(text[last : match.start()])
        last = match.end()
        found = orjson.loads(match[1])
        calls.append(
            {
                "name": found["name"],
                "arguments": found.get("arguments", {}),
                "span": match.span(),
                "id": found.get("id"),
            }
        )
    around.append(text[last:])
    return calls, "".join(around)


def by_toolhub(text: str, format: str = "auto") -> tuple[list[tuple[str, Any]], str]:
    """With all that is read of a call, so that nothing is left for later."""
    found = toolhub.parse(text, format)
    return [(call.name, call.arguments, call.span, call.id) for call in found.calls], found.text


class Incremental:
    """A careful parser of one format in Python: it looks at each character once, and keeps what may be a tag."""

    def __init__(self) -> None:
        self.held = ""
        self.inside = False
        self.body: list[str] = []

    def feed(self, delta: str) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        text = self.held + delta
        self.held = ""
        while text:
            tag = CLOSE if self.inside else OPEN
            at = text.find(tag)
            if at < 0:
                at = text.rfind("<", -len(tag) + 1)
                if at < 0 or not tag.startswith(text[at:]):
                    at = len(text)
                self._take(text[:at], events)
                self.held = text[at:]
                break
            self._take(text[:at], events)
            if self.inside:
                call = orjson.loads("".join(self.body))
                events.append({"type": "call", "name": call["name"], "arguments": call["arguments"]})
                self.body = []
            self.inside = not self.inside
            text = text[at + len(tag) :]
        return events

    def _take(self, text: str, events: list[dict[str, Any]]) -> None:
        if self.inside:
            self.body.append(text)
        elif text:
            events.append({"type": "text", "text": text})


def streamed(text: str, make: Callable[[], Any], size: int = 8) -> int:
    parser = make()
    feed = parser.feed
    return sum(len(feed(text[at : at + size])) for at in range(0, len(text), size))


def run(rounds: int) -> list[Row]:
    rows: list[Row] = []
    for name, text, goal in (
        ("1 MB with one call", one_call(1_000_000), 0.1),
        ("1 MB with 10,000 calls", many_calls(1_000_000), 1 / 3),
        ("1 MB in one argument", long_argument(1_000_000), None),
    ):
        group = Group(f"parse {name}", goal)
        group.add("re + orjson, 7 formats", lambda text=text: by_re(text, ANY), 1)
        group.add("toolhub, all formats", lambda text=text: by_toolhub(text), 1)
        rows += measure_sync(group, rounds)
        group = Group(f"parse {name}, of a known format")
        group.add("re + orjson", lambda text=text: by_re(text), 1)
        group.add("toolhub", lambda text=text: by_toolhub(text, "hermes"), 1)
        rows += measure_sync(group, rounds)
    for name, text in (("one call", one_call(100_000)), ("many calls", many_calls(100_000))):
        group = Group(f"stream 100 KB with {name} in deltas of 8 characters", 1.0)
        group.add("incremental Python", lambda text=text: streamed(text, Incremental), 1)
        group.add("toolhub, detected", lambda text=text: streamed(text, toolhub.StreamParser), 1)
        rows += measure_sync(group, rounds)
    text = many_calls(1_000_000)
    group = Group("a stream ten times as long", note="linear when near 10×")
    group.add("100 KB", lambda: streamed(text[:100_000], toolhub.StreamParser), 1)
    group.add("1 MB", lambda: streamed(text, toolhub.StreamParser), 1)
    rows += measure_sync(group, rounds)
    return rows
