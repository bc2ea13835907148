"""`examples/notebook.ipynb` in a real kernel, its model on a cassette; recorded with the small model.

`pytest --toolhub-record=all` records it again, see `make cassettes`.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pytest

import toolhub
from support.examples import EXAMPLES, SMALL_MODEL
from toolhub.testing.plugin import cassette_path

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

# The cell after the parameters: another model and folder, and the cassette, which is of the process of the kernel.
SETTING = """
from toolhub.testing import record, replay
model = OpenAI({url!r}, "none", "SmolLM2-135M", timeout=240, temperature=0.0, max_tokens=200)
folder = {folder!r}
cassette = {mode}({cassette!r}).__enter__()
"""
END = "cassette.__exit__(None, None, None)"


@pytest.fixture
def cells(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The cells of the notebook after they have run."""
    monkeypatch.setenv("PYTHONPATH", str(Path(toolhub.__file__).parents[1]))
    records = request.config.getoption("--toolhub-record") is not None
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    nbformat.validate(notebook)
    setting = SETTING.format(
        url=SMALL_MODEL or "http://127.0.0.1:9/v1",
        folder=str(tmp_path),
        mode="record" if records else "replay",
        cassette=os.fspath(cassette_path(request.node)),
    )
    own = list(notebook.cells)
    at = next(at for at, cell in enumerate(own) if "parameters" in cell.metadata.get("tags", ()))
    notebook.cells.insert(at + 1, nbformat.v4.new_code_cell(setting))
    # Before the part about the ledger: calls of a replay have no rows there.
    proof = next(at for at, cell in enumerate(notebook.cells) if "## Nothing twice" in cell.source)
    notebook.cells.insert(proof, nbformat.v4.new_code_cell(END))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Jupyter's own
        nbclient.NotebookClient(notebook, timeout=600 if records else 50, kernel_name="python3").execute()
    return [cell for cell in own if cell.cell_type == "code"]


def printed(cell: Any) -> str:
    return "".join(out["text"] for out in cell["outputs"] if out.get("name") == "stdout")


def value(cell: Any) -> str:
    return next(out["data"]["text/plain"] for out in cell["outputs"] if "data" in out)


def test_the_notebook(cells: list[Any]) -> None:
    _, _, calls, planned, chat, proof, _ = cells
    assert value(calls) == "([120.0, 80.5], 200.5)"
    assert "plan 1: " in printed(planned)
    assert "verified: " in printed(planned)
    assert printed(chat) == "answered 0\n"
    assert value(proof) == "(['sent to bob', 'sent to bob'], [('send_mail', 'done')])"
    assert not [out for cell in cells for out in cell["outputs"] if out.get("name") == "stderr"]


def test_the_notebook_is_kept_without_outputs() -> None:
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
