"""Several candidates of one name and source: what stands side by side, and what replaces what."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.tools import Run
from toolhub import ToolCandidate, ToolHub


class Search:
    """Answers with its own name; harmless by its name."""

    name, description = "search_web", "Searches the web."

    def __init__(self, engine: str) -> None:
        self.engine = engine

    def execute(self, input: Any) -> str:
        return f"{self.engine}: {input}"


class OtherSearch(Search):
    pass


def names(hub: ToolHub, name: str) -> int:
    found = hub.get(name)
    return 0 if found is None else len(found.candidates)


def test_an_orchestrator_registers_several_tools_of_one_name_and_source(run: Run) -> None:
    hub = ToolHub()
    for tool in (Search("bing"), Search("brave"), OtherSearch("kagi")):
        hub.register_candidate(ToolCandidate("search_web", "tools", tool, 0, {"capabilities": ["search"]}))
    assert [row["source"] for row in hub.list_tools()[0]["candidates"]] == ["tools"] * 3
    result = run(hub.execute("search_web", "bees"))
    assert result.meta["source_count"] == 3
    for engine in ("bing", "brave", "kagi"):
        assert f"{engine}: bees" in result.text
    assert "tools#2" in hub.explain("search_web").text
    assert [row["variant"] for row in hub.stats("search_web")["search_web"]] == [1, 2, 3]
    assert [row["calls"] for row in hub.stats(rows=True)] == [1, 1, 1]
    assert hub.unregister("search_web") == 3


def test_one_of_several_fails_and_the_others_answer(run: Run) -> None:
    hub = ToolHub()

    def broken(query: str) -> str:
        raise OSError("no network")

    hub.register(broken, name="lookup")
    hub.register(lambda query: f"found {query}", name="lookup")
    result = run(hub.dispatch({"tool_name": "lookup", "arguments": {"query": "bees"}}))
    assert result.result == "found bees"
    assert [attempt["ok"] for attempt in result.meta["attempts"]] == [False, True]


def test_equal_objects_of_one_class_are_one_tool() -> None:
    hub = ToolHub()
    for engine in ("bing", "brave", "b" + "ing"):
        hub.register(Search(engine))
    assert names(hub, "search_web") == 2


def test_the_same_object_replaces_itself() -> None:
    hub, tool = ToolHub(), Search("bing")
    hub.register(tool)
    hub.call("search_web", "x")
    hub.register(tool, description="Another description.")
    assert names(hub, "search_web") == 1
    assert hub.get("search_web").description == "Another description."  # type: ignore[union-attr]
    assert hub.stats("search_web")["search_web"][0]["calls"] == 1, "the statistics stay"
    hub.register(tool.execute, name="bound")
    hub.register(tool.execute, name="bound")
    assert names(hub, "bound") == 1


CELL = """
def add(a: int) -> int:
    return a + {0}

class Tool:
    name, description = "tool", ""
    def execute(self, input): return {0}
