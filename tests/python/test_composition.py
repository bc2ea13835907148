"""How the Python side is put together: parts that own their state, thin methods on `ToolHub`, imports that go one way."""

from __future__ import annotations

import ast
import gc
import inspect
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

import toolhub
from toolhub import ToolHub

PACKAGE = Path(toolhub.__file__).parent
GROUPS = [base for base in ToolHub.__mro__ if base.__module__.startswith("toolhub") and base is not ToolHub]


def own_methods(group: type) -> set[str]:
    return {name for name, value in vars(group).items() if inspect.isfunction(value)}


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_a_group_of_methods_names_only_parts_of_the_hub(group: type) -> None:
    """A group that declares a method of another group depends on it without saying so."""
    declared = set(inspect.get_annotations(group))
    others = set().union(*(own_methods(other) for other in [*GROUPS, ToolHub] if other is not group))
    assert not declared & others
    assert all(name.startswith("_") for name in declared)


def test_no_method_is_defined_twice() -> None:
    defined = [name for group in [*GROUPS, ToolHub] for name in own_methods(group)]
    assert sorted(defined) == sorted(set(defined))


def test_no_part_keeps_its_hub_alive() -> None:
    """A hub without references is freed at once, without the garbage collector: nothing inside refers back to it."""
    hub = ToolHub()
    hub.register(len, name="length")
    hub.search("length")
    hub.as_openai()
    hub.add_server("files", command="files-server")
    gone = weakref.ref(hub)
    gc.disable()
    try:
        del hub
        assert gone() is None
    finally:
        gc.enable()


def imported(module: str, tree: ast.AST, is_package: bool) -> Iterator[str]:
    """The modules that are imported when this one is: not inside functions, not for type checkers only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.ImportFrom):
            parts = module.split(".")
            base = parts[: len(parts) - node.level + is_package] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{source}.{alias.name}" for alias in node.names)
            if node.module is not None or not is_package:
                yield source
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            yield from imported(module, node, is_package)


def graph() -> dict[str, set[str]]:
    files = {
        ".".join(["toolhub", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(
            ".__init__"
        ): path
        for path in PACKAGE.rglob("*.py")
    }
    found: dict[str, set[str]] = {}
    for module, path in files.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        uses = set(imported(module, tree, path.name == "__init__.py"))
        # `from .. import _core` names the package and its member; the package itself does not count.
        found[module] = {one for one in uses if one in files and not module.startswith(f"{one}.")} - {module}
    return found


def test_imports_go_one_way() -> None:
    uses, done = graph(), set[str]()

    def visit(module: str, path: list[str]) -> None:
        assert module not in path, " → ".join([*path[path.index(module) :], module])
        if module not in done:
            for other in sorted(uses[module]):
                visit(other, [*path, module])
            done.add(module)

    for module in sorted(uses):
        visit(module, [])
