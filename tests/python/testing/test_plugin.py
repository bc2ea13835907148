"""The pytest plugin, in runs of pytest of its own; and `toolhub record`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

TEST = """
import pytest
from toolhub import ToolHub

def run():
    hub = ToolHub()
    @hub.tool(read_only=True)
    def now() -> str:
        open("ran", "a").write("x")
        return "noon"
    return hub.call("now").result

def test_now(toolhub_cassette):
    assert run() == "noon"
    assert toolhub_cassette.name == "test_it.test_now.ndjson"

@pytest.mark.parametrize("name", ["a/b"])
@pytest.mark.toolhub_replay("lenient")
def test_more(toolhub_cassette, name):
    run()
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(test_it=TEST)
    return pytester


def pytest_in(project: pytest.Pytester, *args: str) -> pytest.RunResult:
    return project.runpytest_subprocess("-p", "toolhub.testing.plugin", *args)


def test_a_missing_cassette_fails_is_recorded_on_request_and_then_replayed(project: pytest.Pytester) -> None:
    missing = pytest_in(project)
    missing.assert_outcomes(errors=2)
    missing.stdout.fnmatch_lines(["*There is no cassette *test_it.test_now.ndjson*pytest --toolhub-record*"])
    assert not (project.path / "ran").exists()
    pytest_in(project, "--toolhub-record").assert_outcomes(passed=2)
    assert sorted(file.name for file in (project.path / "cassettes").iterdir()) == [
        "test_it.test_more_a_b_-ca3cab07.ndjson",
        "test_it.test_now.ndjson",
    ]
    pytest_in(project, "--toolhub-record").assert_outcomes(passed=2)
    assert (project.path / "ran").read_text() == "xx"
    pytest_in(project, "--toolhub-record=all").assert_outcomes(passed=2)
    assert (project.path / "ran").read_text() == "xxxx"


