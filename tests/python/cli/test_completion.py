"""Completion in real shells: the script is loaded, and the shell asks it."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from support.cli import User
from toolhub.cli._commands import COMMANDS

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
    ],
)
def test_bash(line: str, answers: list[str], warm_user: User) -> None:
    assert ask_bash(warm_user, line) == answers


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_of_its_shell(shell: str, warm_user: User) -> None:
    script = warm_user.run("completion", shell).stdout
    assert "toolhub __complete" in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")


def test_commands_come_without_any_configuration(user: User) -> None:
    (user.home / "mcp.json").unlink()
    assert user.run("__complete", "").stdout.split() == sorted([*COMMANDS, "--help", "--version"])
    # A file that is missing is no answer, and no noise in the middle of a line either.
    silent = user.run("__complete", "call", "")
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")


def test_completion_starts_no_server(user: User) -> None:
    started = user.home / "started"
    code = f"open({str(started)!r}, 'w')"
    user.configure({"s": {"command": sys.executable, "args": ["-c", code]}})
    assert user.run("__complete", "call", "").stdout == ""
    assert not started.exists()
