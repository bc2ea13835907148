"""After the last hub was closed, threads that nobody needs end; the next hub starts them again."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from bridge.kit import finish, script
from llm.fake_openai import FakeOpenAI

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")

# From 3.12 on Python itself warns of every fork in a process with threads.
NO_WARNING = ("-W", "ignore::DeprecationWarning")


@pytest.mark.parametrize(
    "mode",
    [
        "closed_hubs",
        "an_open_hub",
        "a_hub_that_is_collected",
        "the_same_loop",
        "what_tools_leave",
        "forks",
        "many_cycles",
    ],
)
def test_threads(mode: str) -> None:
    ended = finish(script("idle", mode, options=NO_WARNING))
    assert (ended.status, ended.out, ended.err) == (0, "True\n", "")


def test_an_exit_while_threads_end() -> None:
    def run(number: int) -> tuple[int, str, str]:
        ended = finish(script("idle", "exits", str(number / 2000)))
        return ended.status, ended.out, ended.err

    with ThreadPoolExecutor(2) as two_at_a_time:
        assert set(two_at_a_time.map(run, range(20))) == {(0, "True\n", "")}


def test_a_chat_client_outlives_the_runtime() -> None:
    with FakeOpenAI(answer="Paris it is.") as server:
        ended = finish(script("idle", "chat_client", server.base_url))
    assert (ended.status, ended.out, ended.err) == (0, "True\n", "")
