"""Completion in shells that somebody types into: what a server calls its tools and values never becomes a command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from support.cli import User, new_user
from support.programs import require
from support.terminal import Terminal

VALUES = [
    "plain",
    "New York",
    "fast;touch PWNED",
    "$(touch PWNED)",
    "`touch PWNED`",
    "a&touch PWNED",
    "a|touch PWNED",
    "a>PWNED",
    "a||touch PWNED",
    "'; touch PWNED; '",
    '"; touch PWNED; "',
    "it's",
    'say "no"',
    "back\\slash",
    "$HOME",
    "${HOME}",
    "~",
    "*",
    "?",
    "[a-z]",
    "{a,b}",
    "!!",
    "#remark",
    "=ls",
    "^a^b",
    "%1",
    "(ls)",
    "a\u3000b",
    "数值",
]
# A line of its own, a key of the terminal, an escape: not offered at all.
HIDDEN = ["a\ntouch PWNED", "fast;touch\tPWNED", "a\rtouch PWNED", "a\x1b[31m", "a\x03b", "a\u200bb"]
NAMES = ["evil1;touch PWNED", "evil2$(touch PWNED)", "evil3`touch PWNED`", "evil4|touch PWNED"]

SERVER = """
import json, sys
TOOLS = json.loads({tools!r})
INFO = {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{}}}}, "serverInfo": {{"name": "e", "version": "1"}}}}
for line in sys.stdin:
    request = json.loads(line)
    known = {{"initialize": INFO, "tools/list": {{"tools": TOOLS}}}}
    if "id" in request:
        answer = {{"result": known[request["method"]]}} if request["method"] in known else {{"error": {{"code": -32601, "message": "no"}}}}
        print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], **answer}}), flush=True)
"""  # noqa: E501

# What is executed is written down, a word a line; what completion asks for is answered by the command itself.
PROGRAM = """#!/bin/sh
if [ "$1" = __complete ]; then exec {python} -m toolhub "$@"; fi
printf '%s\\n' "$@" > "$HOME/words.new"; mv "$HOME/words.new" "$HOME/words"
"""
SHELLS = {
    "bash": (["bash", "--norc", "-i"], 'eval "$(toolhub completion bash)"'),
    "zsh": (["zsh", "-f", "-i"], 'autoload -U compinit; compinit -u -D; eval "$(toolhub completion zsh)"'),
    "fish": (["fish", "-N", "-i"], "toolhub completion fish | source"),
}


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> User:
    """A user with a server whose names and values are commands."""
    user = new_user(tmp_path_factory.mktemp("attacked") / "home")
    properties = {f"p{at}": {"enum": [value]} for at, value in enumerate([*VALUES, *HIDDEN])}
    tools = [{"name": "convert", "inputSchema": {"type": "object", "properties": properties}}]
    tools += [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]
    program = user.home / "server.py"
    program.write_text(SERVER.format(tools=json.dumps(tools)), "utf-8")
    user.configure({"evil": {"command": sys.executable, "args": [str(program)]}})
    done = user.run("connect")
    assert done.returncode == 0, done.stderr
    command = user.home / "bin" / "toolhub"
    command.parent.mkdir()
    command.write_text(PROGRAM.format(python=sys.executable), "utf-8")
    command.chmod(0o755)
    user.environment["PATH"] = f"{command.parent}:{user.environment['PATH']}"
    return user


class Shell:
    """A shell that waits for lines."""

    def __init__(self, name: str, user: User) -> None:
        require(name, package=name)
        command, load = SHELLS[name]
        self._words = user.home / "words"
        self._terminal = Terminal(user, command, 400, LANG="C.UTF-8", LC_ALL="C.UTF-8")
        self._at = 0
        self._enter(load.replace("toolhub completion", f"{sys.executable} -m toolhub completion"))

    def _enter(self, keys: str) -> None:
        """Type a line, and wait until the shell has done what it says."""
        self._at += 1
        self._terminal.type(f"{keys}\n")
        # The command differs from what it prints, so the echo of the line is not taken for it.
        self._terminal.type(f"printf 'end%s\\n' -{self._at}-\n")
        self._terminal.wait_for(f"end-{self._at}-")

    def completed(self, line: str) -> list[str]:
        """The words that the program gets for a line that is completed and then entered."""
        self._words.unlink(missing_ok=True)
        self._enter(f"{line}\t")
        return self._words.read_text("utf-8").splitlines()

    def close(self) -> None:
        self._terminal.type("exit\n")
        self._terminal.end()


# Each value starts the command and its server.
@pytest.mark.timeout(200)
@pytest.mark.parametrize("name", SHELLS)
def test_a_value_of_a_server_is_one_word(name: str, attacked: User) -> None:
    shell = Shell(name, attacked)
    got = [shell.completed(f"toolhub call convert p{at}=") for at in range(len(VALUES) + len(HIDDEN))]
    shell.close()
    expected = [*VALUES, *("" for _ in HIDDEN)]
    assert got == [["call", "convert", f"p{at}={value}"] for at, value in enumerate(expected)]
    assert not pwned(attacked)


@pytest.mark.parametrize("name", SHELLS)
def test_the_name_of_a_tool_is_one_word(name: str, attacked: User) -> None:
    shell = Shell(name, attacked)
    got = [shell.completed(f"toolhub call {typed}") for typed in ("evil1", "evil2", "evil3", "evil4")]
    shell.close()
    assert got == [["call", tool] for tool in NAMES]
    assert not pwned(attacked)


def pwned(user: User) -> list[Path]:
    return [path for path in user.home.rglob("*") if "PWNED" in path.name]
