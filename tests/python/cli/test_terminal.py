"""The command in a real pseudo-terminal: colours, width, progress and Ctrl-C; and none of it in a pipe."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from support.cli import User, shop
from support.processes import is_running
from support.terminal import Terminal

ESCAPE = "\x1b["


def toolhub(*words: str) -> list[str]:
    return [sys.executable, "-m", "toolhub", *words]


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)


def test_a_terminal_gets_colours_and_a_pipe_does_not(warm_user: User) -> None:
    shown, code = Terminal(warm_user, toolhub("list"), 200).end()
    piped = warm_user.run("list")
    assert code == 0
    assert f"{ESCAPE}36mprice{ESCAPE}0m" in shown
    assert ESCAPE not in piped.stdout + piped.stderr
    assert plain(shown) == piped.stdout


@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_turned_off(more: dict[str, str], warm_user: User) -> None:
    shown, _ = Terminal(warm_user, toolhub("list"), 200, **more).end()
    assert ESCAPE not in shown
    assert "price(" in shown


@pytest.mark.parametrize("columns", [40, 80])
def test_descriptions_are_cut_to_the_width_and_signatures_are_not(columns: int, warm_user: User) -> None:
    shown, _ = Terminal(warm_user, toolhub("list"), columns).end()
    lines = plain(shown).splitlines()
    call = 'price(item: string, count?: integer = 1, currency?: "EUR" | "USD");'
    assert any(line.startswith(call) for line in lines)
    assert all(len(line) <= columns for line in lines if not line.startswith(call)), lines
    if columns == 40:
        assert any(line.endswith("…") for line in lines)


def test_search_fits_the_width(warm_user: User) -> None:
    shown, _ = Terminal(warm_user, toolhub("search", "price"), 30).end()
    (line,) = plain(shown).splitlines()
    assert len(line) <= 30
    assert line.endswith("…")


@pytest.mark.parametrize("has_rich", [True, False])
def test_tables_with_and_without_rich(has_rich: bool, warm_user: User) -> None:
    hide = "" if has_rich else "sys.modules['rich.console'] = None; "
    code = f"import sys; {hide}from toolhub.cli import main; sys.exit(main(['connect']))"
    shown, ended = Terminal(warm_user, [sys.executable, "-c", code]).end()
    assert ended == 0
    lines = plain(shown.rpartition("\r")[2]).split("\n")
    rows = [line.split() for line in lines if line.strip()]
    assert rows[-2:] == [
        ["SERVER", "STATE", "TRANSPORT", "ERA", "TOOLS"],
        ["shop", "connected", "stdio", "legacy", "5"],
    ]


def test_progress_is_shown_on_a_terminal_only(warm_user: User) -> None:
    shown, code = Terminal(warm_user, toolhub("call", "count_up", "to=3")).end()
    assert code == 0
    assert "calling count_up" in shown
    assert plain(shown.splitlines()[-1]).endswith("done")
    piped = warm_user.run("call", "count_up", "to=3")
    assert (piped.stdout, piped.stderr) == ("done\n", "")


def test_the_key_of_the_inspector_is_shown_on_a_terminal(user: User) -> None:
    terminal = Terminal(user, toolhub("serve", "--http", "--port", "0"), 200)
    terminal.wait_for("/inspect#key=")
    terminal.type("\x03")
    assert terminal.end()[1] == 0


TYPES_CTRL_C = """
import io, os, signal, sys

class Stream(io.RawIOBase):
    def writable(self):
        return True

    def write(self, data):
        written = os.write(2, data)
        if b"/inspect#key=" in bytes(data):
            signal.raise_signal(signal.SIGINT)
        return written

    def isatty(self):
        return True

sys.stderr = io.TextIOWrapper(io.BufferedWriter(Stream()))
from toolhub.cli import main
sys.exit(main(["serve", "--http", "--port", "0"]))
"""


def test_ctrl_c_while_the_address_is_being_printed(user: User) -> None:
    """Whoever reads the address may be quicker than the call that writes it: the signal comes inside of it."""
    ended = subprocess.run(
        [sys.executable, "-c", TYPES_CTRL_C],
        cwd=user.home,
        env=user.environment,
        capture_output=True,
        timeout=50,
    )
    assert (ended.returncode, b"Traceback" in ended.stderr) == (0, False), ended.stderr.decode()
    assert b"ending after the calls that run; Ctrl-C again ends them" in ended.stderr


def test_ctrl_c_ends_a_call_and_its_server(user: User) -> None:
    pid_file = user.home / "pid"
    user.configure({"shop": shop(SHOP_WAITS=str(pid_file))})
    terminal = Terminal(user, toolhub("call", "shop.wait"))
    until(lambda: pid_file.exists() and pid_file.read_text() != "")
    terminal.type("\x03")
    shown, code = terminal.end()
    assert code == 130
    assert "Traceback" not in shown
    until(lambda: not is_running(int(pid_file.read_text())))


def test_sigint_without_a_terminal(user: User) -> None:
    pid_file = user.home / "pid"
    user.configure({"shop": shop(SHOP_WAITS=str(pid_file))})
    process = subprocess.Popen(
        toolhub("call", "shop.wait"), env=user.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    until(lambda: pid_file.exists() and pid_file.read_text() != "")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=50)
    assert process.returncode == 130
    assert b"Traceback" not in errors


def test_a_reader_that_leaves_is_no_error(warm_user: User) -> None:
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m toolhub prompt | head -c 1"],
        env=warm_user.environment,
        capture_output=True,
        timeout=50,
    )
    assert done.stderr == b""


def test_what_a_server_writes_does_not_reach_the_terminal_as_a_command(user: User) -> None:
    terminal = Terminal(user, toolhub("call", "shop.refuse", "why=\x1b]0;owned\x07\x1b[2Jred"))
    shown, code = terminal.end()
    assert code == 1
    assert "\x1b]0;" not in shown
    assert "\x1b[2J" not in shown
    assert "red" in shown


def until(there: Callable[[], bool], seconds: float = 50.0) -> None:
    """Wait for what must become true; the time is only for the case that it never does."""
    limit = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < limit, "it has not become true"
        time.sleep(0.01)
