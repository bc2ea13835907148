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
