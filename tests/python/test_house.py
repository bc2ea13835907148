"""House rules that no compiler holds: short files, agents on the public interface, rooms within their budgets."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
MAX_LINES = 600
# Kept as it came, so that it can be compared and renewed.
VENDORED = ROOT / "tests/mcp/faults"
FOLDERS = ("src", "python", "tests", "benches", "scripts")


def long_files(root: Path) -> list[str]:
    files = [
        file for folder in FOLDERS for file in (root / folder).rglob("*.*") if file.suffix in (".rs", ".py")
    ]
    lines = {
        file: len(file.read_text("utf-8").splitlines()) for file in files if not file.is_relative_to(VENDORED)
    }
    return [f"{file.relative_to(root)}: {count} lines" for file, count in lines.items() if count > MAX_LINES]


def private_imports(folder: Path) -> list[str]:
    private = re.compile(r"\s*(from|import) +((toolhub|\.)\._|(toolhub|\.\.) +import +_)")
    return [
        f"{file.name}:{at}: {line.strip()}"
        for file in sorted(folder.rglob("*.py"))
        for at, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if private.match(line)
    ]


def size() -> ModuleType:
    spec = importlib.util.spec_from_file_location("size", ROOT / "scripts/size.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_files_are_short() -> None:
    assert long_files(ROOT) == []


def test_a_long_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.rs").write_text("\n" * (MAX_LINES + 1))
    (tmp_path / "src/b.rs").write_text("\n" * MAX_LINES)
    assert long_files(tmp_path) == ["src/a.rs: 601 lines"]


def test_agents_use_the_public_interface() -> None:
    assert private_imports(ROOT / "python/toolhub/agents") == []


@pytest.mark.parametrize(
    "line",
    [
        "from toolhub._core import x",
        "from .._pool import x",
        "from .. import _core",
        "import toolhub._core",
        "from toolhub import _x",
    ],
)
def test_a_private_import_is_found(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        f"from __future__ import annotations\nfrom ..errors import ToolError\n{line}\n"
    )
    assert private_imports(tmp_path) == [f"a.py:3: {line}"]


def test_only_code_lines_count(tmp_path: Path) -> None:
    counted = size()
    counted.ROOT = tmp_path
    rust, python = tmp_path / "a.rs", tmp_path / "a.py"
    rust.write_text(
        "//! A.\n\nfn a() {\n    // why\n    b()\n}\n\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n"
    )
    python.write_text('"""A."""\n\n\ndef a():\n    """Does\n    a."""\n    # why\n    return 1\n')
    assert (counted.rust_lines(rust), counted.python_lines(python)) == (3, 2)
