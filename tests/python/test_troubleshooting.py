"""`docs/troubleshooting.md` speaks of the messages that the code has, and of every kind of error."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

from toolhub import ErrorKind

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
WORDING = ROOT / "src" / "text" / "wording"
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def shown(part: ast.expr) -> str:
    """A part of a text with values in it; `!r` puts a value in quotes."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    return "'…'" if isinstance(part, ast.FormattedValue) and part.conversion == ord("r") else "…"


@functools.cache  # not on import: each worker imports this file, and one or two read the code
def templates() -> list[str]:
    """The texts of the code, `…` for each placeholder."""
    texts: list[str] = []
    for path in (ROOT / "src").rglob("*.rs"):
        unbroken = re.sub(r"\\\n\s*", "", path.read_text("utf-8"))  # texts that go on in the next line
        texts += [text.replace('\\"', '"') for text in LITERAL.findall(unbroken)]
    texts = [re.sub(r"\{[^{}]*\}", "…", text) for text in texts]
    for path in (ROOT / "python" / "toolhub").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [shown(part) for part in node.values]
                texts.append("".join(parts))
    return texts


def messages() -> list[str]:
    """What the tables of the page quote: the texts of the first cell, which may hold quoted words themselves."""
    found: list[str] = []
    for row in re.findall(r"^\| (`.+`) \| .+ \|$", PAGE, re.MULTILINE):
        cell = row.split(" | ")[0]
        found += [text.strip("`") for text in re.split(r"(?<=`), (?=`)", cell)]
    return [text for text in found if text not in {str(kind) for kind in ErrorKind}]


def test_the_sentences_are_read() -> None:
    assert len(templates()) > 500
    assert len(messages()) > 80


@pytest.mark.parametrize("message", messages())
def test_a_message_is_one_of_the_code(message: str) -> None:
    """Its words are those of one sentence, from the beginning or after what stands before it; `…` is any text."""
    pattern = re.compile(".*".join(map(re.escape, message.removeprefix("… ").split("…"))))
    assert any(pattern.search(sentence) for sentence in templates()), "the code has no such sentence"


def test_every_kind_of_error_has_its_place() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| \[", PAGE, re.MULTILINE)
    listed = {kind for row in rows for kind in re.findall(r"`(\w+)`", row)}
    assert listed == {str(kind) for kind in ErrorKind}


def test_every_room_of_sentences_has_its_part() -> None:
    """Explanations are no errors; what is wrong with arguments stands with the other errors of calls."""
    parts = [name for names in re.findall(r"<!-- wording: (.+) -->", PAGE) for name in names.split(", ")]
    rooms = {path.stem for path in WORDING.glob("*.rs")} - {"mod", "arguments"}
    assert set(parts) == rooms | {"hub", "login"}
    assert len(parts) == len(set(parts))
