"""The hooks of the documentation site: what its menu has, and that no public name is missing from the reference."""

from __future__ import annotations

import importlib.util
import sys
import zlib
from pathlib import Path
from types import ModuleType, SimpleNamespace

ROOT = Path(__file__).parents[2]


def hook(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_a_folder_stands_for_its_pages_that_are_not_named(tmp_path: Path) -> None:
    for page in ("a/README.md", "a/b.md", "a/c.md", "d/e.md"):
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / page).touch()
    nav = [{"Story": [{"C": "a/c.md"}, "d/e.md"]}, {"A": "a/"}, {"D": [{"E": "d/"}, "a/"]}]
    config = SimpleNamespace(docs_dir=str(tmp_path), nav=nav)
    assert hook("mkdocs_nav").on_config(config).nav == [
        {"Story": [{"C": "a/c.md"}, "d/e.md"]},
        {"A": ["a/README.md", "a/b.md"]},
        {"D": ["a/README.md", "a/b.md"]},
    ]


def test_every_page_of_the_site_is_in_its_menu_once() -> None:
    nav = hook("mkdocs_nav")
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    named = [line.split(":")[-1].strip(" -") for line in text.splitlines() if line.rstrip().endswith(".md")]
    assert len(named) == len(set(named))
    assert [page for page in named if not (ROOT / "docs" / page).is_file()] == []
    assert "concepts/safety.md" in nav.pages(ROOT / "docs", "concepts")


def test_names_that_no_page_shows_are_found() -> None:
    reference = hook("mkdocs_reference")
    record = "# toolhub\n\nclass B(A)\n    B(x)\n    async x(y=1)\n    z\n\nf(a)\n\n# toolhub.m\n\nB: see toolhub\n\nN = 5\n"
    names = list(reference.public_names(record))
    assert names == ["toolhub.B", "toolhub.B.x", "toolhub.B.z", "toolhub.f", "toolhub.m.N"]
    lines = b"toolhub.B py:class 1 b.html#$ -\ntoolhub.a.A.x py:function 1 a.html#$ -\ntoolhub.f py:function 1 f#$ -\n"
    shown = reference.shown_names(b"# Sphinx\n# Project: x\n# Version: 1\n# zlib\n" + zlib.compress(lines))
    families = {"toolhub.B": ["toolhub.B", "toolhub.a.A"]}
    assert reference.missing(names, shown, families) == ["toolhub.B.z", "toolhub.m.N"]


def test_the_record_is_read_as_it_is_written() -> None:
    names = set(
        hook("mkdocs_reference").public_names((ROOT / "tests/python/interface.txt").read_text("utf-8"))
    )
    assert {
        "toolhub.ToolHub.execute",
        "toolhub.ErrorKind",
        "toolhub.options.CallOptions",
        "toolhub.kit.words",
    } <= names
    assert "toolhub.exceptions.ToolError" not in names
