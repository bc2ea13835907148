"""Refuses `import toolhub` when another distribution has written into the same package folder.

The name `toolhub` on the public index belongs to another project with the same import name. Installed side by side, the two
overwrite each other's files, in either order; when the other one comes last, its `toolhub/__init__.py` replaces ours, so
the check cannot be there. A `.pth` file imports this module when Python starts. It costs one directory listing, and
changes nothing unless there is a conflict. It is imported before pytest begins, hence the mark for it: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import os
import sys

OURS = "agent-toolhub"


def conflict(site: str) -> str | None:
    """What is wrong with the package `toolhub` in a folder of packages; None when it is ours alone."""
    for entry in sorted(os.listdir(site)):
        name, _, rest = entry.partition("-")
        if name.lower() == "toolhub" and rest.endswith(".dist-info") and _owns_package(site, entry):
            other = f"toolhub {rest.removesuffix('.dist-info')}"
            return (
                f"Two distributions are installed into the package 'toolhub': {OURS} and {other}, which is another "
                f"project. Each has overwritten files of the other. Remove both with 'pip uninstall toolhub {OURS}', "
                f"then install the one you want, here 'pip install {OURS}'."
            )
    if not os.path.isfile(os.path.join(site, "toolhub", "__init__.py")):
        return (
            f"The package 'toolhub' of {OURS} is incomplete: its __init__.py is missing, probably because another "
            f"distribution was uninstalled. Run 'pip install --force-reinstall {OURS}'."
        )
    return None


def _owns_package(site: str, entry: str) -> bool:
    """Whether a distribution has installed `toolhub/__init__.py`, and not just a link to a source folder."""
    try:
        with open(os.path.join(site, entry, "RECORD"), encoding="utf-8") as record:
            return any(line.startswith("toolhub/__init__.py,") for line in record)
    except OSError:
        return False


class Guard:
    """An import finder that finds nothing, and refuses `toolhub` with the reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Called by the import system, before all other finders."""
        if name == "toolhub":
            raise ImportError(self.reason, name=name)


def install(site: str) -> None:
    """Guards the import if there is a conflict. A folder that cannot be read is left alone."""
    try:
        reason = conflict(site)
    except OSError:
        return
    if reason is not None:
        sys.meta_path.insert(0, Guard(reason))


# An editable install has this module beside a link to the sources, and no package to guard.
if os.path.isdir(os.path.join(_site := os.path.dirname(os.path.abspath(__file__)), "toolhub")):
    install(_site)
