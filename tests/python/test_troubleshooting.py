"""`docs/troubleshooting.md` speaks of the messages that the code has, and of every kind of error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from toolhub import ErrorKind

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
WORDING = ROOT / "src" / "text" / "wording" / "zh"
# A template and its translation: two texts, one after the other.
TEMPLATE = re.compile(r'\(\s*"((?:[^"\\]|\\.)*)",\s*"(?:[^"\\]|\\.)*",?\s*\)')


def templates() -> list[str]:
    """The English sentences of the code, `…` for each placeholder."""
    code = [path.read_text("utf-8") for path in (WORDING.with_suffix(".rs"), *WORDING.glob("*.rs"))]
    unbroken = [re.sub(r"\\\n\s*", "", part) for part in code]  # texts that go on in the next line
    texts = [text.replace('\\"', '"') for part in unbroken for text in TEMPLATE.findall(part)]
    return [re.sub(r"\{[~;,|]?\}", "…", text) for text in texts]


SENTENCES = templates()


def messages() -> list[str]:
    """What the tables of the page quote: the texts of the first cell, which may hold quoted words themselves."""
    found: list[str] = []
    for row in re.findall(r"^\| (`.+`) \| .+ \|$", PAGE, re.MULTILINE):
        cell = row.split(" | ")[0]
        found += [text.strip("`") for text in re.split(r"(?<=`), (?=`)", cell)]
    return [text for text in found if text not in {str(kind) for kind in ErrorKind}]


def test_the_sentences_are_read() -> None:
    assert len(SENTENCES) > 500
    assert len(messages()) > 80


@pytest.mark.parametrize("message", messages())
def test_a_message_is_one_of_the_code(message: str) -> None:
    """Its words are those of one sentence, from the beginning or after what stands before it; `…` is any text."""
    pattern = re.compile(".*".join(map(re.escape, message.removeprefix("… ").split("…"))))
    assert any(pattern.search(sentence) for sentence in SENTENCES), "the code has no such sentence"


def test_every_kind_of_error_has_its_place() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| \[", PAGE, re.MULTILINE)
    listed = {kind for row in rows for kind in re.findall(r"`(\w+)`", row)}
    assert listed == {str(kind) for kind in ErrorKind}


def test_every_room_of_sentences_has_its_part() -> None:
    """Explanations and displays are no errors."""
    parts = [name for names in re.findall(r"<!-- wording: (.+) -->", PAGE) for name in names.split(", ")]
    rooms = {path.stem for path in WORDING.glob("*.rs")} - {"explanations", "displays"}
    assert set(parts) == rooms | {"zh"}
    assert len(parts) == len(set(parts))
