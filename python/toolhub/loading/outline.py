"""What a module imports, read from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_BLOCKS = (ast.If, ast.Try, ast.With, ast.For, ast.While)


@dataclass(frozen=True)
class Outline:
    """`imported` are the names that imports bind at the top, `stars` the modules of which it imports all names."""

    imported: frozenset[str] = frozenset()
    stars: frozenset[str] = frozenset()


def outline(source: bytes | str) -> Outline:
    """The outline of a module.

    >>> sorted(outline("import os.path as p\\nfrom .helpers import double, triple as third").imported)
    ['double', 'p', 'third']
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Outline()
    imported: set[str] = set()
    stars: set[str] = set()
    for node in _at_the_top(tree.body):
        if isinstance(node, ast.Import):
            imported.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.update(alias.asname or alias.name for alias in node.names)
            if "*" in imported:
                imported.discard("*")
                stars.add("." * node.level + (node.module or ""))
    return Outline(frozenset(imported), frozenset(stars))


def _at_the_top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also those inside of `if` and `try`."""
    for node in body:
        yield node
        if isinstance(node, _BLOCKS):
            for part in ("body", "orelse", "finalbody"):
                yield from _at_the_top(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from _at_the_top(handler.body)
