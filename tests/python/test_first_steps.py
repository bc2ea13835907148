"""The first page of the documentation, as a new user takes it: pasted into a file, and into a notebook."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import toolhub
from support.pages import runnable
from test_docs import ROOT

PAGES = ["README.md", "docs/getting-started.md"]
SOURCES = str(Path(toolhub.__file__).parents[1])


def code_of(page: str) -> list[str]:
    return [block.code for block in runnable((ROOT / page).read_text("utf-8"))]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_pasted_into_a_file(page: str, tmp_path: Path) -> None:
    script = tmp_path / "pasted.py"
    lines = code_of(page)
    if "getting-started" in page:
        lines.append('print(asyncio.run(welcome("Ada", "Grace")))')
    script.write_text("\n\n".join(lines), "utf-8")
    environment = {**os.environ, "PYTHONPATH": SOURCES}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert (done.returncode, done.stderr) == (0, "")
    if "getting-started" in page:
        assert done.stdout.endswith("['Hello Ada', 'Hello Grace']\n")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_pasted_into_a_notebook(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", SOURCES)
    cells = code_of(page)
    if "getting-started" in page:
        cells.append('await welcome("Ada", "Grace")')
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Jupyter's own
        nbclient.NotebookClient(notebook, timeout=50, kernel_name="python3").execute()
    outputs = [out for cell in notebook["cells"] for out in cell["outputs"]]
    assert [out for out in outputs if out.get("name") == "stderr"] == []
    if "getting-started" in page:
        assert outputs[-1]["data"]["text/plain"] == "['Hello Ada', 'Hello Grace']"


# ------------------------------------------------------------------ what is loaded, and when

HEAVY = {
    "pydantic",
    "pydantic_core",
    "docstring_parser",
    "typing_extensions",
    "email",
    "http",
    "unittest",
    "xml",
}

PLAIN = '''
from typing import Literal, Optional
import sys, asyncio
before = set(sys.modules)
import toolhub
at_import = set(sys.modules) - before
hub = toolhub.ToolHub()

@hub.tool
def order(
    item: str, count: int = 1, price: float = 1.0, gift: bool = False, tags: list[str] = [],
    extra: dict[str, int] | None = None, note: Optional[str] = None, size: Literal["s", "m"] = "s",
    plain_list: list = [], plain_dict: dict = {},
) -> str:
    """Order something."""
    return f"{count} {item}"

assert hub.call("order", {"item": "tea", "count": 2, "tags": ["hot"], "extra": {"sugar": 1}}).result == "2 tea"
at_registration = set(sys.modules) - before
'''


def modules(code: str) -> set[str]:
    environment = {**os.environ, "PYTHONPATH": SOURCES}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=50
    )
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_the_import_loads_nothing_heavy() -> None:
    loaded = modules(PLAIN + "print(*at_import)")
    assert "toolhub" in loaded
    assert loaded & HEAVY == set()


def test_plain_signatures_load_nothing_heavy() -> None:
    assert modules(PLAIN + "print(*at_registration)") & HEAVY == set()


def test_a_signature_that_needs_pydantic_loads_it() -> None:
    code = PLAIN + (
        "import datetime\n"
        "@hub.tool\n"
        "def day(at: datetime.date) -> int:\n"
        "    return at.day\n"
        "assert hub.call('day', {'at': '2026-11-16'}).result == 16\n"
        "print(*sys.modules)"
    )
    assert "pydantic" in modules(code)
