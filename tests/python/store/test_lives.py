"""Processes that end in every way, several at once, and forks: what was learnt is in the file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from toolhub import ToolHub

SCRIPT = Path(__file__).parent / "scripts" / "lives.py"
# From 3.12 on Python itself warns of every fork in a process with threads.
COMMAND = [sys.executable, "-W", "ignore::DeprecationWarning", str(SCRIPT)]
unix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def calls(path: Path) -> int:
    with ToolHub(store=path) as hub:
        hub.register(len, name="length")
        return hub.stats("length")["length"][0]["calls"]


@pytest.mark.parametrize("how", ["closed", "left", "collected"])
def test_however_a_process_ends_its_calls_are_kept(how: str, tmp_path: Path) -> None:
    for life in (1, 2):
        ended = subprocess.run(
            [*COMMAND, how, tmp_path / "hub.db"], capture_output=True, text=True, check=False
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        assert calls(tmp_path / "hub.db") == 100 * life


def test_a_killed_process_loses_at_most_what_was_not_flushed(tmp_path: Path) -> None:
    process = subprocess.Popen([*COMMAND, "killed", tmp_path / "hub.db"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "flushed\n"
    process.kill()
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    assert calls(tmp_path / "hub.db") >= 100


def test_several_processes_at_once(tmp_path: Path) -> None:
    processes = [subprocess.Popen([*COMMAND, "closed", tmp_path / "hub.db"]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    assert calls(tmp_path / "hub.db") == 400


@unix
def test_forks_in_the_middle_of_writing(tmp_path: Path) -> None:
    """The script counts itself."""
    ended = subprocess.run(
        [*COMMAND, "busy", tmp_path / "hub.db"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@unix
def test_a_file_that_is_removed_after_a_fork_is_reported(tmp_path: Path) -> None:
    ended = subprocess.run(
        [*COMMAND, "removed", tmp_path / "hub.db"], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.returncode == 0
    assert ended.stderr.count("removed or replaced while it was in use") == 1
    assert not (tmp_path / "hub.db").exists(), "the hub goes on in memory"


@unix
@pytest.mark.parametrize(("how", "expected"), [("forked", 1110), ("forking", 140)])
def test_forks_do_not_harm_the_file(how: str, expected: int, tmp_path: Path) -> None:
    ended = subprocess.run(
        [*COMMAND, how, tmp_path / "hub.db"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert calls(tmp_path / "hub.db") == expected
