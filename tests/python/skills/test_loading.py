"""`hub.load_skills`: what is a skill, what is odd, what is refused."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhub import ToolHub

from .conftest import Skill

FULL = """---
name: pdf
description: >-
  Fill forms and merge files.
  Use when: somebody says "PDF".
license: Apache-2.0
compatibility: Needs qpdf
metadata:
  author: somebody
  version: 1.10
allowed-tools: Bash(git log:*) Read
---
"""


def test_a_skill_by_the_rules(hub: ToolHub, folder: Path, skill: Skill) -> None:
    place = skill(
        "pdf", FULL, "\n# Do it\n\n---\nSee references/more.md.\n\n", **{"references/more.md": "more"}
    )
    report = hub.load_skills(folder)
    assert (report.loaded, report.warnings, report.skipped, report.errors) == (["pdf"], [], [], [])
    (tool,) = hub.tools(source="skills")
    assert tool.description == 'Fill forms and merge files. Use when: somebody says "PDF".'
    assert (tool.location, tool.version, tool.effects) == (str(place / "SKILL.md"), "1.1", False)
    result = hub.call("pdf")
    assert result.result == {
        "name": "pdf",
        "instructions": "# Do it\n\n---\nSee references/more.md.",
        "folder": str(place),
        "resources": ["references/more.md"],
        "license": "Apache-2.0",
        "compatibility": "Needs qpdf",
        "metadata": {"author": "somebody", "version": "1.1"},
        "allowed_tools": ["Bash(git log:*)", "Read"],
    }
    assert (result.meta["source"], result.meta["server"]) == ("skills", None)


def test_only_the_front_matter_is_read_at_load(hub: ToolHub, folder: Path, skill: Skill) -> None:
    place = skill("late", body="old")
    hub.load_skills(folder)
    (place / "SKILL.md").write_text("---\nname: late\ndescription: d\n---\nnew", "utf-8")
    assert hub.call("late").result["instructions"] == "new"


@pytest.mark.parametrize(
    ("front", "why"),
    [
        ("", "does not begin with front matter"),
        ("# Title\n", "does not begin with front matter"),
        ("---\nname: bad\ndescription: d\n", "does not begin with front matter"),
        ("---\n---\n", "not a mapping"),
        ("---\n- a\n---\n", "not a mapping"),
        ("---\nname: [\n---\n", "not YAML"),
        ("---\nname: bad\n---\n", "no description"),
        ("---\nname: bad\ndescription: ' '\n---\n", "no description"),
        ("---\nname: bad\ndescription: [a, b]\n---\n", "description must be text, got a list"),
        ("---\nname: {a: b}\ndescription: d\n---\n", "name must be text, got an object"),
        ("---\nname: true\ndescription: d\n---\n", "name must be text, got a boolean"),
        ("---\nname: bad\ndescription: 5\n---\n", "description must be text, got a number"),
        ("---\nname: server/bad\ndescription: d\n---\n", "characters that a name may not contain"),
        ("---\nname: bad\nname: worse\ndescription: d\n---\n", "'name' twice"),
        ("---\nname: bad\ndescription: !!python/object:os.system x\n---\n", "tag"),
        ("---\na: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nname: bad\ndescription: *c\n---\n", "alias"),
        ("---\nname: bad\ndescription: " + "[" * 5000 + "]" * 5000 + "\n---\n", "recursion limit"),
        ("---\nname: bad\ndescription: d\nx: " + "y" * 300_000 + "\n---\n", "longer than"),
        (b"---\nname: bad\ndescription: caf\xe9\n---\n", "not UTF-8 text"),
        (b"\x00\x01\x02" * 5000, "does not begin with front matter"),
        (b"\xff\xfe-\x00-\x00-\x00\n\x00", "does not begin with front matter"),
    ],
)
def test_what_is_no_skill_is_reported_and_costs_only_itself(
    hub: ToolHub, folder: Path, skill: Skill, front: str | bytes, why: str
) -> None:
    skill("good")
    place = skill("bad", front)
    report = hub.load_skills(folder)
    assert report.loaded == ["good"]
    assert not report
    (error,) = report.errors
    assert error.startswith(f"{place}: ")
    assert why in error


@pytest.mark.parametrize(
    ("front", "name", "why"),
    [
        ("---\nname: other\ndescription: d\n---\n", "other", "should match its folder, 'odd'"),
        ("---\ndescription: d\n---\n", "odd", "its folder's name is used"),
        ("---\nname: 5\ndescription: d\n---\n", "5", "its name is a number; put it in quotes"),
        ("---\nname: My Skill\ndescription: d\n---\n", "My Skill", "lower-case letters"),
        ("---\nname: odd\ndescription: Use when: always: yes\n---\n", "odd", "need quotes"),
        ("---\nname: odd\ndescription: " + "x" * 1025 + "\n---\n", "odd", "1025 characters"),
        ("---\nname: odd\ndescription: d\nmetadata: [a]\n---\n", "odd", "metadata must be a mapping"),
        ("---\nname: odd\ndescription: d\nallowed-tools: 7\n---\n", "odd", "allowed-tools must be text"),
    ],
)
def test_what_is_odd_is_loaded_and_reported(
    hub: ToolHub, folder: Path, skill: Skill, front: str, name: str, why: str
) -> None:
    skill("odd", front)
    report = hub.load_skills(folder)
    assert report
    assert report.loaded == [name]
    assert why in "\n".join(report.warnings)
    assert hub.call(name).result["instructions"] == "# Do it"


def test_ten_megabytes_are_neither_read_at_load_nor_given(hub: ToolHub, folder: Path, skill: Skill) -> None:
    skill("huge", body="x" * 10_000_000)
    skill("no-front", "", body="x" * 10_000_000)
    report = hub.load_skills(folder)
    assert report.loaded == ["huge"]
    assert len(report.errors) == 1
    result = hub.call("huge")
    assert result.kind == "limit"
    assert "the limit is 1048576" in str(result.error)


def test_one_bad_byte_in_the_instructions_does_not_cost_the_rest(
    hub: ToolHub, folder: Path, skill: Skill
) -> None:
    skill("latin", body=b"caf\xe9 au lait")
    hub.load_skills(folder)
    assert hub.call("latin").result["instructions"] == "caf\ufffd au lait"


def test_of_two_skills_with_one_name_the_first_stays(
    hub: ToolHub, folder: Path, skill: Skill, caplog: pytest.LogCaptureFixture
) -> None:
    first = skill("a/greet", body="first")
    skill("b/greet", body="second")
    with caplog.at_level(logging.INFO, "toolhub"):
        report = hub.load_skills(folder)
        hub.load_skills(folder)
    assert report.loaded == ["greet"]
    assert report.skipped == [f"{folder / 'b/greet'}: its name 'greet' is taken by the skill in {first}"]
    assert [record.getMessage() for record in caplog.records] == report.skipped
    assert hub.call("greet").result["instructions"] == "first"
    other = hub.load_skills(folder / "b")
    assert other.loaded == []
    assert "is taken by the skill in" in other.skipped[0]
    for child in first.iterdir():
        child.unlink()
    first.rmdir()
    hub.reload()
    assert hub.call("greet").result["instructions"] == "second"


def test_a_skill_never_takes_the_place_of_one_that_was_registered(
    hub: ToolHub, folder: Path, skill: Skill
) -> None:
    class Greet:
        name, description = "greet", "By hand"

        def execute(self, input: str) -> str:
            return "by hand"

    hub.register(Greet(), source="skills")
    skill("greet")
    assert hub.load_skills(folder).loaded == []
    assert hub.call("greet", "x").result == "by hand"


def test_a_tool_of_the_same_name_is_reported(hub: ToolHub, folder: Path, skill: Skill) -> None:
    hub.register(lambda text: text, name="greet")
    place = skill("greet")
    assert hub.load_skills(folder).warnings == [f"{place}: a tool has its name 'greet' too"]
    assert hub.call("greet", {"text": "hey"}).result == "hey", "the skill does not take such arguments"
    assert hub.call("greet", source="skills").result["instructions"] == "# Do it"


def test_python_skills_and_scripts_are_distinguished(hub: ToolHub, folder: Path, skill: Skill) -> None:
    skill("greet", **{"scripts/run.py": "raise SystemExit", "tool.py": "raise SystemExit"})
    (folder / "scripts").mkdir()
    (folder / "scripts/lost.py").write_text("raise SystemExit")
    (folder / "shout.py").write_text(
        "class Shout:\n    name, description = 'shout', 'Say it loudly'\n"
        "    async def execute(self, input): return input.upper()\n"
    )
    (folder / "broken.py").write_text("1 / 0")
    report = hub.load_skills(folder)
    assert set(report.loaded) == {"greet", "shout"}
    assert len(report.errors) == 1
    assert {tool.name for tool in hub.tools(source="skills")} == {"greet", "shout"}
    assert hub.call("shout", "hey").result == "HEY"
    with ToolHub() as careful:
        assert careful.load_skills(folder, python=False).loaded == ["greet"]
    with ToolHub() as careful:
        assert careful.load_skills(folder / "greet").loaded == ["greet"], "a skill itself is a folder of one"


def test_links_and_depth(hub: ToolHub, folder: Path, skill: Skill, tmp_path: Path) -> None:
    skill("deep/er/still/greet")
    elsewhere = tmp_path / "elsewhere"
    (folder / "deep/er/still/greet").rename(elsewhere)
    (folder / "greet").symlink_to(elsewhere, target_is_directory=True)
    (folder / "deep/round").symlink_to(folder, target_is_directory=True)
    (folder / "nowhere").symlink_to(tmp_path / "gone")
    (folder / "itself").symlink_to(folder / "itself")
    for hidden in (".git/x", "node_modules/x"):
        skill(hidden)
    report = hub.load_skills(folder)
    assert (report.loaded, report.errors, report.skipped) == (["greet"], [], [])
    assert hub.call("greet").result["folder"] == str(elsewhere)


def test_a_link_out_is_no_skill_md(hub: ToolHub, folder: Path, skill: Skill, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("---\nname: greet\ndescription: d\n---\nsecret")
    (folder / "greet").mkdir()
    (folder / "greet/SKILL.md").symlink_to(secret)
    report = hub.load_skills(folder)
    assert report.loaded == []
    assert "is not inside the skill's folder" in report.errors[0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
@pytest.mark.parametrize("what", ["is a broken link", "is a folder", "is not a file"])
def test_a_skill_md_that_is_not_a_file_is_reported(
    hub: ToolHub, folder: Path, skill: Skill, what: str
) -> None:
    skill("good")
    skill("more/good-too")
    (folder / "round").symlink_to(folder, target_is_directory=True)
    for place in ("more/bad", "good/inside", ".hidden/bad", "node_modules/bad"):
        file = folder / place / "SKILL.md"
        file.parent.mkdir(parents=True)
        if what == "is a folder":
            file.mkdir()
        elif what == "is not a file":
            os.mkfifo(file)
        else:
            file.symlink_to(folder / "nowhere.md")
    report = hub.load_skills(folder)
    assert (sorted(report.loaded), report.skipped) == (["good", "good-too"], [])
    assert report.errors == [f"{folder / 'more/bad'}: its SKILL.md {what}"]
    assert hub.reload().errors == report.errors


def test_a_folder_with_another_spelling_of_skill_md_is_one(hub: ToolHub, folder: Path, skill: Skill) -> None:
    place = skill("odd")
    (place / "SKILL.md").rename(place / "skill.md")
    (place / "SKILL.md").symlink_to(folder / "nowhere.md")
    report = hub.load_skills(folder)
    assert (report.loaded, report.errors) == (["odd"], [])


def test_reload(hub: ToolHub, folder: Path, skill: Skill) -> None:
    skill("a")
    skill("b")
    gone = skill("c")
    hub.load_skills(folder)
    version = hub.version
    assert hub.reload().loaded == []
    assert hub.version == version
    skill("a", "---\nname: a\ndescription: new\n---\n")
    skill("b", "no front matter any more")
    skill("d")
    (gone / "SKILL.md").unlink()
    report = hub.reload()
    assert (report.loaded, report.removed) == (["a", "d"], ["c"])
    assert "; the skill stays" in report.errors[0]
    assert hub.get("a").description == "new"  # type: ignore[union-attr]
    assert hub.get("b").description == "What b does."  # type: ignore[union-attr]
    skill("a", "---\nname: renamed\ndescription: new\n---\n")
    report = hub.reload()
    assert (report.loaded, report.removed) == (["renamed"], ["a"])


def test_a_skill_that_is_broken_now_stays_listed_and_says_so_when_it_is_called(
    hub: ToolHub, folder: Path, skill: Skill
) -> None:
    skill("greet")
    hub.load_skills(folder)
    skill("greet", "no front matter any more")
    assert not hub.reload()
    assert [tool.name for tool in hub.tools()] == ["greet"]
    result = hub.call("greet")
    assert result.kind == "tool_error"
    assert "does not begin with front matter" in str(result.error)
    skill("greet", body="mended")
    assert hub.reload()
    assert hub.call("greet").result["instructions"] == "mended"


@given(st.binary(max_size=300), st.binary(max_size=100))
def test_any_bytes_are_survived(tmp_path_factory: pytest.TempPathFactory, front: bytes, body: bytes) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "x").mkdir()
    (folder / "x/SKILL.md").write_bytes(b"---\n" + front + b"\n---\n" + body)
    with ToolHub() as hub:
        report = hub.load_skills(folder)
        assert len(report.loaded) + len(report.errors) == 1
        assert all(hub.call(name).success for name in report.loaded)
