"""`toolhub import` of the files of a project: its servers find their files also from another folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.cli import SHOP, User

CALL = ("call", "shop.price", "item=tea", "--config", "mine.json", "--store", "")
RELATIVE: dict[str, Any] = {"command": "python3", "args": ["./shop.py"]}
V1 = json.dumps({"mcp": {"shop": {"type": "local", "command": ["python3", "shop.py"]}}})

# A client, and a file in the folder of the project.
FILES: dict[str, tuple[str, str, str]] = {
    "claude-code": ("claude-code", ".mcp.json", json.dumps({"mcpServers": {"shop": RELATIVE}})),
    "cwd": (
        "claude-code",
        ".mcp.json",
        json.dumps({"mcpServers": {"shop": {"command": "python3", "args": ["shop.py"], "cwd": "."}}}),
    ),
    "program": ("claude-code", ".mcp.json", json.dumps({"mcpServers": {"shop": {"command": "./run"}}})),
    "vscode": (
        "vscode",
        ".vscode/mcp.json",
        json.dumps({"servers": {"shop": {"command": "python3", "args": ["${workspaceFolder}/shop.py"]}}}),
    ),
    "cursor": (
        "cursor",
        ".cursor/mcp.json",
        json.dumps(
            {
                "mcpServers": {
                    "shop": {
                        "command": "python3",
                        "args": ["shop.py"],
                        "cwd": "${workspaceFolder}/../${workspaceFolderBasename}",
                    }
                }
            }
        ),
    ),
    "env file": (
        "cursor",
        ".cursor/mcp.json",
        json.dumps({"mcpServers": {"shop": {**RELATIVE, "envFile": "mine.env"}}}),
    ),
    "opencode.json": ("opencode", "opencode.json", V1),
    "opencode.jsonc": ("opencode", "opencode.jsonc", f"// mine\n{V1}"),
    ".opencode": ("opencode", ".opencode/opencode.json", V1),
    "codex": ("codex", ".codex/config.toml", '[mcp_servers.shop]\ncommand = "python3"\nargs = ["shop.py"]\n'),
    "continue": (
        "continue",
        ".continue/mcpServers/shop.yaml",
        "mcpServers:\n  - {name: shop, command: python3, args: [shop.py]}\n",
    ),
    "continue json": (
        "continue",
        ".continue/mcpServers/shop.json",
        json.dumps({"mcpServers": {"shop": RELATIVE}}),
    ),
}


def project_of(user: User) -> Path:
    project = user.home / "some project"
    project.mkdir()
    shutil.copy(SHOP, project / "shop.py")
    (project / "mine.env").write_text("A=1\n", "utf-8")
    (project / "run").write_text('#!/bin/sh\nexec python3 "$(dirname "$0")/shop.py"\n', "utf-8")
    (project / "run").chmod(0o700)
    return project


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


@pytest.mark.parametrize("name", FILES)
def test_a_server_of_a_project_works_from_another_folder(name: str, user: User) -> None:
    _, place, text = FILES[name]
    project = project_of(user)
    put(project / place, text)
    done = user.run("import", place, "--to", str(user.home / "mine.json"), folder=project)
    assert done.returncode == 0, done.stderr
    again = user.run("import", str(project / place), "--to", "mine.json", "--json")
    assert (again.returncode, json.loads(again.stdout)["kept"]) == (0, []), again.stdout
    called = user.run(*CALL)
    assert (called.returncode, called.stderr) == (0, "")
    assert json.loads(called.stdout)["item"] == "tea"


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_a_project_is_taken_only_if_it_is_named(name: str, user: User) -> None:
    """Whoever wrote the project could otherwise start any program with the next command."""
    client, place, text = FILES[name]
    project = project_of(user)
    put(project / place, text)
    put(user.home / ".codeium/windsurf/mcp_config.json", '{"mcpServers": {"own": {"command": "x"}}}')
    target = user.home / "mine.json"
    for words in (("--all",), (client, "windsurf")):
        done = user.run("import", *words, "--to", str(target), folder=project)
        assert done.returncode == 0, done.stderr
        assert (
            f"toolhub: {project / place} belongs to this project; name the file to take its servers\n"
            in done.stderr
        )
        assert list(json.loads(target.read_text("utf-8"))["mcpServers"]) == ["own"]
    alone = user.run("import", client, "--to", str(target), folder=project)
    assert alone.returncode == 5
    assert "belongs to this project" in alone.stderr
    listed = user.run("import", folder=project).stdout
    assert f"{client}  {project / place}  (of this project: name the file to take it)\n    shop  " in listed
    rows = json.loads(user.run("import", "--json", folder=project).stdout)["found"]
    assert {row["client"]: row["of_project"] for row in rows} == {client: True, "windsurf": False}


def test_servers_that_claude_code_keeps_for_one_project(user: User) -> None:
    project = project_of(user)
    other = {"mcpServers": {"other": {"command": "x"}}}
    own = {"mcpServers": {"shop": RELATIVE, "off": {"command": "x"}}, "disabledMcpServers": ["off"]}
    put(user.home / ".claude.json", json.dumps({"projects": {str(project): own, "/elsewhere": other}}))
    inside = project / "deep"
    inside.mkdir()
    for folder in (project, inside):
        found = json.loads(user.run("import", "--json", folder=folder).stdout)["found"]
        assert [(row["client"], row["servers"]) for row in found] == [("claude-code", ["shop", "off"])]
    target = user.home / "mine.json"
    assert user.run("import", "claude-code", "--to", str(target), folder=project).returncode == 0
    servers = json.loads(target.read_text("utf-8"))["mcpServers"]
    assert servers["off"]["disabled"] is True
    assert user.run(*CALL).returncode == 0
    assert json.loads(user.run("import", "--json").stdout) == {"found": [], "problems": []}


def test_a_server_that_a_project_s_user_has_turned_off_stays_off(user: User) -> None:
    project = project_of(user)
    put(project / ".mcp.json", json.dumps({"mcpServers": {"shop": RELATIVE}}))
    put(
        user.home / ".claude.json",
        json.dumps({"projects": {str(project): {"disabledMcpjsonServers": ["shop"]}}}),
    )
    target = user.home / "mine.json"
    assert user.run("import", ".mcp.json", "--to", str(target), folder=project).returncode == 0
    assert json.loads(target.read_text("utf-8"))["mcpServers"]["shop"]["disabled"] is True


def test_the_folder_of_a_workspace_in_a_file_of_the_user_is_said(user: User) -> None:
    entry = {"command": "x", "args": ["${workspaceFolder}/a"]}
    put(user.home / ".cursor" / "mcp.json", json.dumps({"mcpServers": {"shop": entry}}))
    done = user.run("import", "cursor", "--to", "mine.json")
    said = f"`${{workspaceFolder}}` of 'shop' is {user.home} from now on, whatever project is open"
    assert f"toolhub: {said}\n" in done.stderr
    written = json.loads((user.home / "mine.json").read_text("utf-8"))["mcpServers"]["shop"]
    assert written == {"command": "x", "args": [f"{user.home}/a"]}
