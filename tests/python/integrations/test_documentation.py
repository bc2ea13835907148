"""`docs/how-to/integrations.md` is executed with the real packages."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from integrations.test_integrations import python
from test_docs import blocks, compare

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "how-to" / "integrations.md"
MARK = "environment "
ALL = list(blocks(PAGE.read_text("utf-8")))
ENVIRONMENTS = sorted(
    {block.reason.removeprefix(MARK) for block in ALL if block.reason and block.reason.startswith(MARK)}
)
# The blocks of a page await at their top level.
RUNNER = "import ast, asyncio, inspect, sys\n" + (
    "code = compile(sys.stdin.read(), 'page', 'exec', ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)\n"
    "result = eval(code, {'__name__': '__main__'})\n"
    "asyncio.run(result) if inspect.iscoroutine(result) else None\n"
)


def test_every_block_of_the_page_is_run() -> None:
    """A block of another kind would silently not be."""
    assert {block.language for block in ALL} == {"python", "text"}
    assert all(block.reason and block.reason.startswith(MARK) for block in ALL if block.language == "python")
    assert set(ENVIRONMENTS) >= {"fastmcp", "mcp2", "langchain", "pydantic-ai", "openai-agents"}


@pytest.mark.timeout(180)
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_blocks_of_a_framework_run_with_the_real_package(environment: str) -> None:
    if not os.environ.get("INTEGRATIONS") and environment != "mcp2":
        pytest.skip("part of `make integrations`")
    interpreter, code, expected = python(environment), "", ""
    for at, block in enumerate(ALL):
        if block.reason == f"{MARK}{environment}":
            code += block.code + "\n"
            expected += ALL[at + 1].code + "\n"
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    ran = subprocess.run(
        [interpreter, "-c", RUNNER],
        input=code,
        env=variables,
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert ran.returncode == 0, ran.stderr[-6000:]
    compare(f"{PAGE.name}, {environment}", expected, ran.stdout)
