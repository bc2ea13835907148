"""`make release-check`: what must be true of the files before a release, apart from tests, wheels and licences.

python scripts/release_check.py             before the version is set: the changelog may say "Unreleased"
python scripts/release_check.py 0.2.0       for this version
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "LICENSE-MIT"),
    *("LICENSE-APACHE", "deny.toml", ".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/feature.yml"),
)


def problems(root: Path, version: str | None = None) -> Iterator[str]:
    """What is wrong, a sentence each."""
    yield from (f"{name} is missing" for name in FILES if not (root / name).is_file())
    yield from _problems_of_versions(root, version)
    yield from _problems_of_the_changelog(root, version)
    for lock in sorted((root / "requirements").rglob("*.txt")):
        if re.search(r"https?://|--index-url|--find-links", lock.read_text("utf-8")):
            yield f"{lock.relative_to(root)} has a download address"


def _problems_of_versions(root: Path, version: str | None) -> Iterator[str]:
    cargo = tomllib.loads((root / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]
    package = re.search(
        r'^__version__ = "(.+)"$', (root / "python/toolhub/__init__.py").read_text("utf-8"), re.MULTILINE
    )
    lock = tomllib.loads((root / "Cargo.lock").read_text("utf-8"))["package"]
    locked = next((one["version"] for one in lock if one["name"] == "toolhub"), None)
    wanted = version or cargo
    found = {
        "Cargo.toml": cargo,
        "Cargo.lock": locked,
        "toolhub.__version__": package[1] if package else None,
    }
    yield from (f"{place} says {given}, not {wanted}" for place, given in found.items() if given != wanted)


def _problems_of_the_changelog(root: Path, version: str | None) -> Iterator[str]:
    text = (root / "CHANGELOG.md").read_text("utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    if not headings:
        yield "CHANGELOG.md has no version"
    elif version is None and headings[0] != "Unreleased":
        yield f"CHANGELOG.md begins with {headings[0]!r}, not with 'Unreleased'"
    elif version is not None and not re.fullmatch(rf"{re.escape(version)} - \d{{4}}-\d\d-\d\d", headings[0]):
        yield f"CHANGELOG.md begins with {headings[0]!r}, not with '{version} - YYYY-MM-DD'"


def _changes(root: Path) -> list[str]:
    done = subprocess.run(
        ["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def main(arguments: list[str]) -> int:
    """Print what is wrong; the exit code is 1 if anything is."""
    version = arguments[0] if arguments else None
    found = list(problems(ROOT, version))
    if version is not None and _changes(ROOT):
        found.append("there are changes that are not committed")
    print("\n".join(found) or "the files are ready")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
