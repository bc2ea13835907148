"""The documentation is executed: every Python block of README.md and docs/, every docstring example.

The blocks of one page share a namespace and an event loop (`await` works at top level, as in a notebook) in
a process of their own. A block is left out by a comment on the line before it, with its reason:

    <!-- no-run: needs a server -->
"""

from __future__ import annotations

import doctest
import importlib
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

import support.pages
from support.pages import runnable

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "toolhub"

# The title of a decision, then whether it still holds.
STATUS = re.compile(r"# .+\n\nStatus: (valid\b|replaced by \[.+\]\(.+\.md\))")


def run_page(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the blocks of one page in a process of their own, with `folder` as working directory."""
    command = [sys.executable, "-X", "utf8", "-W", "error", support.pages.__file__, str(page)]
    # The folder of the program is not on the path: examples see what a user sees.
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=55
    )


def pages() -> list[Path]:
    return [*sorted(ROOT.glob("README*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, tmp_path: Path) -> None:
    if not runnable(page.read_text("utf-8")):
        assert page.parent != ROOT, f"{page.name} has no Python block that runs"
        return
    done = run_page(page, tmp_path)
    assert done.returncode == 0, f"{page.relative_to(ROOT)}:\n{done.stdout}\n{done.stderr}"


def modules() -> list[str]:
    """All modules of the package but the extension; `__main__` would start the command line."""
    found: list[str] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1] != "__main__":
            found.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return found


def doctests(module: str) -> list[doctest.DocTest]:
    found = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module))
    return [test for test in found if test.examples]


@pytest.mark.parametrize("module", modules())
def test_docstrings(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for test in doctests(module):
        runner.run(test)
    assert runner.failures == 0, capsys.readouterr().out


def test_there_are_docstring_examples() -> None:
    assert sum(len(doctests(module)) for module in modules()) > 0


def dependencies() -> set[str]:
    """Everything that the Cargo.toml files, pyproject.toml and requirements/*.in name."""
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines: list[str] = [*project["dependencies"]]
    for extra in project.get("optional-dependencies", {}).values():
        lines += extra
    for path in (ROOT / "requirements").glob("*.in"):
        lines += [line for line in path.read_text("utf-8").splitlines() if re.match(r"\w", line)]
    names = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in lines}
    for project_file in ("tests/loom/Cargo.toml", "benches/rmcp/Cargo.toml"):
        names |= set(tomllib.loads((ROOT / project_file).read_text("utf-8"))["dependencies"])
    named = names | set(cargo["workspace"]["dependencies"]) | set(cargo["dev-dependencies"])
    return {name for name in named if name.partition("-")[0] != "toolhub"}


def test_every_dependency_has_its_reason() -> None:
    table = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.+`) \| \S", table, re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert dependencies() == listed, "docs/dependencies.md has one line for each dependency, and no other"


def test_every_decision_has_a_status_and_is_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    notes = sorted(folder.glob("2*.md"))
    without = [note.name for note in notes if not STATUS.match(note.read_text("utf-8"))]
    assert without == [], "below its title a note has `Status: valid` or `Status: replaced by [title](file)`"
    index = re.findall(
        r"^- \*?\[.+\]\((.+\.md)\)\*?: \S", (folder / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert sorted(index) == [note.name for note in notes], (
        "docs/decisions/README.md has one line for each note"
    )


# ------------------------------------------------------------------ the checks above can fail


def page_of(tmp_path: Path, text: str) -> Path:
    page = tmp_path / "page.md"
    page.write_text(textwrap.dedent(text), "utf-8")
    return page


def test_blocks_share_a_namespace_and_a_loop(tmp_path: Path) -> None:
    page = page_of(
        tmp_path,
        """
        ```python
        import asyncio
        await asyncio.sleep(0)
        future = asyncio.get_running_loop().create_future()
        ```
        - in a list:

          ```python
          future.set_result("搜索")
          assert await future == "搜索"
          print("reached")
          ```
        ```console
        $ false
        ```
        """,
    )
    done = run_page(page, tmp_path)
    assert (done.returncode, done.stdout) == (0, "reached\n"), done.stderr


def test_a_failing_block_fails_and_names_its_line(tmp_path: Path) -> None:
    done = run_page(page_of(tmp_path, "# Title\n\n```python\nx = 1\nassert x == 2\n```\n"), tmp_path)
    assert done.returncode != 0
    assert "page.md" in done.stderr
    assert "line 5" in done.stderr


@pytest.mark.parametrize(("shown", "code"), [("1 apple", 0), ("... apple", 0), ("2 apples", 1)])
def test_what_a_block_prints_is_compared_with_the_text_after_it(
    shown: str, code: int, tmp_path: Path
) -> None:
    page = page_of(tmp_path, f"```python\nprint('1 apple')\n```\n\n```text\n{shown}\n```\n")
    done = run_page(page, tmp_path)
    assert done.returncode == code, done.stderr
    assert ("but the block printed" in done.stderr) is bool(code)


def test_a_warning_fails(tmp_path: Path) -> None:
    done = run_page(page_of(tmp_path, "```python\nimport warnings\nwarnings.warn('old')\n```\n"), tmp_path)
    assert done.returncode != 0


def test_no_run_leaves_a_block_out_and_needs_a_reason() -> None:
    assert runnable("<!-- no-run: needs a server -->\n\n```python\n1 / 0\n```\n") == []
    with pytest.raises(ValueError, match="needs a reason"):
        runnable("<!-- no-run: -->\n```python\n1 / 0\n```\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [("```pycon\n>>> 1\n```\n", "so that it is run"), ("x\n```python\n1\n", "line 2 is never closed")],
)
def test_blocks_that_would_silently_not_run_are_errors(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        runnable(text)
