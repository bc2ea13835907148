"""Blocks of the documentation that need another package run in an environment that has it: `<!-- no-run: environment … -->`."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from pathlib import Path

import pytest

from integrations.test_integrations import python
from support.pages import Block, blocks, compare
from test_docs import pages

ROOT = Path(__file__).parents[3]
MARK = "environment "
# The blocks of a page await at their top level.
RUNNER = "import ast, asyncio, inspect, sys\n" + (
    "code = compile(sys.stdin.read(), 'page', 'exec', ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)\n"
    "result = eval(code, {'__name__': '__main__'})\n"
    "asyncio.run(result) if inspect.iscoroutine(result) else None\n"
)


def environment_of(block: Block) -> str | None:
    """The environment that a block asks for."""
    return block.reason.removeprefix(MARK) if block.reason and block.reason.startswith(MARK) else None


def programs() -> dict[tuple[Path, str], tuple[str, str]]:
    """For each page and environment: the code, and what it prints. What a page sets up before comes with it."""
    found: dict[tuple[Path, str], tuple[str, str]] = {}
    for page in pages():
        setting_up = ""
        every = list(blocks(page.read_text("utf-8")))
        for block, following in itertools.pairwise(every):
            environment = environment_of(block)
            if environment is not None:
                code, output = found.get((page, environment), (setting_up, ""))
                assert following.language == "text", f"{page.name}, line {block.line}: it shows no output"
                found[page, environment] = (code + block.code + "\n", output + following.code + "\n")
            elif block.language == "python" and block.reason is None:
                setting_up += block.code + "\n"
    return found


PROGRAMS = programs()


def test_the_pages_have_such_blocks() -> None:
    """A mark that is written in another way would silently leave a block out."""
    environments = {environment for _, environment in PROGRAMS}
    assert environments == {"fastapi", "fastmcp", "langchain", "mcp1", "mcp2", "openai-agents", "pydantic-ai"}
    page = next(page for page, _ in PROGRAMS if page.name == "integrations.md")
    for block in blocks(page.read_text("utf-8")):
        assert block.language == "text" or environment_of(block), f"line {block.line}"


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("page", "environment"), PROGRAMS, ids=[f"{page.name}-{name}" for page, name in PROGRAMS]
)
def test_the_blocks_run_with_the_real_package(page: Path, environment: str, tmp_path: Path) -> None:
    if not os.environ.get("INTEGRATIONS") and environment != "mcp2":
        pytest.skip("part of `make integrations`")
    code, expected = PROGRAMS[page, environment]
    ran = subprocess.run(
        [python(environment), "-c", RUNNER],
        input=code,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert ran.returncode == 0, ran.stderr[-6000:]
    compare(f"{page.name}, {environment}", expected, ran.stdout)


def excerpts() -> list[tuple[Path, Block, Path]]:
    """Blocks that are a part of an example, which other tests run: page, block and example."""
    found: list[tuple[Path, Block, Path]] = []
    for page in pages():
        for block in blocks(page.read_text("utf-8")):
            example = re.search(r"runs (examples/\S+\.py)", block.reason or "")
            if example:
                found.append((page, block, ROOT / example[1]))
    return found


@pytest.mark.parametrize(
    ("page", "block", "example"),
    excerpts(),
    ids=[f"{page.name}:{block.line}" for page, block, _ in excerpts()],
)
def test_an_excerpt_is_what_the_example_has(page: Path, block: Block, example: Path) -> None:
    has = {line.strip() for line in example.read_text("utf-8").splitlines()}
    missing = [line for line in block.code.splitlines() if line.strip() not in has]
    assert not missing, f"{page.name}, line {block.line}: {example.name} has no such lines"
