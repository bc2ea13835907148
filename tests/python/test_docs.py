"""The documentation is executed: every Python block of README.md and docs/, every docstring example.

The blocks of one page share a namespace and an event loop (`await` works at top level, as in a notebook) in
a process of their own. A block is left out by a comment on the line before it, with its reason:

    <!-- no-run: needs a server -->
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import doctest
import importlib
import inspect
import io
import os
import re
import subprocess
import sys
import textwrap
import tomllib
import types
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "toolhub"

FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)")
NO_RUN = re.compile(r"<!--\s*no-run:(?P<reason>.*)-->")
# The title of a decision, then whether it still holds.
STATUS = re.compile(r"# .+\n\nStatus: (valid\b|replaced by \[.+\]\(.+\.md\))")
# These would look like examples and never run.
OTHER_NAMES = {"py", "python3", "pycon", "ipython"}


class Block(NamedTuple):
    line: int  # of the first line of code, from 1
    end: int  # the line that closes it, from 1
    language: str
    code: str
    reason: str | None  # for not running it
    output: str | None = None  # what it must print: the text block that follows it


def blocks(text: str) -> Iterator[Block]:
    """All fenced blocks of a Markdown text, also indented ones (in lists)."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        opening = FENCE.match(lines[at])
        if opening is None:
            at += 1
            continue
        closing = re.compile(rf"^[ \t]*{opening['fence'][0]}{{{len(opening['fence'])},}}[ \t]*$")
        end = next((i for i in range(at + 1, len(lines)) if closing.match(lines[i])), None)
        if end is None:
            raise ValueError(f"the block that starts on line {at + 1} is never closed")
        before = next((line for line in reversed(lines[:at]) if line.strip()), "")
        mark = NO_RUN.search(before)
        code = textwrap.dedent("\n".join(lines[at + 1 : end]))
        yield Block(
            at + 2, end + 1, opening["language"].lower(), code, mark["reason"].strip() if mark else None
        )
        at = end + 1


def runnable(text: str) -> list[Block]:
    """The Python blocks that are to run; an error for one that would silently not."""
    found: list[Block] = []
    all_blocks = list(blocks(text))
    for block, following in zip_longest(all_blocks, all_blocks[1:]):
        if block.language in OTHER_NAMES:
            raise ValueError(f"line {block.line - 1}: write python, not {block.language}, so that it is run")
        if block.language != "python":
            continue
        if block.reason == "":
            raise ValueError(f"line {block.line - 1}: `no-run` needs a reason")
        if block.reason is None:
            prints = following is not None and following.language == "text" and "print(" in block.code
            is_next = prints and not "".join(text.splitlines()[block.end : following.line - 2]).strip()
            found.append(block._replace(output=following.code if is_next else None))
    return found


def execute(page: Path) -> None:
    """Runs the blocks of one page, in this process."""
    # A module, not a bare dict: annotations are looked up in the module of a class.
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    with asyncio.Runner() as runner:
        for block in runnable(page.read_text("utf-8")):
            # Blank lines before it, so that a traceback names the line of the page.
            source = "\n" * (block.line - 1) + block.code
            code = compile(source, str(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                result = eval(code, module.__dict__)  # a coroutine when the block awaits
                if inspect.iscoroutine(result):
                    runner.run(result)
            sys.stdout.write(printed.getvalue())
            if block.output is not None:
                compare(f"{page}, line {block.line}", block.output + "\n", printed.getvalue())


def compare(where: str, expected: str, printed: str) -> None:
    """Fails unless a block printed what the page shows; `...` stands for any text, as in docstrings."""
    if not doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS):
        raise AssertionError(f"{where}: the page shows\n{expected}\nbut the block printed\n{printed}")


def run_page(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the blocks of one page in a process of their own, with `folder` as working directory."""
    command = [sys.executable, "-X", "utf8", "-W", "error", __file__, str(page)]
    # `__file__` puts this folder on the path, and `support` with it: examples see what a user sees.
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


if __name__ == "__main__":
    execute(Path(sys.argv[1]))
