"""Completion in real shells: the script is loaded, and the shell asks it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.cli import User
from support.programs import require
from toolhub.cli._commands import COMMANDS

PLACES = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    known = {{"initialize": {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{}}}}, "serverInfo": {{"name": "p", "version": "1"}}}}, "tools/list": {schema!r}}}
    if request.get("method") in known:
        print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": known[request["method"]]}}), flush=True)
    elif "id" in request:
        print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "error": {{"code": -32601, "message": "no"}}}}), flush=True)
"""  # noqa: E501
ASK_BASH = """
eval "$(toolhub completion bash)"
COMP_LINE="$1"; COMP_POINT=${#COMP_LINE}
_toolhub
printf '%s\\n' "${COMPREPLY[@]}"
"""


def ask_bash(user: User, line: str) -> list[str]:
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK_BASH, "bash", line],
        cwd=user.home,
        env=user.environment,
        capture_output=True,
        text=True,
        timeout=50,
    )
    # Outside of a completion there is nothing whose options could be set; anything else is an error of the script.
    assert all("compopt" in line for line in done.stderr.splitlines()), done.stderr
    return [word for word in done.stdout.splitlines() if word]


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("toolhub li", ["list"]),
        ("toolhub call sho", [f"shop.{name}" for name in ("count_up", "order", "price", "refuse", "wait")]),
        ("toolhub call --timeout 5 pri", ["price"]),
        ("toolhub call price co", ["count="]),
        ("toolhub show wa", ["wait"]),
        ("toolhub connect ", ["shop"]),
        ("toolhub list --na", ["--names"]),
        ("toolhub completion f", ["fish"]),
        ("toolhub call nonsense ", []),
        ("toolhub call --server ", ["shop"]),
        ("toolhub call --strategy f", ["fallback", "first"]),
        ("toolhub call --timeout ", []),
        ("toolhub call price --server shop co", ["count="]),
        ("toolhub export --format ", ["openapi", "py", "ts"]),
        ("toolhub call price cur", ["currency="]),
        ("toolhub call price currency=", ["EUR", "USD"]),
        ("toolhub call price currency=E", ["EUR"]),
        ("toolhub list --config ", []),
    ],
)
def test_bash(line: str, answers: list[str], warm_user: User) -> None:
    assert ask_bash(warm_user, line) == answers


# What a shell does with the answers is its own matter: `compadd` takes them there, here it prints them.
ASK_ZSH = """
compdef() { : }
compadd() { print -rl -- "${(@)argv[$argv[(i)--]+1,-1]}" }
_files() { print -r -- files }
eval "$(toolhub completion zsh)"
words=("${(@s: :)1}"); CURRENT=${#words}
_toolhub
"""


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("toolhub li", ["list"]),
        ("toolhub call shop.p", ["shop.price"]),
        ("toolhub call price co", ["count="]),
        ("toolhub call nonsense x", []),
        ("toolhub call --strategy fi", ["first"]),
        ("toolhub parse x", ["files"]),
        ("toolhub list --config x", ["files"]),
    ],
)
def test_zsh(line: str, answers: list[str], warm_user: User) -> None:
    require("zsh", package="zsh")
    done = subprocess.run(
        ["zsh", "-f", "-c", ASK_ZSH, "zsh", line],
        env=environment(warm_user),
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert [word for word in done.stdout.splitlines() if word] == answers, done.stderr


@pytest.mark.parametrize(
    ("line", "answer"),
    [("toolhub li", "list"), ("toolhub call shop.p", "shop.price"), ("toolhub call price co", "count=")],
)
def test_fish(line: str, answer: str, warm_user: User) -> None:
    require("fish", package="fish")
    ask = f"toolhub completion fish | source; complete -C '{line}'"
    done = subprocess.run(
        ["fish", "-N", "-c", ask], env=environment(warm_user), capture_output=True, text=True, timeout=50
    )
    assert answer in [word.partition("\t")[0] for word in done.stdout.splitlines()], done.stderr


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("toolhub list ", ["shop"]),
        ("toolhub call price currency=", ["currency=EUR", "currency=USD"]),
        ("toolhub call --timeout ", []),
        ("toolhub parse mcp", ["mcp.json"]),
    ],
)
def test_fish_offers_files_only_where_a_file_belongs(line: str, answers: list[str], warm_user: User) -> None:
    require("fish", package="fish")
    ask = f"toolhub completion fish | source; complete -C '{line}'"
    done = subprocess.run(
        ["fish", "-N", "-c", ask],
        cwd=warm_user.home,
        env=environment(warm_user),
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert [word.partition("\t")[0] for word in done.stdout.splitlines()] == answers, done.stderr


def test_a_value_with_a_space_stays_one_word(user: User) -> None:
    (user.home / "tools").mkdir()
    schema = {
        "tools": [{"name": "go", "inputSchema": {"properties": {"to": {"enum": ["New York", "Rome"]}}}}]
    }
    program = user.home / "places.py"
    program.write_text(PLACES.format(schema=schema), "utf-8")
    user.configure({"places": {"command": sys.executable, "args": [str(program)]}})
    assert user.run("connect").returncode == 0
    assert ask_bash(user, "toolhub call go to=") == ["New\\ York", "Rome"]


def environment(user: User) -> dict[str, str]:
    """That of a user whose shell may be installed in a place of its own."""
    path = f"{user.environment['PATH']}{os.pathsep}{os.environ['PATH']}"
    libraries = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return {**user.environment, **libraries, "PATH": path}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_of_its_shell(shell: str, warm_user: User) -> None:
    script = warm_user.run("completion", shell).stdout
    assert "toolhub __complete" in script
    require(shell, package=shell)
    done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")


def test_commands_come_without_any_configuration(user: User) -> None:
    (user.home / "mcp.json").unlink()
    assert user.run("__complete", "").stdout.split() == sorted([*COMMANDS, "--help", "--version"])
    # A file that is missing is not an answer, and makes no noise in the middle of a line either.
    silent = user.run("__complete", "call", "")
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")


def test_completion_starts_no_server(user: User) -> None:
    started = user.home / "started"
    code = f"open({str(started)!r}, 'w')"
    user.configure({"s": {"command": sys.executable, "args": ["-c", code]}})
    assert user.run("__complete", "call", "").stdout == ""
    assert not started.exists()
