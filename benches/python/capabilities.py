"""How well tags are extracted from the names and descriptions of real tools.

    python benches/python/capabilities.py [dev.jsonl]

The file has one tool a line: `name`, `description`, `lang`, and the tags that it `must`, `may` and must `not`
get. Without an argument it is `capabilities/dev.jsonl` under TOOLHUB_DATA, or under `../shared/data`.

recall: share of the `must` tags that were given; precision: share of the given tags that are in `must` or
`may`; exact: tools with every `must` tag and no wrong one; traps: `not` tags given.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolhub import extract_capabilities

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Tally:
    """The counts of one language, and the figures that they make."""

    tools: int = 0
    hits: int = 0
    wanted: int = 0
    given: int = 0
    wrong: Counter[str] = field(default_factory=Counter[str])
    missed: Counter[str] = field(default_factory=Counter[str])
    exact: int = 0
    traps: int = 0

    def add(self, row: dict[str, Any], tags: set[str]) -> None:
        must, may = set(row["must"]), set(row["may"])
        wrong, missed = tags - must - may, must - tags
        self.tools += 1
        self.hits += len(tags & must)
        self.wanted += len(must)
        self.given += len(tags)
        self.wrong.update(wrong)
        self.missed.update(missed)
        self.exact += not wrong and not missed
        self.traps += len(tags & set(row["not"]))

    def line(self, title: str) -> str:
        recall = self.hits / self.wanted if self.wanted else 0.0
        precision = (self.given - self.wrong.total()) / self.given if self.given else 0.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        exact = self.exact / self.tools if self.tools else 0.0
        return (
            f"{title:4s} n={self.tools:3d}  recall {100 * recall:5.1f}  precision {100 * precision:5.1f}"
            f"  F1 {100 * f1:5.1f}  exact {100 * exact:5.1f}  traps {self.traps}"
        )


def data_file(arguments: list[str]) -> Path:
    if arguments:
        return Path(arguments[0])
    folder = os.environ.get("TOOLHUB_DATA")
    return (Path(folder) if folder else ROOT.parent / "shared" / "data") / "capabilities" / "dev.jsonl"


def main(arguments: list[str]) -> int:
    path = data_file(arguments)
    if not path.is_file():
        print(f"No data at {path}: give the file as argument, or the data folder as TOOLHUB_DATA.")
        return 0
    rows = [json.loads(line) for line in path.read_text(encoding="utf8").splitlines() if line.strip()]
    extract_capabilities("", "")  # compiles the table
    tallies = {"zh": Tally(), "en": Tally(), "all": Tally()}
    spent = 0.0
    for row in rows:
        start = time.perf_counter()
        tags = extract_capabilities(row["name"], row["description"])
        spent += time.perf_counter() - start
        for title in (row["lang"], "all"):
            tallies.setdefault(title, Tally()).add(row, set(tags))
    for title, tally in tallies.items():
        print(tally.line(title))
    for title, counts in (("missed", tallies["all"].missed), ("wrong", tallies["all"].wrong)):
        print(f"{title}: " + (", ".join(f"{tag} {count}" for tag, count in counts.most_common(8)) or "none"))
    print(f"{1e6 * spent / max(len(rows), 1):.1f} µs a tool")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