def test_the_mode_of_the_configuration_does_not_count_in_ci(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.makeini("[pytest]\ntoolhub_record_mode = once\n")
    monkeypatch.setenv("CI", "1")
    pytest_in(project).assert_outcomes(errors=2)
    monkeypatch.delenv("CI")
    pytest_in(project).assert_outcomes(passed=2)
    project.makeini("[pytest]\ntoolhub_record_mode = often\n")
    wrong = pytest_in(project)
    wrong.stderr.fnmatch_lines(["*toolhub_record_mode must be one of none, once, all*"])


def test_a_call_that_differs_and_a_cassette_that_is_wrong_fail_the_test(project: pytest.Pytester) -> None:
    pytest_in(project, "--toolhub-record").assert_outcomes(passed=2)
    project.makepyfile(test_it=TEST.replace("assert run()", "run(); assert run()"))
    differs = pytest_in(project, "-k", "test_now")
    assert differs.ret == 1
    differs.stdout.fnmatch_lines(["*all 1 recorded calls of it were replayed already*"])
    (project.path / "cassettes" / "test_it.test_now.ndjson").write_text("{}\n")
    wrong = pytest_in(project, "-k", "test_now")
    wrong.assert_outcomes(errors=1, deselected=1)
    wrong.stdout.fnmatch_lines(["*wrong in line 1: a cassette begins with*"])


def test_the_network_is_blocked(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import socket
        import pytest

        def test_remote():
            with socket.socket() as one, pytest.raises(OSError, match="The network is blocked: .*192.0.2.1:80"):
                one.connect(("192.0.2.1", 80))
            with pytest.raises(OSError, match="The network is blocked: .*example.com"):
                socket.create_connection(("example.com", 80))

        def test_loopback():
            with socket.create_server(("127.0.0.1", 0)) as server:
                socket.create_connection(server.getsockname()).close()

        def test_unix(tmp_path, monkeypatch):
            monkeypatch.chdir(tmp_path)
            with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
                server.bind("s")
                server.listen()
                client.connect("s")
        """
    )
    pytest_in(project, "--block-network=remote").assert_outcomes(passed=3)
    blocked = pytest_in(project, "--block-network")
    blocked.assert_outcomes(passed=2, failed=1)
    blocked.stdout.fnmatch_lines(
        ["*NetworkBlockedError: The network is blocked: a connection to 127.0.0.1:*"]
    )


PROGRAM = """
import subprocess, sys
from toolhub import ToolHub
hub = ToolHub()
@hub.tool(read_only=True)
def add(a: int, b: int) -> int:
    return a + b
print(hub.call("add", {"a": 1, "b": 2}).result)
if "child" not in sys.argv:
    subprocess.run([sys.executable, __file__, "child"], check=True)
    raise SystemExit(3)
"""


def toolhub(*args: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "toolhub", *args]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_command_is_recorded_and_its_cassette_printed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = toolhub("record", "-o", "c.ndjson", "--", sys.executable, "program.py", folder=tmp_path)
    assert (done.returncode, done.stdout) == (3, "3\n3\n"), done.stderr
    events = [json.loads(line) for line in (tmp_path / "c.ndjson").read_text().splitlines()]
    # The child of the program has not recorded over it.
    assert [event["type"] for event in events] == ["header", "call", "end"]
    shown = toolhub("cassette", "c.ndjson", folder=tmp_path)
    assert shown.returncode == 0
    assert 'call     ok        add (tools) {"a": 1, "b": 2} -> 3' in shown.stdout
    wrong = toolhub("cassette", "program.py", folder=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "wrong in line" in wrong.stderr


def test_a_command_without_a_hub_or_that_does_not_exist(tmp_path: Path) -> None:
    none = toolhub("record", "--", sys.executable, "-c", "pass", folder=tmp_path)
    assert none.returncode == 1
    assert "nothing in the command has imported toolhub" in none.stderr
    missing = toolhub("record", "--", str(tmp_path / "none"), folder=tmp_path)
    assert missing.returncode == 2


def test_pytest_starts_with_warnings_as_errors(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_test_has_a_cassette_of_its_own(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import pytest
        from toolhub import ToolHub

        def said(text):
            hub = ToolHub()
            hub.register(lambda text: text, name="say", read_only=True)
            return hub.call("say", {"text": text}).result

        class TestA:
            def test_x(self, toolhub_cassette):
                assert said("A") == "A"

            class TestIn:
                def test_x(self, toolhub_cassette):
                    assert said("in") == "in"

        class TestB:
            def test_x(self, toolhub_cassette):
                assert said("B") == "B"

        @pytest.mark.parametrize("text", ["a/b", "a b", "a_b", "../../a", "q" * 300, "a::b"], ids=str)
        def test_x(toolhub_cassette, text):
            assert toolhub_cassette.parent.name == "cassettes"
            assert said(text) == text
        """
    )
    pytest_in(project, "--toolhub-record").assert_outcomes(passed=9)
    names = {file.name for file in (project.path / "cassettes").iterdir()}
    assert len(names) == 9
    whole = {f"test_it.{test}.ndjson" for test in ("TestA.test_x", "TestA.TestIn.test_x", "TestB.test_x")}
    assert whole < names
    pytest_in(project).assert_outcomes(passed=9)


def test_options_leave_the_paths_that_follow_them(project: pytest.Pytester) -> None:
    project.makepyfile(test_other="def test_other(): assert False\n")
    for option in ("--toolhub-record", "--toolhub-record=once", "--toolhub-record=all", "--block-network"):
        pytest_in(project, option, "test_it.py").assert_outcomes(passed=2)
    wrong = pytest_in(project, "--block-network=some", "test_it.py")
    assert wrong.ret == 4
    wrong.stderr.fnmatch_lines(["*--block-network*'some'*"])


def test_datagrams_and_bare_sockets_are_blocked(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_it="""
        import _socket
        import asyncio
        import socket
        import pytest
        from toolhub.testing import NetworkBlockedError

        ADDRESS = ("127.0.0.1", 9)

        def udp():
            return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

        WAYS = {
            "sendto": lambda: udp().sendto(b"x", ADDRESS),
            "sendto with flags": lambda: udp().sendto(b"x", 0, ADDRESS),
            "sendmsg": lambda: udp().sendmsg([b"x"], [], 0, ADDRESS),
            "connect_ex": lambda: socket.socket().connect_ex(ADDRESS),
            "a bare socket": lambda: _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM).connect(ADDRESS),
            "a bare datagram": lambda: _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM).sendto(b"x", ADDRESS),
            "IPv6": lambda: socket.socket(socket.AF_INET6).connect(("::1", 9)),
            "asyncio": lambda: asyncio.run(asyncio.wait_for(connected(), 5)),
            "a name": lambda: socket.gethostbyname("example.com"),
        }

        async def connected():
            await asyncio.open_connection(*ADDRESS)

        @pytest.mark.filterwarnings("ignore::ResourceWarning")
        @pytest.mark.parametrize("way", WAYS)
        def test_way(way):
            with pytest.raises(NetworkBlockedError):
                WAYS[way]()

        def test_pair():
            one, other = socket.socketpair()
            one.sendmsg([b"x"])
            assert other.recv(1) == b"x"
            one.close()
            other.close()
        """
    )
    pytest_in(project, "--block-network").assert_outcomes(passed=10)


KILLED = """
import os, signal
from toolhub import ToolHub
hub = ToolHub()
hub.register(lambda a: a, name="same", read_only=True)
for a in range(3):
    hub.call("same", {"a": a})
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_what_a_killed_command_has_recorded_can_be_replayed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(KILLED)
    killed = toolhub("record", "-o", "c.ndjson", "--", sys.executable, "program.py", folder=tmp_path)
    assert killed.returncode == 128 + 9
    assert "c.ndjson contains the completed events (3) and can be replayed" in killed.stderr
    (tmp_path / "program.py").write_text(KILLED.rpartition("os.kill")[0])
    again = toolhub("replay", "c.ndjson", "--", sys.executable, "program.py", folder=tmp_path)
    assert (again.returncode, again.stderr) == (0, "")
    # Without the command that waits for it, what is left says that it was not finished.
    whole = (tmp_path / "c.ndjson").read_text().splitlines(keepends=True)
    (tmp_path / "c.ndjson").write_text("".join(whole[:-1]))
    cut = toolhub("replay", "c.ndjson", "--", sys.executable, "program.py", folder=tmp_path)
    assert cut.returncode == 2
    assert "the recording was not finished" in cut.stderr
