"""Folders of tools, written line by line."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolhub import ToolHub

Write = Callable[[str, str], Path]


@pytest.fixture
def hub() -> Iterator[ToolHub]:
    with ToolHub() as hub:
        yield hub


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "tools"
    place.mkdir()
    return place


@pytest.fixture
def write(folder: Path) -> Write:
    """Writes a file of the folder; one that is written again is newer, however quick the test is."""
    stamps = iter(range(1, 1000))

    def write(name: str, text: str) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), "utf-8")
        os.utime(path, (1_700_000_000, 1_700_000_000 + next(stamps)))
        return path

    return write
