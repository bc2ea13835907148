"""The charts of the documentation are what `make charts` draws from the recorded figures."""

from __future__ import annotations

import doctest
import importlib.util
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BENCHES = ROOT / "benches" / "python"


@pytest.fixture(scope="module")
def charts() -> Any:
    """`benches/python/charts.py`, which imports its neighbour `harness`."""
    sys.path.insert(0, str(BENCHES))
    try:
        spec = importlib.util.spec_from_file_location("charts", BENCHES / "charts.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules["charts"] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(BENCHES))


def test_the_committed_charts_are_drawn_from_the_recorded_figures(charts: Any) -> None:
    drawn = charts.charts(charts.read())
    assert set(drawn) == {name + ".svg" for name, _ in charts.PEERS.values()} | {"by-hand.svg"}
    for name, text in drawn.items():
        assert (charts.IMAGES / name).read_text("utf-8") == text, f"{name} is old: run 'make charts'"


def test_every_chart_is_on_the_page_and_one_in_the_readme(charts: Any) -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    for name in charts.charts(charts.read()):
        assert f"](images/{name})" in page
    for readme in ("README.md", "README.zh.md"):
        assert "](docs/images/call.svg)" in (ROOT / readme).read_text("utf-8")


def test_a_run_replaces_the_groups_that_it_measured(charts: Any, tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    groups = list(charts.PEERS)[:2]
    rows = [
        charts.Row(group, name, micros, 1)
        for group in groups
        for name, micros in (("toolhub", 3.0), ("x", 9.0))
    ]
    charts.record([*rows, charts.Row("without a chart", "toolhub", 1, 1)], path)
    assert charts.record([charts.Row(groups[0], "toolhub", 123.456, 1)], path) == {
        groups[0]: {"toolhub": 123.5},
        groups[1]: {"toolhub": 3.0, "x": 9.0},
    }
    assert charts.read(path) == charts.record([], path)


def test_a_chart_is_made_of_what_was_measured(charts: Any, tmp_path: Path) -> None:
    group, (name, _) = next(iter(charts.PEERS.items()))
    figures = {
        group: {"a <peer>": 30.0, "toolhub": 10.0, "direct": 1.0},
        "one sync tool": {"by hand": 4.0, "toolhub": 1.0},
    }
    written = charts.draw(figures, tmp_path)
    assert {path.name for path in written} == {f"{name}.svg", "by-hand.svg"}
    peers, by_hand = (
        [
            "".join(text.itertext())
            for text in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")
        ]
        for path in written
    )
    assert peers[1:] == ["toolhub", "1.0 ×", "a <peer>", "3.0 ×"]
    assert by_hand[1:] == ["one sync tool", "0.25 ×"]
    assert doctest.testmod(charts).failed == 0


@pytest.mark.parametrize(
    "picture", sorted((ROOT / "docs" / "images").glob("*.svg")), ids=lambda path: path.name
)
def test_a_picture_is_readable_in_both_themes_and_loads_nothing(picture: Path) -> None:
    text = picture.read_text("utf-8")
    ElementTree.fromstring(text)
    assert "prefers-color-scheme: dark" in text
    assert 'class="back"' in text, "a background of its own: the page may have another theme than the system"
    assert 'aria-label="' in text
    assert text.count("://") == 1, "only the name of the format"
