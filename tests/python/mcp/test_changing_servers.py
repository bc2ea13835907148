"""Servers that change, go away and come back: what the hub knows of them stays right, and no server is started too often."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

pytestmark = pytest.mark.anyio

# A server of either era. MODE says what it does; FOLDER has its log: one line for each start and each message.
SERVER = """
import json, os, sys, time
mode, folder = os.environ["MODE"], os.environ["FOLDER"]
log = open(folder + "/log", "a", buffering=1)
log.write(json.dumps({"started": time.time()}) + "\\n")
is_legacy = mode.startswith("legacy")
announced = {"listChanged": True}
capabilities = {"tools": announced, "prompts": announced, "resources": announced}
held = []
streams = 0

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def notify(method, **params):
    say(method="notifications/" + method, params=params)

def changed():
    return os.path.exists(folder + "/changed")

def tools():
    names = ["act", "ask_many", "roots"] + (["fresh"] if changed() else [])
    return [{"name": name, "inputSchema": {"type": "object"}} for name in names]

def prompt():
    required = ["name", "tone"] if changed() else ["name"]
    return {"name": "greet", "arguments": [{"name": name, "required": True} for name in required]}

def answer(message, result):
    say(id=message["id"], result=result)

def call(message):
    params = message["params"]
    name, text = params["name"], lambda words: {"content": [{"type": "text", "text": words}]}
    if name == "act":
        open(folder + "/changed", "w").close()
        if params["arguments"].get("announce"):
            for what in ("prompts", "resources"):
                notify(what + "/list_changed")
        return answer(message, text("done"))
    if name == "roots" and not is_legacy:
        if "inputResponses" not in params:
            wanted = {"r": {"method": "roots/list", "params": {}}}
            return answer(message, {"resultType": "input_required", "inputRequests": wanted, "requestState": "s"})
        return answer(message, text(json.dumps(params["inputResponses"]["r"])))
    if name == "roots":
        say(id="roots", method="roots/list")
        return answer(message, text(json.dumps(reply()["result"])))
    if name == "ask_many":
        form = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}
        for number in range(50):
            say(id=f"q{number}", method="elicitation/create", params=form)
        actions = []
        while len(actions) < 50:
            actions.append(reply()["result"]["action"])
            if len(actions) == 30:
                open(folder + "/declined", "w").close()
        return answer(message, text(" ".join(actions)))

def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    log.write(line)
    return json.loads(line)

def reply():
    while "method" in (message := read()):
        handle(message)
    return message

def handle(message):
    global streams
    method = message["method"]
    if "id" not in message:
        return
    if method == "server/discover" and is_legacy:
        say(id=message["id"], error={"code": -32601, "message": "Method not found"})
    elif method == "server/discover":
        answer(message, {"supportedVersions": ["2026-07-28"], "capabilities": capabilities})
    elif method == "initialize":
        info = {"name": "t", "version": "1"}
        answer(message, {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info})
    elif method == "tools/list":
        answer(message, {"tools": tools(), "ttlMs": 3600000})
        if mode.endswith("crashes"):
            notify("tools/list_changed")
            sys.exit(3)
        if mode.endswith("unsure"):
            notify("tools/list_changed")
    elif method == "prompts/list":
        answer(message, {"prompts": [prompt()]})
    elif method == "prompts/get":
        answer(message, {"messages": []})
    elif method == "resources/list":
        answer(message, {"resources": [{"uri": "note://new" if changed() else "note://old", "name": "n"}]})
    elif method == "resources/read":
        answer(message, {"contents": [{"uri": message["params"]["uri"], "text": "t"}]})
    elif method == "subscriptions/listen":
        streams += 1
        notify("subscriptions/acknowledged", _meta={"io.modelcontextprotocol/subscriptionId": message["id"]})
        if mode == "modern drops" and streams == 1:
            open(folder + "/changed", "w").close()
            answer(message, {"resultType": "complete"})
    elif method == "tools/call":
        call(message)
    else:
        say(id=message["id"], error={"code": -32601, "message": "Method not found"})

while True:
    message = read()
    if "method" in message:
        handle(message)
"""


class Scripted:
    """A server with a mode, and what it has seen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def serve(self, mode: str) -> dict[str, Any]:
        env = {"MODE": mode, "FOLDER": str(self.folder)}
        return {"command": sys.executable, "args": ["-c", SERVER], "env": env}

    def log(self) -> list[dict[str, Any]]:
        path = self.folder / "log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def starts(self) -> list[float]:
        return [line["started"] for line in self.log() if "started" in line]

    def sent(self, method: str) -> list[dict[str, Any]]:
        return [line["params"] for line in self.log() if line.get("method") == method]


