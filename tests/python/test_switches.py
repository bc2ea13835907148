"""Switches that permit something take only True or False, and an empty path is not the working directory."""

import os
from pathlib import Path
from typing import Any

import pytest

from support.cli import new_user
from toolhub import ToolError, ToolHub
from toolhub.testing.network import block_network

pytestmark = pytest.mark.anyio

SKILL = "---\nname: greet\ndescription: Greets.\n---\nRun scripts/hello.py.\n"
NOT_SWITCHES = ["false", "False", "no", "", 0, 1, None, [], 0.5]


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    scripts = tmp_path / "skills" / "greet" / "scripts"
    scripts.mkdir(parents=True)
    (scripts.parent / "SKILL.md").write_text(SKILL)
    (scripts / "hello.py").write_text("print('hello')")
    (tmp_path / "skills" / "loaded.py").write_text(
        "from pathlib import Path\nPath(__file__ + '.ran').touch()\n"
    )
    return tmp_path / "skills"


@pytest.mark.parametrize("given", NOT_SWITCHES, ids=repr)
@pytest.mark.parametrize("switch", ["allow_scripts", "python"])
def test_only_true_and_false_are_switches(skills: Path, switch: str, given: Any) -> None:
    with ToolHub() as hub:
        with pytest.raises(TypeError, match=f"^{switch} must be True or False, got {type(given).__name__}$"):
            hub.load_skills(skills, **{switch: given})
        assert hub.tools() == []
        assert not (skills / "loaded.py.ran").exists()
        with pytest.raises(ToolError, match="greet"):
            hub.skills.run_script_sync("greet", "scripts/hello.py")


@pytest.mark.parametrize("given", NOT_SWITCHES, ids=repr)
def test_other_switches_take_only_true_and_false_too(given: Any) -> None:
    hub = ToolHub()
    with (
        pytest.raises(TypeError, match="allow_loopback must be True or False"),
        block_network(allow_loopback=given),
    ):
        pass
    if given is None:
        return  # means "not declared" there
    for switch in ("read_only", "effects", "idempotent"):
        with pytest.raises(TypeError, match=f"^{switch} must be True or False"):
            hub.register(lambda: 1, name="x", **{switch: given})
    for option in ("assume_read_only", "allow_sampling", "pin", "effects"):
        with pytest.raises((TypeError, ValueError), match=option):
            hub.add_server("s", command="true", **{option: given})
        report = hub.load_mcp({"mcpServers": {"s": {"command": "true", "toolhub": {option: str(given)}}}})
        assert option in report.errors[0]
        assert "true or false" in report.errors[0]
    assert hub.servers() == []


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a module that must not be imported unasked."""
    (tmp_path / "module.py").write_text("from pathlib import Path\nPath(__file__ + '.ran').touch()\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "module.py.ran"


EMPTY = "must be a path, got an empty text; '.' is the working directory"


@pytest.mark.parametrize("given", ["", [""], ["", "tools"]], ids=repr)
@pytest.mark.parametrize("source", ["tools", "skills", "mcp"])
def test_an_empty_path_is_refused(trap: Path, source: str, given: Any) -> None:
    with pytest.raises(ValueError, match=EMPTY):
        ToolHub(**{source: given})
    assert not trap.exists()


def test_an_empty_path_of_a_method_is_refused(trap: Path) -> None:
    with ToolHub() as hub:
        for load in (hub.load_tools, hub.load_skills, hub.load_mcp):
            with pytest.raises(ValueError, match=EMPTY):
                load("")
        assert (hub.tools(), trap.exists()) == ([], False)
        with pytest.raises(ValueError, match="store must be a path"):
            ToolHub(store="")
        with pytest.raises(ValueError, match=f"token_file {EMPTY}"):
            ToolHub(login={"token_file": ""})
    # The working directory itself can still be named.
    assert ToolHub(tools=os.curdir).tools() == []
    assert trap.exists()


@pytest.mark.parametrize("option", ["--tools", "--skills"])
@pytest.mark.parametrize("command", [["list"], ["serve"]], ids=lambda command: command[0])
def test_the_command_line_refuses_an_empty_path(
    tmp_path: Path, trap: Path, command: list[str], option: str
) -> None:
    ended = new_user(tmp_path / "home").run(*command, option, "", folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert EMPTY in ended.stderr
    assert not trap.exists()
