"""Configurations and commands of the documentation, also those that no block runs: the hub reads them without a complaint."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from support.pages import blocks
from test_docs import pages
from toolhub import ToolHub, formats
from toolhub._core import serve_section
from toolhub.cli._commands import parse

ROOT = Path(__file__).parents[2]
FILES = [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]


def labelled(found: list[tuple[Path, int, str]]) -> dict[str, Any]:
    names = ("page", "line", "text")
    ids = [f"{page.name}:{line}" for page, line, _ in found]
    return {"argnames": names, "argvalues": found, "ids": ids}


def json_texts() -> list[tuple[Path, int, str]]:
    """Whole blocks; of events, which are lines, each line."""
    found: list[tuple[Path, int, str]] = []
    for page in FILES:
        for block in blocks(page.read_text("utf-8")):
            if block.language == "json":
                lines = block.code.splitlines() if page.name == "events.md" else [block.code]
                found += [(page, block.line, text) for text in lines]
    return found


def commands() -> list[tuple[Path, int, str]]:
    """Every `toolhub …` of the shells; the page of the command line is a transcript, and run as a whole."""
    found: list[tuple[Path, int, str]] = []
    for page in FILES:
        for block in blocks(page.read_text("utf-8")):
            if block.language in ("console", "sh") and page.name != "command-line.md":
                lines = [line.removeprefix("$ ") for line in block.code.splitlines()]
                found += [(page, block.line, line) for line in lines if line.startswith("toolhub ")]
    return found


@pytest.mark.parametrize(**labelled(json_texts()))
def test_a_configuration_is_read_without_a_complaint(
    page: Path, line: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = json.loads(text)
    for variable in set(re.findall(r"\$\{(?:env:)?([A-Z_]+)", text)):
        monkeypatch.setenv(variable, f"{variable.lower()}-{'0' * 32}")
    path = tmp_path / "mcp.json"
    path.write_text(text, "utf-8")
    if not value.keys() & {"mcpServers", "servers", "context_servers"}:
        assert value["v"] == 2, f"{page.name}, line {line}: neither a configuration nor an event"
        return
    with ToolHub() as hub:
        report = hub.load_mcp(path)
        assert report.loaded
        assert (report.errors, report.warnings, report.skipped) == ([], [], [])
        hub.asgi(**(serve_section(str(path)) or {}))


@pytest.mark.parametrize(**labelled(commands()))
def test_a_command_has_arguments_that_it_knows(page: Path, line: int, text: str) -> None:
    assert parse(shlex.split(text, comments=True)[1:]).run, f"{page.name}, line {line}"


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and mkdocs make it of ASCII text."""
    return re.sub(r"[ -]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=lambda page: page.name)
def test_the_links_of_a_page_outside_of_the_site_lead_somewhere(page: Path) -> None:
    """`make docs` follows those inside of it."""
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text("utf-8")):
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text("utf-8"), re.MULTILINE)
            assert anchor in map(slug, headings), f"{page.name}: {target}"


def test_there_is_something_to_read() -> None:
    assert len(json_texts()) > 20
    assert len(commands()) > 10


def test_every_defence_names_a_test_that_exists() -> None:
    page = (ROOT / "docs" / "concepts" / "security.md").read_text("utf-8")
    cells = re.findall(r"^\|[^|]+\|[^|]+\|([^|]+`)[^|]*\|$", page, re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    assert len(named) > 25
    code = [
        path
        for folder in ("src", "tests")
        for kind in ("rs", "py")
        for path in (ROOT / folder).rglob(f"*.{kind}")
    ]
    defined = {
        name for path in code for name in re.findall(r"\b(?:fn|def) (\w+)", path.read_text("utf-8", "ignore"))
    }
    missing = sorted(name for name in named if name not in defined and not (ROOT / name).exists())
    assert not missing


def test_the_number_of_dialects_is_that_of_the_parser() -> None:
    """In words and in pictures."""
    texts = [*FILES, *(ROOT / "docs" / "images").glob("*.svg"), ROOT / "README.zh.md"]
    found = {
        path.name: int(number)
        for path in texts
        for number in re.findall(r"\b(\d+) (?:dialects|种文本格式)", path.read_text("utf-8"))
    }
    assert {"README.md", "README.zh.md", "toolhub.svg"} <= set(found)
    assert set(found.values()) == {len(formats())}, found


def test_nothing_says_that_the_hub_asks_unasked() -> None:
    """Approval is asked for where a program says so, and never on the page of the inspector."""
    inspector = (ROOT / "src" / "gateway" / "inspector" / "page" / "mcp.js").read_text("utf-8")
    told = "".join(path.read_text("utf-8") for path in FILES) + inspector
    for promise in ("asks before it acts", "approvals hold for it", "limits and approvals hold"):
        assert promise not in told
