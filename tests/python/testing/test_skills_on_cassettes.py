"""Skills of folders on a cassette: instructions, files, skills that are code, and scripts. A replay reads and runs nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from toolhub import NotAllowed, ToolHub
from toolhub.testing import ReplayError, record, replay


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two skills: one of instructions with a script, one that is code. Each run of code adds a letter to `ran`."""
    greet = tmp_path / "skills" / "greet"
    greet.mkdir(parents=True)
    (greet / "SKILL.md").write_text("---\nname: greet\ndescription: What greet does.\n---\n# Greet them\n")
    (greet / "words.md").write_text("hello\n")
    note = f"with open({str(tmp_path / 'ran')!r}, 'a') as file: file.write('x')"
    (greet / "say.py").write_text(f"import sys\n{note}\nprint('said', sys.argv[1])\n")
    (tmp_path / "skills" / "shout.py").write_text(
        "class Shout:\n    name, description = 'shout', 'Say it loudly'\n"
        f"    async def execute(self, input):\n        {note}\n        return input.upper()\n"
    )
    return tmp_path / "skills"


def opened(folder: Path, store: Path) -> ToolHub:
    hub = ToolHub(store=store)
    hub.load_skills(folder, allow_scripts=True)
    return hub


def work(hub: ToolHub) -> list[Any]:
    calls: list[tuple[str, Any]] = [
        ("greet", "greet the guests"),
        ("greet", {"file": "words.md"}),
        ("run_skill_script", {"skill": "greet", "script": "say.py", "args": ["hi"]}),
        ("shout", "hey"),
    ]
    return [hub.call(name, args).result for name, args in calls]


@pytest.mark.skipif(sys.platform == "win32", reason="scripts run under their own interpreter")
def test_skills_are_recorded_and_replayed(folder: Path, tmp_path: Path) -> None:
    cassette, store = tmp_path / "calls.ndjson", tmp_path / "store.db"
    with opened(folder, store) as hub, record(cassette) as recorded:
        first = work(hub)
        rows = [row.tool for row in hub.ledger()]
    assert recorded.events == len(first)
    assert first[3] == "HEY"
    assert first[1]["text"] == "hello\n"
    assert first[2]["stdout"] == "said hi\n"
    assert (tmp_path / "ran").read_text() == "xx"
    (folder / "greet" / "words.md").write_text("changed\n")
    with opened(folder, store) as hub:
        with replay(cassette):
            assert work(hub) == first
        assert [row.tool for row in hub.ledger()] == rows
        with pytest.raises(ReplayError, match="'greet'"), replay(cassette, "lenient"):
            assert hub.call("greet", {"file": "SKILL.md"}).kind == "not_found"
    assert (tmp_path / "ran").read_text() == "xx"


@pytest.mark.skipif(sys.platform == "win32", reason="scripts run under their own interpreter")
def test_a_script_that_the_program_runs_is_recorded_too(folder: Path, tmp_path: Path) -> None:
    cassette, store = tmp_path / "calls.ndjson", tmp_path / "store.db"

    def run(hub: ToolHub) -> dict[str, Any]:
        return hub.skills.run_script_sync("greet", "say.py", ["hi"], timeout=50)

    with opened(folder, store) as hub, record(cassette) as recorded:
        first = run(hub)
        assert [(row.tool, row.state) for row in hub.ledger()] == [("run_skill_script", "done")]
    assert (recorded.events, first["stdout"]) == (1, "said hi\n")
    with opened(folder, store) as hub, replay(cassette):
        assert run(hub) == first
    assert (tmp_path / "ran").read_text() == "x"
    # A tool of the user's with that name is another one.
    with opened(folder, store) as hub:
        hub.register(lambda: "mine", name="run_skill_script", replace=True)
        with pytest.raises(NotAllowed, match="Another tool has the name 'run_skill_script'"):
            run(hub)
    assert (tmp_path / "ran").read_text() == "x"
