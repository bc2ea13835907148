"""A real Jupyter kernel: blocking and async calls in cells, while the kernel's own loop is running."""

import os
import warnings
from pathlib import Path

import pytest

from bridge.kit import SCRIPTS
from toolhub import _core

CELLS = [
    "import asyncio, contextvars, threading\n"
    "from bridge.kit import Hanging, fails, in_thread, offer, quick\n"
    "from toolhub import ToolHub\n"
    "hub = ToolHub()\n"
    "for function in (quick, in_thread, fails): hub.register(function)\n"
    "offer(hub, 'race', Hanging(), quick)",
    "asyncio.get_running_loop().is_running(), hub.call('quick').result, hub.call('in_thread').result",
    "(await hub.execute('quick')).result, (await hub.execute('in_thread')).result",
    "hub.call('race', strategy='first').result, (await hub.execute('race', strategy='first')).result",
    "[result.result for result in hub.call_many(['quick', 'in_thread'] * 2)]",
    "task = asyncio.create_task(hub.execute('in_thread'))",
    "(await task).result, hub.call('fails').error",
    "[thread.name for thread in threading.enumerate() if thread.name == 'toolhub-loop']",
]

ANSWERS = [
    None,
    "(True, 'quick', 'toolhub-sync')",
    "('quick', 'toolhub-sync')",
    "('quick', 'quick')",
    "['quick', 'toolhub-sync', 'quick', 'toolhub-sync']",
    None,
    "('toolhub-sync', \"Tool 'fails' raised ValueError: no luck\")",
    "['toolhub-loop']",
]


def test_cells_of_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    places = [str(Path(_core.__file__).parents[1]), str(SCRIPTS.parents[1])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(places))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Jupyter's own
        nbclient.NotebookClient(notebook, timeout=50, kernel_name="python3").execute()
    answers = [
        next((out["data"]["text/plain"] for out in cell["outputs"] if "data" in out), None)
        for cell in notebook["cells"]
    ]
    assert answers == ANSWERS
    assert not [
        out for cell in notebook["cells"] for out in cell["outputs"] if out["output_type"] == "stream"
    ]
