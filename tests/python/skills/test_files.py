"""Files of a skill: those inside of its folder, and no others; and scripts, which are not run."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from toolhub import ErrorKind, ToolError, ToolHub

from .conftest import Skill


@pytest.fixture
def greet(hub: ToolHub, folder: Path, skill: Skill) -> Path:
    """A skill with two files, beside a secret."""
    place = skill("greet", **{"references/words.md": "你好\n", "scripts/hi.py": "print('hi')\n"})
    (place / "logo.png").write_bytes(b"\x89PNG\xff")
    (folder / "secret.md").write_text("secret")
    (folder / "greeting").mkdir()
    (folder / "greeting/secret.md").write_text("secret")
    hub.load_skills(folder)
    return place


def kind(hub: ToolHub, path: str) -> ErrorKind:
    with pytest.raises(ToolError) as caught:
        hub.skills.read_file_sync("greet", path)
    return caught.value.kind


def test_text_and_bytes(hub: ToolHub, greet: Path) -> None:
    assert hub.skills.read_file_sync("greet", "references/words.md") == "你好\n"
    assert hub.skills.read_file_sync("greet", "./references/words.md") == "你好\n"
    assert hub.skills.read_file_sync("greet", "logo.png") == b"\x89PNG\xff"
    assert hub.call("greet", {"file": "scripts/hi.py"}).result["text"] == "print('hi')\n"
    assert kind(hub, "references/other.md") == "invalid_arguments"
    assert kind(hub, "references") == "invalid_arguments"
    assert hub.call("greet", {"files": "x"}).kind == "invalid_arguments"


@pytest.mark.parametrize(
    "path",
    ["../secret.md", "references/../../secret.md", "/etc/passwd", "", "..", "references/..\\..\\secret.md",
     "../greeting/secret.md", "a\0b", "references/../references/words.md"],
)  # fmt: skip
def test_nothing_outside_is_read(hub: ToolHub, greet: Path, path: str) -> None:
    assert kind(hub, path) == "not_allowed"


def test_links_that_lead_out_are_not_followed(hub: ToolHub, greet: Path, folder: Path) -> None:
    (greet / "link.md").symlink_to(folder / "secret.md")
    (greet / "up").symlink_to(folder, target_is_directory=True)
    (greet / "round").symlink_to(greet / "round")
    (greet / "inside.md").symlink_to(greet / "references/words.md")
    assert kind(hub, "link.md") == "not_allowed"
    assert kind(hub, "up/secret.md") == "not_allowed"
    assert kind(hub, "round") == "not_allowed"
    assert hub.skills.read_file_sync("greet", "inside.md") == "你好\n"
    assert hub.call("greet").result["resources"] == [
        "inside.md", "logo.png", "references/words.md", "scripts/hi.py",
    ]  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_does_not_hold_it_up(hub: ToolHub, greet: Path) -> None:
    os.mkfifo(greet / "pipe")
    assert kind(hub, "pipe") == "invalid_arguments"
    assert "pipe" not in hub.call("greet").result["resources"]


def test_a_file_that_is_exchanged_for_a_link_meanwhile_never_gives_the_secret(
    hub: ToolHub, greet: Path, folder: Path
) -> None:
    target, stop = greet / "swapped.md", threading.Event()

    def swap() -> None:
        plain, link = greet / ".plain", greet / ".link"
        while not stop.is_set():
            plain.write_text("plain")
            plain.replace(target)
            link.symlink_to(folder / "secret.md")
            link.replace(target)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = {str(hub.call("greet", {"file": "swapped.md"}).full()) for _ in range(500)}
    finally:
        stop.set()
        thread.join()
    assert not any("secret" in answer for answer in seen), seen


def test_sizes_are_limited(hub: ToolHub, greet: Path) -> None:
    with open(greet / "large.bin", "wb") as file:
        file.truncate(16 * 1024 * 1024 + 1)
    assert kind(hub, "large.bin") == "limit"


def test_many_resources_are_cut(hub: ToolHub, greet: Path) -> None:
    for number in range(600):
        (greet / f"{number:03}.md").write_text("")
    (greet / ".hidden").write_text("")
    (greet / "__pycache__").mkdir()
    (greet / "__pycache__/x.pyc").write_text("")
    result = hub.call("greet").result
    assert len(result["resources"]) == 512
    assert result["resources_cut"] is True
    assert result["resources"][0] == "000.md"


def test_what_is_no_skill_has_no_files(hub: ToolHub, greet: Path) -> None:
    called = []

    class Shout:
        name, description = "shout", "d"

        def execute(self, input: object) -> object:
            called.append(input)
            return input

    hub.register(Shout(), source="skills")
    for name in ("shout", "nobody"):
        with pytest.raises(ToolError) as caught:
            hub.skills.read_file_sync(name, "x.md")
        assert caught.value.kind == "not_found"
    assert not called, "a skill that is code is not run for it"


def test_free_text_is_the_task_and_a_path_is_asked_for_by_file(hub: ToolHub, greet: Path) -> None:
    task = "references/words.md: greet the guests in Chinese"
    for result in (
        hub.call("greet", task),
        hub.call("greet", {"task": task}),
        hub.call("greet", f'{{"task": "{task}"}}'),
        hub.dispatch_sync({"tool_name": "greet", "arguments": task}),
    ):
        assert result.result["task"] == task
        assert result.result["instructions"] == hub.call("greet").result["instructions"]
        assert f"\n\nTask: {task}\n" in hub.format(result)
    assert "task" not in hub.call("greet").result
    assert hub.call("greet", "references/words.md").result["task"] == "references/words.md"
    assert hub.call("greet", '{"file": "references/words.md"}').result["text"] == "你好\n"
    read = hub.call("greet", {"file": "references/words.md", "task": task}).result
    assert read["text"] == "你好\n"
    assert "task" not in read


@pytest.mark.skipif(os.name != "posix", reason="the number of names of a file")
def test_a_hard_link_to_a_file_outside_is_refused(hub: ToolHub, folder: Path, greet: Path) -> None:
    os.link(folder / "secret.md", greet / "references/inside.md")
    assert kind(hub, "references/inside.md") == "not_allowed"
    result = hub.call("greet", {"file": "references/inside.md"})
    assert result.kind == "not_allowed"
    assert "is a hard link to a file outside the skill's folder" in str(result.error)
    # Two names inside the folder are one file of the skill.
    os.link(greet / "logo.png", greet / "references/logo.png")
    assert hub.skills.read_file_sync("greet", "references/logo.png") == b"\x89PNG\xff"
    (folder / "secret.md").unlink()
    assert hub.skills.read_file_sync("greet", "references/inside.md") == "secret"