"""


def test_a_notebook_cell_that_runs_again_replaces_what_it_defined() -> None:
    hub = ToolHub()
    for number in (1, 2):
        cell: dict[str, Any] = {"__name__": "__main__"}
        exec(CELL.format(number), cell)
        hub.register(cell["add"])
        hub.register(cell["Tool"]())
        hub.register(cell["Tool"]().execute, name="method")
    assert [len(tool.candidates) for tool in hub.tools()] == [1, 1, 1]
    assert hub.call("add", 1).result == 3
    assert hub.call("tool", "x").result == 2


KEPT = "'{}' now has {} candidates: what was registered before was kept. Pass replace=True to replace it.\n"
REPLACED = "'{}' has replaced what was registered before.\n"
CELLS: dict[str, tuple[str, str]] = {
    "a lambda": ('hub.register(lambda: 1, name="one"); print()', KEPT.format("one", 2)),
    "an object": ("hub.register(Search('bing')); print()", REPLACED.format("search_web")),
    "an object with other values": (
        "hub.register(Search(str(len(hub)))); print()",
        KEPT.format("search_web", 2),
    ),
    "a method": ('hub.register(Search("bing").execute, name="find"); print()', REPLACED.format("find")),
    "with replace": ('hub.register(lambda: 1, name="one", replace=True); print()', ""),
    "a function": ("hub.register(add); print()", ""),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_that_runs_again_says_what_it_replaced_or_kept(name: str, tmp_path: Path) -> None:
    """In a session where somebody types, as in a notebook; a program that registers several candidates hears nothing."""
    cell, says = CELLS[name]
    lines = [
        "from toolhub import ToolHub",
        "from test_side_by_side import Search",
        "import sys; sys.ps1 = sys.ps2 = ''",
        "hub = ToolHub()",
        "def add(): return 1",
        "",
    ]
    code = "\n".join([*lines, cell, cell, "hub.close()", ""])
    command = [sys.executable, "-q", "-i"]
    folder = Path(__file__).parent
    typed = subprocess.run(
        command, input=code, cwd=folder, capture_output=True, text=True, timeout=50, env=environment()
    )
    assert typed.stderr.replace(">>> ", "").strip() == says.strip()
    script = tmp_path / "program.py"
    script.write_text(code.replace("import sys; sys.ps1 = sys.ps2 = ''", ""), "utf-8")
    run = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=50,
        env={**environment(), "PYTHONPATH": str(folder)},
    )
    assert (run.returncode, run.stderr) == (0, "")


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONSTARTUP"}


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


def test_a_decorated_function_is_known_by_what_is_decorated() -> None:
    hub = ToolHub()
    for number in (1, 2):
        cell: dict[str, Any] = {"__name__": "__main__", "traced": traced}
        exec(CELL.format(number).replace("def add", "@traced\ndef add"), cell)
        hub.register(cell["add"])
    assert names(hub, "add") == 1

    @traced
    def other(a: int) -> int:
        return a

    hub.register(other, name="add")
    assert names(hub, "add") == 2


def asks(place: str) -> Callable[[str], str]:
    def weather(city: str) -> str:
        return f"{place}: {city}"

    return weather


def test_what_one_definition_makes_stands_side_by_side_unless_it_is_made_of_the_same() -> None:
    hub = ToolHub()
    for place in ("yr", "dwd", "yr"):
        hub.register(asks(place))
    assert names(hub, "weather") == 2
    hub.register(lambda city: city, name="weather")
    hub.register(lambda city: city, name="weather")
    assert names(hub, "weather") == 4, "lambdas have no name"
    hub.register(functools.partial(max, 1), name="most")
    hub.register(functools.partial(max, 2), name="most")
    assert names(hub, "most") == 2


def test_a_method_of_an_object_made_again_replaces_itself() -> None:
    class Api:
        def __init__(self, user: str) -> None:
            self.user = user

        def find(self) -> str:
            return self.user

    hub = ToolHub()
    for _ in range(3):
        hub.register(Api("ada").find, name="find_it")
    assert names(hub, "find_it") == 1
    hub.register(Api("bob").find, name="find_it")
    assert names(hub, "find_it") == 2


def test_replace_says_it() -> None:
    hub = ToolHub()
    for place in ("yr", "dwd"):
        hub.register(asks(place))
    hub.register(asks("skills"), source="skills")
    hub.register(lambda city: "sunny", name="weather", replace=True)
    assert [candidate.source for candidate in hub.get("weather").candidates] == ["tools", "skills"]  # type: ignore[union-attr]
    assert hub.call("weather", "Bern", source="tools").result == "sunny"


def test_a_changed_version_is_reported_for_what_was_replaced() -> None:
    hub = ToolHub()
    heard: list[tuple[Any, Any]] = []
    hub.on_event(lambda event: event.type == "version_changed" and heard.append((event.before, event.after)))
    tool = Search("bing")
    hub.register(tool, version="1")
    hub.register(Search("brave"), version="7")
    assert heard == []
    hub.register(tool, version="2")
    assert heard == [("1", "2")]


def test_each_has_its_own_limit_and_its_own_rest() -> None:
    hub = ToolHub(limits={"breaker_threshold": 1, "breaker_rest": 60})
    hub.register(asks("yr"), max_concurrency=1)

    def broken(city: str) -> str:
        raise OSError("down")

    hub.register(broken, name="weather", priority=-1, max_concurrency=2)
    for _ in range(2):
        assert hub.call("weather", "Bern", strategy="fallback").result == "yr: Bern"
    rows = hub.stats("weather")["weather"]
    assert [(row["variant"], row["breaker"]) for row in rows] == [(1, "closed"), (2, "resting")]


def test_a_store_keeps_their_numbers_apart(tmp_path: Path) -> None:
    for restart in (1, 2):
        with ToolHub(store=tmp_path / "hub.db") as hub:
            for place in ("yr", "dwd"):
                hub.register(asks(place), read_only=True)
            hub.call("weather", "Bern", strategy="fallback")
            calls = [row["calls"] for row in hub.stats("weather")["weather"]]
            assert calls == [restart, 0]


@pytest.mark.parametrize("source", ["tools", "skills"])
def test_a_folder_that_is_loaded_again_replaces_its_own_tools_only(tmp_path: Path, source: Any) -> None:
    module = tmp_path / "pack" / "__init__.py"
    module.parent.mkdir()
    text = "import toolhub\nweather = toolhub.tool(name='weather')(lambda city: '{}')\n"
    module.write_text(text.format("old"))
    hub = ToolHub()
    load = hub.load_tools if source == "tools" else hub.load_skills
    assert load(tmp_path).loaded == ["weather"]
    hub.register(asks("mine"), source=source, priority=9)
    module.write_text(text.format("newer"))
    assert hub.reload().loaded == ["weather"]
    assert names(hub, "weather") == 2
    assert hub.call("weather", "Bern", strategy="fallback").result == "newer"
    module.unlink()
    hub.reload()
    assert hub.call("weather", "Bern").result == "mine: Bern"
