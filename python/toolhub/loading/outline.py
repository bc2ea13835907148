"""What a module imports, read from its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_BLOCKS = (ast.If, ast.Try, ast.With, ast.For, ast.While)


@dataclass(frozen=True)
class Outline:
    """`imported` are the names that imports bind at the top, `stars` the modules of which it imports all names; `needs` the
    modules of the same folder that it imports."""

    imported: frozenset[str] = frozenset()
    stars: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()


def outline(source: bytes | str, name: str, is_package: bool) -> Outline:
    """The outline of the module `name`, which is named from the folder.

    >>> found = outline("import os.path as p\\nfrom .helpers import double, triple as third", "maths.adding", False)
    >>> sorted(found.imported), "maths.helpers" in found.needs
    (['double', 'p', 'third'], True)
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
    needs: set[str] = set()
    package = name.split(".") if is_package else name.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            needs.update(_needed(node, package))
    return Outline(frozenset(imported), frozenset(stars), frozenset(needs - {name}))


def _at_the_top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also those inside of `if` and `try`."""
    for node in body:
        yield node
        if isinstance(node, _BLOCKS):
            for part in ("body", "orelse", "finalbody"):
                yield from _at_the_top(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from _at_the_top(handler.body)


def _needed(node: ast.ImportFrom, package: list[str]) -> Iterator[str]:
    """The modules that a relative import may mean: it does not tell a module from a name in one."""
    base = [part for part in package if part]
    base = base[: len(base) - (node.level - 1)] if node.level > 1 else base
    parts = [*base, *(node.module.split(".") if node.module else [])]
    yield ".".join(parts)
    for alias in node.names:
        yield ".".join([*parts, alias.name])
