"""A hook of mkdocs: in `nav`, a folder (ends with `/`) stands for its pages; without pages it is left out."""

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


def expand(docs: Path, entry: Any) -> list[Any]:
    """One entry of `nav`, its folder written out."""
    if isinstance(entry, str):
        return list(pages(docs, entry)) if entry.endswith("/") else [entry]
    [(title, target)] = entry.items()
    if isinstance(target, list):
        return [{title: [new for old in target for new in expand(docs, old)]}]
    if not target.endswith("/"):
        return [entry]
    found = pages(docs, target)
    return [{title: found}] if found else []


def on_config(config: Any) -> Any:
    """Called by mkdocs once it has read its settings."""
    config.nav = [new for old in config.nav for new in expand(Path(config.docs_dir), old)]
    return config
