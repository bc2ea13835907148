"""Code lines of each room beside its budget: without blank lines, comments, docstrings and tests.

    python scripts/size.py      prints the table; exits with 1 above a ceiling

`GOAL` is the budget of the house plan. `CEILING` stands in for it where a room is above, which the whole makes up for
(docs/decisions/2026-11-19-budgets-of-rooms.md). It goes up only with a line there that says for what.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
GOAL = {
    "text": 4_000,
    "types": 3_400,
    "protocol": 1_200,
    "parse": 6_000,
    "registry": 4_400,
    "context": 7_000,
    "store": 3_500,
    "engine": 5_400,
    "sources": 14_000,
    "gateway": 9_000,
    "python": 11_000,
    "Rust": 69_000,
    "Python": 16_000,
}
CEILING = {
    "text": 4_100,
    "parse": 6_370,
    "registry": 4_450,
    "store": 3_740,
    "engine": 5_710,
    "sources": 14_625,
}


def rust_lines(path: Path) -> int:
    """The lines of a Rust file that ship."""
    if path.name == "tests.rs" or "tests" in path.relative_to(ROOT).parts:
        return 0
    shipped = re.split(r"^#\[cfg\(test\)\]\n(?:#\[.*\n)*mod \w+ \{", path.read_text("utf-8"), flags=re.M)[0]
    return sum(bool(line.strip()) and not line.lstrip().startswith("//") for line in shipped.splitlines())


def python_lines(path: Path) -> int:
    """The lines of a Python file without docstrings."""
    text = path.read_text("utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            skipped.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and line.lstrip()[0] != "#" and at not in skipped for at, line in lines)


def sizes() -> dict[str, int]:
    """Code lines by room, and of both languages."""
    rooms = sorted((ROOT / "src").glob("*/Cargo.toml"), key=lambda one: list(GOAL).index(one.parent.name))
    found = {one.parent.name: sum(map(rust_lines, one.parent.rglob("*.rs"))) for one in rooms}
    found["Rust"] = sum(found.values()) + rust_lines(ROOT / "src" / "lib.rs")
    found["Python"] = sum(map(python_lines, (ROOT / "python").rglob("*.py")))
    return found


def main() -> int:
    """Prints the table."""
    found = sizes()
    print(f"{'room':<10}{'lines':>8}{'goal':>8}{'ceiling':>9}")
    above: list[str] = []
    for room, lines in found.items():
        ceiling = CEILING.get(room, GOAL[room])
        shown = f"{ceiling:,}" if room in CEILING else ""
        print(f"{room:<10}{lines:>8,}{GOAL[room]:>8,}{shown:>9}")
        if lines > ceiling:
            above.append(f"{room} has {lines:,} code lines, {lines - ceiling:,} more than its ceiling")
    print(*above, sep="\n", end="\n" if above else "")
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
