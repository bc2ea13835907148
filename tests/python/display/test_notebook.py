"""The displays in a real notebook: run by nbclient, rendered by nbconvert."""

import os
import re
import warnings
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from toolhub import _core

SERVER = Path(__file__).parents[2] / "mcp" / "faults" / "stdio_server.py"

CELLS = [
    "import sys, toolhub\n"
    "from toolhub import ToolHub, display\n"
    "hub = ToolHub()\n"
    "@hub.tool(read_only=True)\n"
    "def cities(prefix: str = '') -> list:\n"
    "    'Cities and their temperature.'\n"
    "    return [{'city': 'Oslo', 't': 3}, {'city': '<b onclick=alert(1)>Rome</b>', 't': 17}]\n"
    f"hub.add_server('lab', command=sys.executable, args=[{str(SERVER)!r}], env={{'FAULT': 'ok'}})",
    "with display.live(hub):\n"
    "    report = await hub.connect()\n"
    "    await hub.execute_many([('cities', {}), ('echo', {'text': 'hello'}), 'missing'])",
    "hub",
    "hub.get('echo')",
    "hub.call('cities')",
    "hub.search('temperature of cities')",
    "hub.explain('cities')",
    "hub.stats()",
    "report",
    # A figure of matplotlib has no method of its own: the library registers a formatter, as this cell does.
    "class Figure: pass\n"
    "png = b'\\x89PNG\\r\\n\\x1a\\n'\n"
    "formatters = get_ipython().display_formatter.formatters\n"
    "formatters['image/png'].for_type(Figure, lambda figure: (png, {'width': 9}))\n"
    "hub.register(Figure, name='plot', parameters={}, read_only=True)\n"
    "hub.call('plot')",
    "hub.close()",
]


@pytest.fixture(scope="module")
def notebook() -> Any:
    """The notebook after all its cells were run in a kernel of its own."""
    kept = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(Path(_core.__file__).parents[1])
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Jupyter's own
            nbclient.NotebookClient(made, timeout=50, kernel_name="python3").execute()
    finally:
        if kept is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = kept
    return made


def shown(notebook: Any, cell: int) -> str:
    """The HTML that a cell has left."""
    outputs = [out["data"] for out in notebook["cells"][cell]["outputs"] if "data" in out]
    assert len(outputs) == 1, notebook["cells"][cell]["outputs"]
    assert "text/plain" in outputs[0]
    return outputs[0]["text/html"]


def test_each_object_is_shown(notebook: Any) -> None:
    assert "<b>lab</b>" in shown(notebook, 2)
    assert '<span class="quiet">lab</span>' in shown(notebook, 3)
    assert "<td>Oslo</td><td>3</td>" in shown(notebook, 4)
    assert "<b>cities</b>" in shown(notebook, 5)
    assert "Candidates, in order" in shown(notebook, 6)
    assert "100%" in shown(notebook, 7)
    assert "connected" in shown(notebook, 8)


def test_a_figure_is_shown_as_the_notebook_shows_it(notebook: Any) -> None:
    assert '<img src="data:image/png;base64,iVBORw0KGgo=" alt="">' in shown(notebook, 9)


def test_the_live_view_ends_with_what_has_happened(notebook: Any) -> None:
    live = shown(notebook, 1)
    assert '<span class="good">connected</span>' in live
    assert live.count('<span class="good">done</span>') == 2
    assert '<span class="bad">not_found</span>' in live


def test_it_is_rendered_without_anything_from_elsewhere(notebook: Any) -> None:
    from nbconvert import HTMLExporter  # slow to import, and every worker imports this file

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exporter = HTMLExporter(template_name="basic")
        page, _ = exporter.from_notebook_node(notebook)
    assert "<td>Oslo</td><td>3</td>" in page
    assert "<b onclick" not in page
    ours = "".join(shown(notebook, cell) for cell in range(1, 9))
    assert not re.search(r"(?:src|href|url)\s*[=(]\s*[\"']?(?!data:)\w+:", ours)
    assert "<script" not in ours
