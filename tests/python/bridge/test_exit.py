"""The interpreter exits while work is in flight: the right status, no abort, no noise."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from bridge.kit import Ended, finish, script

QUIET = [
    "async_in_flight",
    "sync_blocked",
    "sync_running",
    "race_in_flight",
    "background_call",
    "background_race",
    "background_sync",
    "background_blocked",
    "background_busy",
    "many_background_calls",
    "many_loops",
    "a_busy_loop",
    "in_an_invocation",
    "in_a_listener",
    "in_a_progress_callback",
    "many_validators",
]

# One run more for those in which other threads are busy at the moment of the exit.
RUNS = {
    "background_busy": 4,
    "many_background_calls": 4,
    "many_loops": 6,
    "a_busy_loop": 4,
    "many_validators": 4,
}


def exits(mode: str, count: int) -> list[Ended]:
    with ThreadPoolExecutor(2) as two_at_a_time:
        return list(two_at_a_time.map(lambda _: finish(script("exits", mode)), range(count)))


@pytest.mark.parametrize("mode", QUIET)
def test_a_quiet_exit(mode: str) -> None:
    for ended in exits(mode, RUNS.get(mode, 2)):
        assert (ended.status, ended.err) == (0, "")


def test_background_tools_are_cancelled_and_clean_up() -> None:
    for mode in ("background_call", "background_race"):
        assert exits(mode, 1)[0].out == "cleaned up\n"


def test_sys_exit_inside_a_loop() -> None:
    for ended in exits("sys_exit_in_a_loop", 4):
        assert (ended.status, ended.err) == (3, "")


def test_an_error_inside_a_loop() -> None:
    for ended in exits("an_error_in_a_loop", 2):
        assert ended.status == 1
        assert ended.err.endswith("LookupError: on purpose\n")
        assert ended.err.count("Traceback") == 1


def test_a_loop_that_is_left_without_closing_it() -> None:
    """Python itself says that the loop's tasks were destroyed; nothing worse happens."""
    for ended in exits("a_loop_that_is_just_left", 2):
        assert ended.status == 0
        assert "Fatal" not in ended.err
        assert "panicked" not in ended.err
        assert "toolhub" not in ended.err.replace("_calling.py", "").replace("toolhub/hub/", "")


def test_a_call_after_the_end_is_refused() -> None:
    ended = exits("a_call_at_exit", 1)[0]
    assert ended.status == 0
    assert ended.out == (
        "too late: toolhub has stopped because the interpreter is exiting; call tools before that\n"
    )
    assert ended.err == ""


SUBINTERPRETER = """
import sys
# One with a GIL of its own is refused by Python itself, from 3.12 on.
try:
    import _xxsubinterpreters as interpreters
    shared = {"isolated": False}
except ImportError:
    import _interpreters as interpreters
    shared = {"config": "legacy"}
if sys.argv[1] == "main first":
    import toolhub
sub = interpreters.create(**shared)
try:
    failed = interpreters.run_string(sub, "import toolhub")
except Exception as error:
    failed = error
interpreters.destroy(sub)
print(getattr(failed, "formatted", failed))
import toolhub
print(len(toolhub.ToolHub()))
"""


@pytest.mark.parametrize("order", ["main first", "sub first"])
def test_a_subinterpreter_is_refused_at_import(order: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SUBINTERPRETER, order], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    assert "ImportError" in ended.stdout
    assert "this is a subinterpreter; use a thread or a process instead" in ended.stdout
    assert ended.stdout.endswith("\n0\n"), "the main interpreter is not kept out"
