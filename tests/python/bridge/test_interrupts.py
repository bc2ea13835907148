"""Ctrl-C: the user gets a KeyboardInterrupt at once, and the tools are cancelled."""

import signal
import subprocess
import sys

import pytest

from bridge.kit import finish, script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT to another process")


def until(process: subprocess.Popen[str], word: str) -> list[str]:
    """What the script says up to this word."""
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or lines[-1] != word:
        line = process.stdout.readline()
        assert line, (lines, process.communicate())
        lines.append(line.strip())
    return lines


def interrupted(process: subprocess.Popen[str]) -> list[str]:
    """Interrupts the script; gives what it says from then on."""
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert ended.status == -signal.SIGINT, ended
    assert "\nKeyboardInterrupt\n" in ended.err
    assert "Fatal" not in ended.err
    return ended.out.split()


@pytest.mark.parametrize("how", ["call", "asyncio_run", "call_inside_a_loop"])
def test_a_coroutine_sees_the_cancellation(how: str) -> None:
    process = script("interrupts", "waits", how)
    until(process, "ready")
    assert interrupted(process) == ["cancelled", "cleaned", "interrupted"]


@pytest.mark.parametrize("how", ["call", "asyncio_run"])
def test_a_race_is_cancelled(how: str) -> None:
    process = script("interrupts", "race", how)
    until(process, "ready")
    until(process, "ready")
    assert interrupted(process) == ["cancelled", "cleaned", "interrupted"]


@pytest.mark.parametrize("how", ["call", "asyncio_run"])
def test_a_blocked_function_is_left_behind(how: str) -> None:
    process = script("interrupts", "blocks", how)
    until(process, "ready")
    assert interrupted(process) == ["interrupted"]


def test_a_second_interrupt_leaves_a_clean_up_that_never_ends() -> None:
    process = script("interrupts", "never_cleans_up", "call")
    until(process, "ready")
    process.send_signal(signal.SIGINT)
    until(process, "stubborn")
    lines = interrupted(process)
    assert lines[0] == "interrupted"


def test_a_second_interrupt_while_the_first_is_handled_is_not_lost() -> None:
    process = script("interrupts", "interrupts_its_cancellation", "call")
    until(process, "ready")
    assert "interrupted" in interrupted(process)
