"""Loading 1,000 skills: front matter read, checked, registered and searchable, against loaders as people write them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import yaml
from harness import Group, Row, measure_sync

from toolhub import ToolHub

MANY = 1_000
GOAL_MS = 200.0

SKILL = """---
name: {name}
description: >-
  Extract text and tables from documents of kind {number}, fill their forms and merge them.
  Use when somebody mentions documents, forms, or kind {number}.
license: Apache-2.0
compatibility: Needs Python 3.11 and access to the file system
metadata:
  author: somebody
  version: "1.{number}"
allowed-tools: Bash(python:*) Read
---
"""


def write(folder: Path) -> None:
    """As they lie about: instructions of some pages, a script and a reference."""
    for number in range(MANY):
        place = folder / f"skill-{number}"
        (place / "scripts").mkdir(parents=True)
        text = SKILL.format(name=place.name, number=number)
        (place / "SKILL.md").write_text(text + "Do this, then that.\n" * 400, "utf-8")
        (place / "scripts/run.py").write_text("print('hello')\n", "utf-8")
        (place / "REFERENCE.md").write_text("More.\n", "utf-8")


def by_hand(folder: Path, loader: Any) -> dict[str, Any]:
    """The loader that most people write first: read, split, `yaml.load`, two checks."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("SKILL.md")):
        _, front, body = path.read_text("utf-8").split("---\n", 2)
        fields = yaml.load(front, Loader=loader)
        if not fields.get("name") or not fields.get("description"):
            continue
        found[fields["name"]] = {**fields, "body": body, "folder": path.parent}
    return found


def by_hub(folder: Path) -> None:
    with ToolHub() as hub:
        assert len(hub.load_skills(folder).loaded) == MANY


def run(rounds: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder)
        group = Group(f"load {MANY:,} skills", goal=0.5)
        group.add("PyYAML, in Python", lambda: by_hand(folder, yaml.SafeLoader), 1)
        if hasattr(yaml, "CSafeLoader"):
            group.add("PyYAML, in C", lambda: by_hand(folder, yaml.CSafeLoader), 1)
        group.add("toolhub", lambda: by_hub(folder), 1)
        with ToolHub() as hub:
            hub.load_skills(folder)
            group.add("toolhub, nothing has changed", lambda: hub.reload(), 1)
            rows = measure_sync(group, max(3, rounds // 4))
    ours = next(row for row in rows if row.name == "toolhub")
    met = "✓" if ours.micros <= GOAL_MS * 1_000 else "✗"
    print(f"  goal: ≤ {GOAL_MS:g} ms in all: {ours.micros / 1_000:.0f} ms {met}")
    return rows
