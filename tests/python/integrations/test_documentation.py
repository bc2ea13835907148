"""`docs/how-to/integrations.md` is executed: configurations as a client starts them, Python with the real packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from integrations.test_integrations import python
from support import wire
from test_docs import blocks, compare
from toolhub import ToolHub

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "how-to" / "integrations.md"
MARK = "environment "
ALL = list(blocks(PAGE.read_text("utf-8")))
CONFIGURATIONS = [block.code for block in ALL if block.language == "json"]
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
    assert {block.language for block in ALL} == {"json", "python", "text"}
    assert all(block.reason and block.reason.startswith(MARK) for block in ALL if block.language == "python")
    assert len(CONFIGURATIONS) == 6
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


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder that stands for `/home/ann`."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "greet.py").write_text(
        'import toolhub\n\n@toolhub.tool\ndef greet(name: str) -> str:\n    "Greet."\n    return f"hello {name}"\n'
    )
    (tmp_path / "mcp.json").write_text('{"mcpServers": {}}')
    return tmp_path


@pytest.mark.parametrize("number", range(len(CONFIGURATIONS)))
def test_a_configuration_reaches_the_hub(number: int, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub itself reads the configurations of all these clients, and starts what they start."""
    text = CONFIGURATIONS[number].replace("/home/ann", str(home))
    commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", commands)
    monkeypatch.setenv("TOOLHUB_TOKEN", "token-of-the-page")
    if "127.0.0.1:8000" not in text:
        greets(json.loads(text))
        return
    arguments = ("--config", str(home / "mcp.json"), "--tools", str(home / "tools"))
    with wire.command(*arguments, TOOLHUB_TOKEN="token-of-the-page") as program:
        greets(json.loads(text.replace("http://127.0.0.1:8000/mcp", program.url)))


def greets(configuration: dict[str, Any]) -> None:
    with ToolHub() as hub:
        report = hub.load_mcp(configuration)
        assert report.loaded == ["toolhub"], report
        assert hub.call("greet", {"name": "ann"}).result == "hello ann"
