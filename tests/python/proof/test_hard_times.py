"""The ledger in hard times: a full disk, a fork, and callers that must not see each other."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.gateway import call, served
from toolhub import ToolError, ToolHub

FULL = """
import json, resource, sys
from toolhub import ToolHub

_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
def disk(is_full):
    resource.setrlimit(resource.RLIMIT_FSIZE, (0 if is_full else most, most))

done, told = [], {}
def opened(name, **options):
    hub = ToolHub(store=f"{sys.argv[1]}/{name}.db", **options)
    hub.register(lambda to: done.append(to) or "sent", name="send_mail")
    hub.register(lambda: len(done), name="count", read_only=True)
    hub.register(lambda to: disk(True) or done.append(to) or "sent", name="send_and_fill")
    assert hub.call("send_mail", {"to": f"{name} before"}).success
    return hub

def brief(result):
    return [result.success, str(result.error), result.meta.get("error", {}).get("outcome")]

hub, free = opened("strict"), opened("free", ledger="optional")
disk(True)
told["refused"] = brief(hub.call("send_mail", {"to": "strict full"}))
told["in a run"] = brief(hub.call("send_mail", {"to": "run full"}, run="r"))
told["read"] = hub.call("count").success
told["free"] = brief(free.call("send_mail", {"to": "free full"}))
disk(False)
told["after"] = brief(hub.call("send_mail", {"to": "strict after"}))
told["filled meanwhile"] = brief(hub.call("send_and_fill", {"to": "filling"}, run="f"))
disk(False)
with hub.resume("f"):
    told["again"] = brief(hub.call("send_and_fill", {"to": "filling"}, run="f"))
told["done"] = done
hub.close()
free.close()
again = ToolHub(store=f"{sys.argv[1]}/strict.db")
told["rows"] = [[row.tool, row.state] for row in again.ledger()]
again.close()
print(json.dumps(told))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit for the size of files")
def test_on_a_full_disk_nothing_is_sent_and_nothing_happens_twice(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, timeout=100, check=False
    )
    assert ended.returncode == 0, ended.stderr
    told: dict[str, Any] = json.loads(ended.stdout)
    for refused in (told["refused"], told["in a run"]):
        assert refused[0] is False
        assert "was not called" in refused[1]
        assert refused[2] == "not_sent"
    assert told["read"] is True
    assert told["free"][0] is True
    assert told["after"][0] is True
    # Its end was written when there was room again: the run knows it, and does not make it again.
    assert told["filled meanwhile"][0] is True
    assert told["again"][0] is True
    assert told["done"] == ["strict before", "free before", "free full", "strict after", "filling"]
    assert [tool for tool, _ in told["rows"]] == ["send_mail", "send_mail", "send_and_fill"]
    assert told["rows"][-1][1] == "done"


FORK = """
import os, signal, sys
from toolhub import ToolHub

hub = ToolHub(store=sys.argv[1])

@hub.tool
def send() -> None:
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            hub.call("send", run="r")
        except BaseException as error:
            refusal = f"{type(error).__name__}: {error}"
        with ToolHub(store=sys.argv[1]) as own:
            own.register(lambda: "own", name="greet")
            said = own.call("greet").result
            states = [row.state for row in own.ledger(tool="send")]
        print(os.getpid(), said, states, refusal, sep="|", flush=True)
        os.write(go, b"x")
        while True:
            signal.pause()
    os.read(ready, 1)
    os.kill(os.getpid(), signal.SIGKILL)

hub.call("send", run="r")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_that_outlives_its_parent_does_not_keep_its_rows_alive(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with subprocess.Popen([sys.executable, "-c", FORK, path], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child, said, states, refusal = parent.stdout.readline().rstrip().split("|")
        parent.wait(timeout=60)
        try:
            assert parent.returncode == -signal.SIGKILL
            assert said == "own"
            assert states == "['started']"  # the parent was at it
            assert "fork" in refusal
            with ToolHub(store=path) as hub:
                assert [row.state for row in hub.ledger("r")] == ["unknown"]
        finally:
            os.kill(int(child), signal.SIGKILL)


def test_a_call_is_denied_on_the_command_line(tmp_path: Path) -> None:
    path, done = tmp_path / "store.db", list[str]()

    def asked() -> Any:
        with ToolHub(store=path) as hub:
            hub.register(done.append, name="send_mail", parameters={"type": "object"})
            message = '<tool_call>{"name": "send_mail", "arguments": {"to": "ann"}}</tool_call>'
            return hub.run_sync(message, approve="ask").results[0]

    waiting = asked()
    command = [
        sys.executable,
        "-m",
        "toolhub",
        "deny",
        waiting.paused,
        "--reason",
        "not on Mondays",
        "--store",
        path,
    ]
    denied = subprocess.run(command, capture_output=True, text=True, check=True)
    assert waiting.paused in denied.stdout + denied.stderr
    refused = asked()
    assert refused.kind == "not_allowed"
    assert "not on Mondays" in str(refused.error)
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 5
    assert "was already denied" in again.stderr
    assert done == []


TOKENS = {"ann": "token-of-ann", "bob": "token-of-bob"}


@pytest.mark.anyio
async def test_another_caller_neither_sees_nor_decides(tmp_path: Path) -> None:
    sent: list[str] = []
    async with ToolHub(store=tmp_path / "store.db") as hub:
        hub.register(lambda to: sent.append(to) or f"sent {to}", name="send_mail")

        @hub.tool
        async def ask_for(to: str) -> str:
            """Send a mail after an approval."""
            message = f'<tool_call>{{"name": "send_mail", "arguments": {{"to": "{to}"}}}}</tool_call>'
            result = (await hub.run(message, approve="ask")).results[0]
            return result.paused or str(result.result)

        @hub.tool(read_only=True)
        def seen(principal: str = "") -> str:
            """What this caller sees."""
            rows = hub.ledger(principal=principal) if principal else hub.ledger()
            waiting = hub.pending(principal) if principal else hub.pending()
            return json.dumps([sorted({row.principal for row in rows}), [one.id for one in waiting]])

        @hub.tool(read_only=True)
        def decide(what: str, id: str) -> str:
            """Decide about a call or a row."""
            try:
                hub.settle(id, "done") if what == "settle" else getattr(hub, what)(id)
            except ToolError as error:
                return f"{error.kind}"
            return "done"

        async with served(hub, token=TOKENS) as at:

            async def said(tool: str, who: str, **args: str) -> Any:
                return (await call(at.url, tool, TOKENS[who], **args)).content

            waiting = await said("ask_for", "ann", to="x")
            row = next(row for row in await asyncio.to_thread(hub.ledger) if row.tool == "ask_for")
            ann = row.principal
            assert "ann" in ann
            for principal in ("", ann):
                rows, questions = json.loads(await said("seen", "bob", principal=principal))
                assert ann not in rows
                assert questions == []
            for what, id in (("approve", waiting), ("deny", waiting), ("settle", row.id)):
                assert await said("decide", "bob", what=what, id=id) == "not_found"
            # The same call of another caller is another call, before and after the approval.
            assert await said("ask_for", "bob", to="x") != waiting
            assert json.loads(await said("seen", "ann"))[1] == [waiting]
            assert await said("decide", "ann", what="approve", id=waiting) == "done"
            assert await said("ask_for", "bob", to="x") not in (waiting, "sent x")
            assert sent == []
            assert await said("ask_for", "ann", to="x") == "sent x"
    assert sent == ["x"]
