"""Skills that the core passes over, because their `SKILL.md` is no file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from .files import SKILL, place_of, why_no_file

# The same places in which the core looks for skills.
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "venv", "target"})
_DEEPEST = 6
_MOST = 20_000


def stray_skills(folder: Path) -> list[str]:
    """What is wrong with each `SKILL.md` below a folder that is a link to nothing, a folder or a pipe."""
    return sorted(_strays(folder))


def _strays(folder: Path) -> Iterator[str]:
    seen: set[tuple[int, int] | None] = {None}
    for place, below, files in os.walk(folder, followlinks=True):
        here = place_of(place)
        if here in seen or len(seen) > _MOST:
            below.clear()  # links may lead back
            continue
        seen.add(here)
        names = [name for name in SKILL if name in files or name in below]
        reasons = [why_no_file(os.path.join(place, name)) for name in names]
        if names and None not in reasons:
            yield f"{place}: its {names[0]} {reasons[0]}"
        if names or len(Path(place).relative_to(folder).parts) == _DEEPEST:
            below.clear()
        below[:] = [name for name in below if not name.startswith(".") and name not in _LEFT_OUT]
