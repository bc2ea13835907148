"""Other processes and interpreters: a hub belongs to the one that made it."""

import copy
import pickle
import sys

import pytest

from bridge.kit import finish, script
from toolhub import ToolHub

# From 3.12 on Python itself warns of every fork in a process with threads.
NO_WARNING = ("-W", "ignore::DeprecationWarning")

unix = pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="needs fork")


@unix
@pytest.mark.parametrize(
    "mode",
    [
        "before_any_use",
        "after_use",
        "in_a_running_loop",
        "in_a_thread",
        "in_a_tool",
        "while_busy",
        "while_importing",
        "grandchild",
        "closing_in_the_child",
        "while_a_server_lists",
        "the_child_ends_as_a_program_does",
    ],
)
def test_fork(mode: str) -> None:
    """The parent's hub refuses in the child, a new one works there, and the parent's goes on in the parent."""
    ended = finish(script("forks", mode, options=NO_WARNING))
    assert (ended.status, ended.out, ended.err) == (0, "True\n", "")


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_multiprocessing(method: str) -> None:
    if sys.platform == "win32" and method != "spawn":
        pytest.skip("Windows only spawns")
    ended = finish(script("processes", method, options=NO_WARNING))
    assert (ended.status, ended.out, ended.err) == (0, "[True, True, True, True]\n", "")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_hub_cannot_be_pickled(protocol: int) -> None:
    with pytest.raises(TypeError, match="a hub cannot be pickled; make one in each process"):
        pickle.dumps(ToolHub(), protocol)


def test_a_hub_cannot_be_copied() -> None:
    for how in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            how(ToolHub())


def test_a_second_interpreter_is_refused() -> None:
    ended = finish(script("second_interpreter"))
    assert ended.status == 0, ended
    first, second = ended.out.splitlines()
    assert first.startswith("ImportError: ")
    assert "interpreter" in first
    assert second == "the first goes on: 3"
