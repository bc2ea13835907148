"""How the names of real tools are judged: `python benches/python/effects.py TOOLS.jsonl [--sample 100] [--seed 7]`.

Each line of the file is a tool with `name`, `description` and `parameters`. Prints how many are harmless, unknown and may
act, and a random sample of each, with the evidence, for a person to read: the first two show the two errors, a tool that acts
and is taken for harmless, and a plain reader that costs an approval.
"""

import argparse
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

from toolhub import ToolHub


class Listed:
    """A tool as its server lists it."""

    def __init__(self, listed: dict[str, Any]) -> None:
        self.name, self.description = listed["name"], listed.get("description") or ""
        self.parameters: Any = {**(listed.get("parameters") or {}), "type": "object"}

    def execute(self, input: Any) -> None:
        """Not called."""


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tools", type=Path)
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    hub, judged = ToolHub(), list[tuple[str, str, Listed]]()
    for line in given.tools.read_text("utf-8").splitlines():
        tool = Listed(json.loads(line))
        made = hub.register(tool, source="mcps", server="listed", replace=True)
        judged.append((made.safety, made.evidence, tool))
    print(Counter(safety for safety, _, _ in judged))
    chosen = random.Random(given.seed)
    for level in ("harmless", "unknown", "may_act"):
        of_level = sorted(
            (tool.name, evidence, tool.description) for safety, evidence, tool in judged if safety == level
        )
        print(f"\n{level}: {len(of_level)}")
        for name, evidence, description in chosen.sample(of_level, min(given.sample, len(of_level))):
            print(f"  {name:40} {evidence}: {description[:80]!r}")


if __name__ == "__main__":
    main()
