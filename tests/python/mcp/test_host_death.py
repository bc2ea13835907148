"""When the host dies without ending its servers, nothing that they started stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.processes import is_running

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems cannot do it")

# It starts the children that NAMES lists, and says their process ids with the first answer.
SERVER = """
import json, os, subprocess, sys
sleep = ["/bin/sleep", "3600"]
def start(how):
    if how == "daemon":
        script = "import os, subprocess\\nif os.fork(): os._exit(0)\\nos.setsid()\\nif os.fork(): os._exit(0)\\n"
        script += "print(os.getpid(), flush=True)\\nos.close(1)\\nos.execv('/bin/sleep', ['sleep', '3600'])"
        child = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        return int(child.stdout.readline())
    options = {"plain": {}, "session": {"start_new_session": True}, "bare": {"env": {}}}[how]
    return subprocess.Popen(sleep, stdin=subprocess.DEVNULL, **options).pid
children = [start(how) for how in sys.argv[1].split(",")]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "no such method"}}
    if message["method"] == "initialize":
        info = {"name": "parent", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}
    elif message["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": "children", "inputSchema": {"type": "object"}}]}}
    elif message["method"] == "tools/call":
        text = json.dumps([os.getpid(), *children])
        answer = {"result": {"content": [{"type": "text", "text": text}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""

# A host with two hubs. It prints the processes of its servers and its other children, and then ends as the test wants.
HOST = """
import json, os, sys, time
from toolhub import ToolHub
server, ending = sys.argv[1:]
hubs = [ToolHub(), ToolHub()]
seen = []
for hub, children in zip(hubs, ["plain,session,daemon", "plain,bare"]):
    hub.add_server("s", command=sys.executable, args=[server, children])
    seen += json.loads(hub.call("children", server="s").unwrap())
def own_children():
    folders = [f"/proc/{name}/stat" for name in os.listdir("/proc") if name.isdigit()]
    for path in folders:
        try:
            fields = open(path).read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            yield int(path.split("/")[2])
seen += [pid for pid in own_children() if pid not in seen]
if ending == "fork":
    # The copy lives on, with everything that it inherits.
    ready, wake = os.pipe()
    if os.fork() == 0:
        os.close(wake)
        os.read(ready, 1)
        os._exit(0)
print(json.dumps(seen), flush=True)
if ending == "os_exit":
    os._exit(3)
if ending == "crash":
    import ctypes
    ctypes.string_at(0)
if ending == "exec":
    os.execv("/bin/sleep", ["sleep", "3600"])
if ending == "add":
    sys.stdin.readline()
    known = list(own_children())
    hubs[0].add_server("t", command=sys.executable, args=[server, "plain,bare"])
    added = json.loads(hubs[0].call("children", server="t").unwrap())
    print(json.dumps(added + [pid for pid in own_children() if pid not in known + added]), flush=True)
if ending == "close":
    for hub in hubs:
        hub.close()
    print(json.dumps(list(own_children())), flush=True)
sys.stdin.read()
"""


class HostProcess:
    """A process with hubs, and the processes that it has started."""

    def __init__(self, folder: Path, ending: str) -> None:
        server = folder / "parent.py"
        server.write_text(SERVER)
        self.popen = subprocess.Popen(
            [sys.executable, "-c", HOST, str(server), ending],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.started: list[int] = self.read()

    def read(self) -> list[int]:
        assert self.popen.stdout is not None
        return json.loads(self.popen.stdout.readline())

    def left(self) -> list[int]:
        """What still runs of what was started, after a generous time."""
        limit = time.monotonic() + 30
        while (left := [pid for pid in self.started if is_running(pid)]) and time.monotonic() < limit:
            time.sleep(0.01)
        return left


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Callable[[str], HostProcess]]:
    hosts: list[HostProcess] = []

    def start(ending: str) -> HostProcess:
        hosts.append(HostProcess(tmp_path, ending))
        return hosts[-1]

    yield start
    for started in hosts:
        for pid in [started.popen.pid, *started.started]:
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)
        started.popen.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGQUIT])
def test_a_signal_that_kills_the_host_ends_all_that_its_servers_started(
    number: signal.Signals, host: Callable[[str], HostProcess]
) -> None:
    running = host("wait")
    # Two servers, five children, and the process that watches over them.
    assert len(running.started) == 8
    running.popen.send_signal(number)
    assert running.popen.wait(30) == -number
    assert running.left() == []


@pytest.mark.parametrize("ending", ["os_exit", "crash", "exec", "fork"])
def test_an_end_without_a_farewell_ends_all_that_the_servers_started(
    ending: str, host: Callable[[str], HostProcess]
) -> None:
    running = host(ending)
    if ending == "fork":
        running.popen.kill()
    if ending != "exec":
        running.popen.wait(30)
    assert running.left() == []


def test_a_signal_for_the_group_of_the_host_does_not_reach_the_process_that_cleans_up(
    tmp_path: Path, host: Callable[[str], HostProcess]
) -> None:
    running = host("wait")
    guard = running.started[-1]
    assert Path(f"/proc/{guard}/cmdline").read_bytes().strip(b"\0") == b"toolhub-guard"
    assert os.getpgid(guard) == guard
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(guard, number)
    running.popen.kill()
    running.popen.wait(30)
    assert running.left() == []


def test_the_process_that_cleans_up_holds_nothing_of_the_host_and_ends_with_the_last_server(
    host: Callable[[str], HostProcess],
) -> None:
    running = host("close")
    assert running.read() == [], "a child or a zombie is left after the last server"
    assert running.left() == []
    assert running.popen.poll() is None


def test_the_output_of_the_host_ends_with_the_host(host: Callable[[str], HostProcess]) -> None:
    running = host("wait")
    guard = running.started[-1]
    open_files = [os.readlink(f"/proc/{guard}/fd/{name}") for name in os.listdir(f"/proc/{guard}/fd")]
    assert all(name.startswith(("pipe:", "anon_inode:")) for name in open_files)
    assert len(open_files) == 2
    own = {os.readlink(f"/proc/{running.popen.pid}/fd/{number}") for number in (0, 1, 2)}
    assert own.isdisjoint(open_files)


def test_a_killed_guard_is_replaced_and_its_successor_knows_all_servers(
    host: Callable[[str], HostProcess],
) -> None:
    running = host("add")
    guard = running.started[-1]
    os.kill(guard, signal.SIGKILL)
    while is_running(guard):  # a signal is delivered when the process runs next
        time.sleep(0.01)
    assert running.popen.stdin is not None
    running.popen.stdin.write("\n")
    running.popen.stdin.flush()
    running.started += running.read()
    assert Path(f"/proc/{running.started[-1]}/cmdline").read_bytes().strip(b"\0") == b"toolhub-guard"
    running.popen.kill()
    running.popen.wait(30)
    assert running.left() == []
