"""A hook of mkdocs: every name of the public interface is on a page of the reference, with its docstring.

`tests/python/interface.txt` is the record of the interface. mkdocstrings leaves out what has no docstring, and the site's
inventory (`objects.inv`) lists what it shows, so a name that is missing there is a warning, which `--strict` makes an error.
"""

from __future__ import annotations

import logging
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests" / "python" / "interface.txt"
LOG = logging.getLogger("mkdocs.hooks.reference")

ENTRY = re.compile(r"(?P<member>    )?(?:async |class |enum |typed dict )?(?P<name>\w+)(?P<rest>.*)")


def public_names(record: str) -> Iterator[str]:
    """The names of the record, as `toolhub.ToolHub.call`; those that are recorded elsewhere are left out.

    >>> record = "# toolhub\\n\\nclass Hit\\n    Hit(x)\\n    name\\n\\n# toolhub.events\\n\\nHit: see toolhub\\n"
    >>> list(public_names(record))
    ['toolhub.Hit', 'toolhub.Hit.name']
    """
    module = owner = ""
    for line in record.splitlines():
        if line.startswith("# "):
            module = line[2:]
        elif (found := ENTRY.fullmatch(line)) and found["rest"] != ": see toolhub":
            if found["member"] is None:
                owner = found["name"]
                yield f"{module}.{owner}"
            elif found["name"] != owner:  # the constructor, which is described with its class
                yield f"{module}.{owner}.{found['name']}"


def shown_names(inventory: bytes) -> set[str]:
    """The names of an inventory of Sphinx, version 2: four lines of text, then the compressed entries."""
    entries = zlib.decompress(inventory.split(b"\n", 4)[4]).decode()
    return {line.split(" ", 1)[0] for line in entries.splitlines()}


def families(package: Any, names: list[str]) -> dict[str, list[str]]:
    """For each class among the names: itself, where it is defined, and the classes that it inherits from."""
    found: dict[str, list[str]] = {}
    for name in names:
        try:
            entry = package[name.removeprefix(f"{package.path}.")]
        except KeyError:
            continue  # a record that is ahead of the code; the name is missing then
        entry = entry.final_target if entry.is_alias else entry
        if entry.is_class:
            bases = [entry, *entry.mro()]
            found[name] = [name, *(base.path for base in bases), *(f"toolhub.{base.name}" for base in bases)]
    return found


def missing(names: list[str], shown: set[str], families: dict[str, list[str]]) -> list[str]:
    """The names that no page shows. What a class inherits may be shown with the class that has it.

    >>> missing(["toolhub.B.x", "toolhub.B.y"], {"toolhub.A.x"}, {"toolhub.B": ["toolhub.B", "toolhub.A"]})
    ['toolhub.B.y']
    """

    def places(name: str) -> Iterator[str]:
        yield name
        owner, _, member = name.rpartition(".")
        yield from (f"{other}.{member}" for other in families.get(owner, []))

    return [name for name in names if not shown.intersection(places(name))]


def on_post_build(config: Any) -> None:
    """Called by mkdocs once the site is written."""
    import griffe  # comes with mkdocstrings; the rest of this file is tested without it

    names = list(public_names(RECORD.read_text("utf-8")))
    package = griffe.load("toolhub", search_paths=[ROOT / "python"], resolve_aliases=True)
    classes = families(
        package, [name for name in names if name.count(".") == 1 or name.rsplit(".", 2)[1].islower()]
    )
    shown = shown_names((Path(config.site_dir) / "objects.inv").read_bytes())
    for name in missing(names, shown, classes):
        LOG.warning("%s is not in the reference: add it to a page of docs/reference, with a docstring", name)
