"""The public interface does not change by accident."""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
from pathlib import Path
from typing import is_typeddict

import pytest

import toolhub
from support.interface import MODULES, RECORD, interface
from toolhub import ToolHub
from toolhub.hub._limits import MOVED
from toolhub.options import Limits, Login

ROOT = Path(__file__).parents[2]


def test_the_interface_is_the_recorded_one() -> None:
    recorded, now = RECORD.read_text(encoding="utf-8"), interface()
    difference = "\n".join(
        difflib.unified_diff(recorded.splitlines(), now.splitlines(), "recorded", "now", lineterm="")
    )
    assert recorded == now, (
        "the public interface has changed; if that is intended, run 'make interface' and name it in "
        f"CHANGELOG.md\n{difference}"
    )


@pytest.mark.parametrize("name", [name for name in MODULES if name is not None])
def test_a_stable_module_is_on_the_page_about_stability(name: str) -> None:
    assert importlib.import_module(f"toolhub.{name}").__all__
    assert f"`toolhub.{name}`" in (ROOT / "docs/reference/stability.md").read_text(encoding="utf-8")


def test_every_public_name_has_a_docstring() -> None:
    undocumented = [
        name
        for name in toolhub.__all__
        if callable(getattr(toolhub, name)) and not (getattr(toolhub, name).__doc__ or "").strip()
    ]
    assert not undocumented


def test_every_public_name_is_on_a_page_of_the_reference() -> None:
    """By itself or with its whole module. `make docs` then fails for members that the built pages do not show."""
    pages = "\n".join(page.read_text("utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    shown = set(re.findall(r"^::: ([\w.]+)$", pages, re.MULTILINE))
    missing: list[str] = []
    for name in MODULES:
        module = importlib.import_module("toolhub" if name is None else f"toolhub.{name}")
        for public in module.__all__:
            home = getattr(getattr(module, public), "__module__", "")
            places = {f"{module.__name__}.{public}", f"toolhub.{public}", f"{home}.{public}", home}
            if name is not None:
                places.add(module.__name__)
            if not places & shown:
                missing.append(f"{module.__name__}.{public}")
    assert not missing


def test_every_option_is_explained_on_a_page() -> None:
    """Those of the hub and of its methods, of calls, of servers and of serving; the reference alone is not enough."""
    pages = [page for folder in ("how-to", "concepts") for page in (ROOT / "docs" / folder).glob("*.md")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    options = set(inspect.signature(toolhub.ToolHub).parameters)
    for group in vars(toolhub.options).values():
        if is_typeddict(group):
            options |= set(group.__annotations__)
    missing = sorted(name for name in options if not re.search(rf"\b{name}\b", text))
    assert not missing


def test_the_surface_of_a_hub_stays_small() -> None:
    """At most 60 names, without blocking twins and the names for existing orchestrators, and 20 keywords."""
    drop_in = {"register_candidate", "has_tool", "list_tools", "find_by_capability"}
    public = {name for name in dir(ToolHub) if not name.startswith("_") and not name.endswith("_sync")}
    assert drop_in < public
    assert len(public - drop_in) <= 60
    assert len(inspect.signature(ToolHub).parameters) <= 20


@pytest.mark.parametrize("option", sorted(MOVED))
def test_an_old_keyword_names_its_new_place(option: str) -> None:
    with pytest.raises(TypeError, match=rf"ToolHub\(\) has no option '{option}'; write ") as raised:
        ToolHub(**{option: None})
    written = str(raised.value).partition("write ")[2]
    assert written == (
        "hub.add_alias(label, target) for each label"
        if option == "source_aliases"
        else f"ToolHub({'login' if option in Login.__annotations__ else 'limits'}={{'{option}': …}})"
    )


def test_the_limits_of_a_hub_are_those_that_are_typed() -> None:
    known = set(Limits.__annotations__)
    with pytest.raises(ValueError, match="its keys are ") as raised:
        ToolHub(limits={"x": 1})  # type: ignore[typeddict-unknown-key]
    assert set(str(raised.value).rpartition("its keys are ")[2].rstrip(".").split(", ")) == known
    assert {option for option in MOVED if option in known} == known - {"hub", "tools", "skills", "mcps"}


def test_the_options_of_a_server_are_those_that_the_core_reads() -> None:
    assert sorted(toolhub.options.ServerOptions.__annotations__) == sorted(toolhub._core.server_options())