@pytest.fixture
def scripted(tmp_path: Path) -> Scripted:
    return Scripted(tmp_path)


def state(hub: ToolHub) -> str:
    return hub.servers()[0].state


@pytest.mark.parametrize("mode", ["modern crashes", "legacy crashes", "modern unsure"])
async def test_a_server_is_started_for_its_list_three_times_in_ten_seconds_at_most(
    hub: ToolHub, scripted: Scripted, mode: str, until: Callable[..., Any]
) -> None:
    """It announces a change of its list and is gone: crashed, or closed for idleness. Calls of unknown tools look for them."""
    idle = {"idle_timeout": 0.05} if mode.endswith("unsure") else {}
    hub.add_server("s", **scripted.serve(mode), **idle)
    for _ in range(40):
        result = await hub.execute("missing")
        assert result.kind == "not_found", result.error
        await until(lambda: state(hub) not in ("connected", "connecting"))
    starts = scripted.starts()
    assert starts
    for first in starts:
        assert len([at for at in starts if first <= at < first + 10]) <= 3, starts


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_listening_for_changes_does_not_keep_a_server_alive(
    hub: ToolHub, scripted: Scripted, era: str, until: Callable[..., Any]
) -> None:
    hub.add_server("s", **scripted.serve(era), idle_timeout=0.3)
    await hub.connect(["s"])
    if era == "modern":
        await until(lambda: scripted.sent("subscriptions/listen"))
    await until(lambda: state(hub) == "disconnected")
    # The next call starts it again, and lists what it has by then.
    (scripted.folder / "changed").touch()
    assert (await hub.execute("act", server="s")).success
    await until(lambda: "fresh" in hub)


async def test_a_subscription_that_ends_is_made_again_and_the_list_is_fetched_again(
    hub: ToolHub, scripted: Scripted, until: Callable[..., Any]
) -> None:
    """The tools change while nothing listens; no change is ever announced."""
    hub.add_server("s", **scripted.serve("modern drops"))
    await hub.connect(["s"])
    await until(lambda: "fresh" in hub)
    assert len(scripted.sent("subscriptions/listen")) >= 2


async def test_a_modern_server_is_asked_for_all_the_changes_that_it_announces(
    hub: ToolHub, scripted: Scripted, until: Callable[..., Any]
) -> None:
    hub.add_server("s", **scripted.serve("modern"))
    await hub.connect(["s"])
    (params,) = await until(lambda: scripted.sent("subscriptions/listen"))
    wanted = {"toolsListChanged": True, "resourcesListChanged": True, "promptsListChanged": True}
    assert params["notifications"] == wanted


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_prompts_and_resources_are_listed_again_after_a_change(
    hub: ToolHub, scripted: Scripted, era: str
) -> None:
    hub.add_server("s", **scripted.serve(era))
    assert (await hub.prompts.get("greet", {"name": "Ada"})).messages == []
    (content,) = await hub.resources.read("note://old")
    assert content.text == "t"
    assert (await hub.execute("act", {"announce": True}, server="s")).success
    # The old lists knew neither the second argument nor the new address.
    from toolhub import InvalidArguments, ToolNotFound

    with pytest.raises(InvalidArguments, match="needs the argument 'tone'"):
        await hub.prompts.get("greet", {"name": "Ada"})
    with pytest.raises(ToolNotFound, match="No server lists the resource 'note://old'"):
        await hub.resources.read("note://old")
    assert [one.uri for one in await hub.resources.list()] == ["note://new"]


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_the_roots_of_the_configuration_are_given_in_both_eras(
    hub: ToolHub, scripted: Scripted, era: str, tmp_path: Path
) -> None:
    hub.add_server("s", **scripted.serve(era), roots=[tmp_path.as_uri()])
    result = await hub.execute("roots", server="s")
    assert json.loads(result.text) == {"roots": [{"uri": tmp_path.as_uri()}]}
    declared = (
        scripted.sent("initialize")[0]["capabilities"]
        if era == "legacy"
        else scripted.sent("tools/call")[0]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    )
    assert declared["roots"] == {}


async def test_at_most_20_questions_of_an_older_server_wait_for_a_person(
    scripted: Scripted, until: Callable[..., Any]
) -> None:
    asked: list[Any] = []
    declined = scripted.folder / "declined"

    async def person(*_: Any) -> dict[str, Any]:
        asked.append(1)
        await until(declined.exists)
        return {"action": "accept", "content": {"name": "Ada"}}

    async with ToolHub(elicitation=person) as hub:
        hub.add_server("s", **scripted.serve("legacy"))
        result = await hub.execute("ask_many", server="s")
    assert result.success, result.error
    assert sorted(result.text.split()) == ["accept"] * 20 + ["decline"] * 30
    assert len(asked) == 20
