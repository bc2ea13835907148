"""A hook of mkdocs: in `nav`, a folder (ends with `/`) stands for those of its pages that `nav` does not name itself.

A folder without such pages is left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

FIRST = ("index.md", "README.md")


def pages(docs: Path, folder: str) -> list[str]:
    """The pages below `folder`, as paths from `docs`; its opening page first, then by name."""
    found = sorted(
        (docs / folder).rglob("*.md"), key=lambda page: (page.parent, page.name not in FIRST, page.name)
    )
    return [page.relative_to(docs).as_posix() for page in found]


def named(entries: list[Any]) -> set[str]:
    """The pages that `nav` names one by one."""
    found: set[str] = set()
    for entry in entries:
        target = entry if isinstance(entry, str) else next(iter(entry.values()))
        found |= named(target) if isinstance(target, list) else {target}
    return found


def expand(docs: Path, entry: Any, elsewhere: set[str]) -> list[Any]:
    """One entry of `nav`, its folder written out without the pages that are `elsewhere`."""
    if isinstance(entry, str):
        if not entry.endswith("/"):
            return [entry]
        return [page for page in pages(docs, entry) if page not in elsewhere]
    [(title, target)] = entry.items()
    if isinstance(target, list):
        return [{title: [new for old in target for new in expand(docs, old, elsewhere)]}]
    if not target.endswith("/"):
        return [entry]
    found = expand(docs, target, elsewhere)
    return [{title: found}] if found else []


def on_config(config: Any) -> Any:
    """Called by mkdocs once it has read its settings."""
    elsewhere = named(config.nav)
    config.nav = [new for old in config.nav for new in expand(Path(config.docs_dir), old, elsewhere)]
    return config
