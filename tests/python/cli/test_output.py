"""What cannot be printed: the command was carried out all the same, and its exit code is not that of a failed tool."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli import User, new_user

TOOL = """
from toolhub import tool

@tool
def send(to: str) -> str:
    "Send something"
    with open({path!r}, "a") as file:
        file.write(to)
    return "sent to é for 5 € \\N{{GRINNING FACE}}"
"""
NOT_WRITTEN = "toolhub: the command ran, but its output cannot be written: {}\n"


@pytest.fixture
def sender(user: User) -> User:
    (user.home / "tools").mkdir()
    (user.home / "tools" / "sending.py").write_text(TOOL.format(path=str(user.home / "sent")), "utf-8")
    return user


def words(*more: str) -> list[str]:
    return ["call", "send", "to=a", "--tools", "tools", "--config", "", "--store", "", *more]


def run(user: User, shell: str, *more: str) -> subprocess.CompletedProcess[str]:
    """The call in a shell, which redirects what it prints."""
    command = ["sh", "-c", f'"$@" {shell}', "sh", sys.executable, "-m", "toolhub", *words(*more)]
    return subprocess.run(
        command,
        cwd=user.home,
        env=user.environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=50,
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.parametrize(
    ("shell", "why"), [("> /dev/full", "No space left on device"), (">&-", "Bad file descriptor")]
)
def test_a_result_that_cannot_be_written(shell: str, why: str, more: list[str], sender: User) -> None:
    done = run(sender, shell, *more)
    assert (done.returncode, done.stderr) == (6, NOT_WRITTEN.format(why))
    assert (sender.home / "sent").read_text() == "a"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("shell", ["2> /dev/full", "2>&-", "> /dev/full 2>&1", ">&- 2>&-"])
def test_an_error_that_cannot_be_said(shell: str, sender: User) -> None:
    wrong = run(sender, shell, "nonsense", "--json")
    assert wrong.returncode == 2
    assert run(sender, shell).returncode == (6 if "> /dev/full 2" in shell or shell.startswith(">&-") else 0)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("ascii", "sent to \\xe9 for 5 \\u20ac \\U0001f600\n"),
        ("iso-8859-1", "sent to é for 5 \\u20ac \\U0001f600\n"),
        ("utf-8", "sent to é for 5 € \U0001f600\n"),
    ],
)
def test_what_cannot_be_encoded_is_escaped(encoding: str, text: str, sender: User) -> None:
    environment = {**sender.environment, "PYTHONUTF8": "0", "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "toolhub"]
    plain, as_json = (
        subprocess.run(
            [*command, *words(*more)], cwd=sender.home, env=environment, capture_output=True, timeout=50
        )
        for more in ([], ["--json"])
    )
    assert (plain.returncode, plain.stdout.decode(encoding)) == (0, text), plain.stderr
    assert as_json.returncode == 0, as_json.stderr
    assert json.loads(as_json.stdout.decode(encoding))["result"] == "sent to é for 5 € \U0001f600"


def test_a_reader_that_has_gone_is_no_failure(tmp_path: Path) -> None:
    user = new_user(tmp_path / "home")
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m toolhub completion bash | true'],
        cwd=user.home,
        env=user.environment,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert (done.returncode, done.stderr) == (0, "")
