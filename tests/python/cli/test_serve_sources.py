"""`toolhub serve` takes its servers and its store from where the other commands take them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli import User, shop

GREETING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
MESSAGES = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": GREETING},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
]
INPUT = "".join(json.dumps(message) + "\n" for message in MESSAGES)


def served(user: User, *words: str, **more: str) -> tuple[set[str], str]:
    """The names of the tools, and what is said."""
    program = subprocess.Popen(
        [sys.executable, "-m", "toolhub", "serve", *words],
        cwd=user.home,
        env={**user.environment, **more},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(INPUT)
    program.stdin.flush()
    # A client that closes its end gets no answer.
    listed = next(message for line in program.stdout if (message := json.loads(line)).get("id") == 2)
    return {tool["name"] for tool in listed["result"]["tools"]}, program.communicate(timeout=50)[1]


def own_file(user: User) -> Path:
    """The user's own file, with the shop in it."""
    del user.environment["TOOLHUB_CONFIG"], user.environment["TOOLHUB_STORE"]
    return user.configure({"shop": shop()}, ".config/toolhub/mcp.json")


def test_the_user_s_own_file_and_store_are_used(user: User) -> None:
    own_file(user)
    tools, said = served(user)
    assert "price" in tools
    assert "there is no server" not in said
    # What was learnt is there for the other commands.
    assert (user.home / ".local" / "state" / "toolhub" / "hub.db").exists()


def test_the_environment_comes_first_and_the_option_before_it(user: User) -> None:
    own_file(user)
    empty = user.configure({}, "empty.json")
    assert served(user, TOOLHUB_CONFIG=str(empty), TOOLHUB_STORE="")[0] == set()
    assert served(user, "--config", str(empty), "--store", "")[0] == set()
    assert not (user.home / ".local" / "state" / "toolhub" / "hub.db").exists()


def test_nothing_to_serve_is_said(user: User) -> None:
    tools, said = served(user, "--config", "", "--store", "")
    assert tools == set()
    assert "toolhub: there is no server; name a file with --config, or run 'toolhub import'\n" in said


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "/usr/bin/toolhub", "args": ["serve"]},
        {"command": "uvx", "args": ["--from", "agent-toolhub", "toolhub", "serve", "--tools", "x"]},
    ],
)
def test_a_hub_does_not_start_itself(entry: dict[str, object], user: User) -> None:
    path = own_file(user)
    user.configure({"hub": entry}, ".config/toolhub/mcp.json")
    done = user.run("serve", input=INPUT)
    assert done.returncode == 2
    assert done.stderr == (
        f"toolhub: server 'hub' of {path} starts 'toolhub serve', which would start itself; give it a --config\n"
    )
    user.configure({"hub": entry, "shop": shop()}, ".cursor/mcp.json")
    taken = user.run("import", "cursor", "--to", "mine.json")
    assert "toolhub: 'hub' is left out, because it is toolhub itself\n" in taken.stderr
    assert set(json.loads((user.home / "mine.json").read_text("utf-8"))["mcpServers"]) == {"shop"}


WRONG = {"command": 5}
COMPLAINT = "server 'wrong': `command` must be a string, not a number."


def test_a_wrong_entry_is_reported_and_the_others_are_served(user: User) -> None:
    path = user.configure({"wrong": WRONG, "shop": shop()})
    tools, said = served(user)
    assert "price" in tools
    assert said == f"toolhub: {path}: {COMPLAINT}\n"


def test_a_wrong_entry_does_not_stop_the_tools_of_a_folder(user: User) -> None:
    path = user.configure({"wrong": WRONG})
    folder = user.home / "own"
    folder.mkdir()
    (folder / "it.py").write_text("from toolhub import tool\n@tool\ndef get_it():\n    return 1\n")
    tools, said = served(user, "--tools", "own")
    assert "get_it" in tools
    assert said == f"toolhub: {path}: {COMPLAINT}\n"


@pytest.mark.parametrize("file", ["only.json", "broken.json", "missing.json"])
def test_a_file_without_a_good_entry_ends_the_command(user: User, file: str) -> None:
    """One that cannot be read does so beside others, too: it may have tokens."""
    user.configure({"wrong": WRONG}, "only.json")
    (user.home / "broken.json").write_text("{")
    good = ["--config", "mcp.json"] if file != "only.json" else []
    done = user.run("serve", "--config", file, *good, input=INPUT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"toolhub: {file}: ")


def test_a_server_that_cannot_start_is_said_on_stderr(user: User) -> None:
    dead = {"command": sys.executable, "args": ["-c", "import sys; sys.exit('no database')"]}
    user.configure({"dead": dead, "shop": shop()})
    tools, said = served(user)
    assert "price" in tools
    assert said == "toolhub.mcp: dead: Server 'dead' exited with code 1: no database\n"
