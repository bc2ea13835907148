"""Folders of skills, written by hand; and the real ones that `make servers` has installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolhub import ToolHub

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests/mcp"))  # where the catalogue of installed servers is
Skill = Callable[..., Path]

REAL = ROOT / ".servers/skills/node_modules"


@pytest.fixture
def hub() -> Iterator[ToolHub]:
    with ToolHub() as hub:
        yield hub


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "skills"
    place.mkdir()
    return place


@pytest.fixture
def skill(folder: Path) -> Skill:
    """Writes a skill; without `front` it is one by the rules. One that is written again is newer."""
    stamps = iter(range(1, 1000))

    def skill(
        name: str, front: str | bytes | None = None, body: str | bytes = "# Do it\n", **files: str
    ) -> Path:
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        if front is None:
            front = f"---\nname: {place.name}\ndescription: What {place.name} does.\n---\n"
        text = [part if isinstance(part, bytes) else part.encode() for part in (front, body)]
        (place / "SKILL.md").write_bytes(b"".join(text))
        for path, content in files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(content, "utf-8")
        os.utime(place / "SKILL.md", (1_700_000_000, 1_700_000_000 + next(stamps)))
        return place

    return skill


@pytest.fixture
def real() -> Path:
    """Skills that others wrote. Without them a developer's run skips; a CI run must not pass by testing nothing."""
    if not REAL.is_dir():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("run 'make servers'")
    return REAL
