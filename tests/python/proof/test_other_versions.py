"""An approval, and a call of a run, is for the tool as its server defines it now: another version of the server does not run.

A definition counts if the server has listed it over the connection that the call leaves by. A list in the store, or from before
the server was started again, is one of a server that may be another one today.
"""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

SERVER = """
import json, sys
log, version = sys.argv[1], open(sys.argv[2]).read()
def note(text):
    with open(log, "a") as file:
        file.write(f"{version} {text}\\n")
def answer(id, **body):
    print(json.dumps({"jsonrpc": "2.0", "id": id, **body}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        info = {"name": "mailer", "version": version}
        answer(message["id"], result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info})
    elif message["method"] == "tools/list":
        note("list")
        schema = {"type": "object", "properties": {"to": {"type": "string"}}}
        tools = [{"name": name, "description": f"Version {version}.", "inputSchema": schema} for name in ("send_it", "get_it")]
        answer(message["id"], result={"tools": tools})
    elif message["method"] == "tools/call":
        note(message["params"]["name"])
        answer(message["id"], result={"content": [{"type": "text", "text": version}]})
    else:
        answer(message["id"], error={"code": -32601, "message": "no"})
"""


class Place:
    """A store, and a server whose next start may be another version."""

    def __init__(self, folder: Path) -> None:
        self.log, self.version, self.program = folder / "log", folder / "version", folder / "server.py"
        self.store = folder / "hub.db"
        self.log.write_text("")
        self.program.write_text(SERVER)
        self.install("1")

    def install(self, version: str) -> None:
        self.version.write_text(version)

    def hub(self, **options: Any) -> ToolHub:
        hub = ToolHub(store=self.store)
        args = [str(self.program), str(self.log), str(self.version)]
        hub.add_server("mailer", command=sys.executable, args=args, **options)
        return hub

    def called(self, tool: str = "send_it") -> list[str]:
        """The versions that were called."""
        return [line.split()[0] for line in self.log.read_text().splitlines() if line.endswith(tool)]

    def lists(self) -> int:
        return self.log.read_text().count("list")

    def replace(self, hub: ToolHub, version: str) -> None:
        """The server ends, and is started as another version for the next call."""
        self.install(version)
        (server,) = hub.servers()
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        while hub.servers()[0].state == "connected":
            time.sleep(0.01)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_an_approval_is_not_used_by_another_version_that_another_hub_starts(place: Place) -> None:
    with place.hub() as hub:
        first = hub.call("send_it", {"to": "ann"}, approve="ask")
        assert first.paused is not None
        hub.approve(first.paused)
    place.install("2")
    with place.hub() as hub:
        second = hub.call("send_it", {"to": "ann"}, approve="ask")
        assert second.kind == "paused"
        assert second.paused not in (None, first.paused)
        (question,) = hub.pending()
        assert place.called() == []
        hub.approve(question.id)
        assert hub.call("send_it", {"to": "ann"}, approve="ask").result == "2"
    assert place.called() == ["2"]


def test_a_function_is_shown_what_would_run(place: Place) -> None:
    with place.hub() as hub:
        hub.connect_sync()
    place.install("2")
    shown: list[str] = []

    def approve(call: Any) -> bool:
        shown.append(call.description)
        return True

    with place.hub() as hub:
        assert hub.call("send_it", {"to": "ann"}, approve=approve).result == "2"
    assert shown == ["Version 2."]


def test_an_approval_is_not_used_after_the_server_was_started_again(place: Place) -> None:
    with place.hub() as hub:
        first = hub.call("send_it", {"to": "ann"}, approve="ask")
        assert first.paused is not None
        hub.approve(first.paused)
        place.replace(hub, "2")
        second = hub.call("send_it", {"to": "ann"}, approve="ask")
        assert second.kind == "paused"
        assert second.paused != first.paused
    assert place.called() == []


def test_a_server_that_is_replaced_while_somebody_decides_is_not_called(place: Place) -> None:
    with place.hub() as hub:
        hub.connect_sync()

        def approve(_: Any) -> bool:
            place.replace(hub, "2")
            return True

        result = hub.call("send_it", {"to": "ann"}, approve=approve)
        assert result.kind == "not_allowed"
        assert result.meta["error"]["outcome"] == "not_sent"
        assert "(then 'Version 1.', now 'Version 2.'; it differs in description, program_version)" in str(
            result.error
        )
        assert place.called() == []
        # Made again, it is shown and called as it is now.
        assert hub.call(
            "send_it", {"to": "ann"}, approve=lambda call: call.description == "Version 2."
        ).success
    assert place.called() == ["2"]


def test_a_run_is_refused_that_another_version_would_go_on_with(place: Place) -> None:
    with place.hub() as hub:
        assert hub.call("send_it", {"to": "ann"}, run="r").result == "1"
        place.replace(hub, "2")
        with hub.resume("r"):
            # What it gave is given again, and nothing leaves.
            assert hub.call("send_it", {"to": "ann"}, run="r").meta["replayed"]
        assert hub.call("send_it", {"to": "bob"}, run="r").result == "2"
        with hub.resume("r"):
            refused = hub.call("send_it", {"to": "ann"}, run="r")
        assert refused.kind == "paused"
        assert "a different definition of the tool (then mcps:mailer" in str(refused.error)
    place.install("3")
    with place.hub() as hub:
        # A call that was not made before is bound to what is called now, and not to the list in the store.
        assert hub.call("send_it", {"to": "cy"}, run="r").result == "3"
    with place.hub() as hub:
        assert hub.call("send_it", {"to": "cy"}, run="r").meta["replayed"]
    assert place.called() == ["1", "2", "3"]


def test_calls_over_a_listed_connection_list_nothing_more(place: Place) -> None:
    with place.hub() as hub:
        hub.connect_sync()
        listed = place.lists()
        for to in "abc":
            assert hub.call("send_it", {"to": to}, run="r").success
            assert hub.call("get_it", {"to": to}, approve=lambda _: False).success
        assert place.lists() == listed
        # An approval is for what is listed when it is asked for, and when it is used.
        assert hub.call("send_it", {"to": "d"}, approve=lambda _: True).success
        assert place.lists() == listed + 2
