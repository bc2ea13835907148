"""The state of a row is a fact, never a text: what a tool or a server says does not decide whether an effect is repeated."""

import sys
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub
from toolhub.ledger import LedgerRow

SERVER = """
import json, sys
ANSWERS = {
    "text": {"result": {"content": [{"type": "text", "text": "not_sent: no funds"}], "isError": True}},
    "refused": {"error": {"code": -32602, "message": "unknown account"}},
}
def answer(id, **body):
    print(json.dumps({"jsonrpc": "2.0", "id": id, **body}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "bank", "version": "1"}
        answer(message["id"], result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
    elif message["method"] == "tools/list":
        tool = {"name": "pay", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}}
        answer(message["id"], result={"tools": [tool]})
    elif message["method"] == "tools/call":
        with open(sys.argv[2], "a") as file:
            file.write("paid\\n")
        answer(message["id"], **ANSWERS[sys.argv[1]])
    else:
        answer(message["id"], error={"code": -32601, "message": "no"})
"""


@pytest.mark.parametrize(
    "text", ["declined", "not_sent to the second bank", "not_sent: no funds", "not_sent"]
)
def test_the_text_of_a_tool_does_not_repeat_its_effect(tmp_path: Path, text: str) -> None:
    paid: list[int] = []

    def pay(amount: int) -> dict[str, Any]:
        paid.append(amount)
        return {"success": False, "error": text}

    rows: list[LedgerRow] = []
    for _ in range(3):
        with ToolHub(store=tmp_path / "store.db") as hub:
            hub.register(pay, effects=True)
            assert not hub.call("pay", {"amount": 5}, run="monday").success
            rows = hub.ledger("monday")
    assert paid == [5]
    assert [(row.state, row.repeatable) for row in rows] == [("failed", False)]


def paid_by_server(tmp_path: Path, answer: str, lives: int, effects: int) -> list[LedgerRow]:
    """The rows of a run that was started `lives` times, and in which the server was called `effects` times."""
    script, log = tmp_path / "bank.py", tmp_path / "log"
    script.write_text(SERVER)
    server = {"command": sys.executable, "args": [str(script), answer, str(log)]}
    rows: list[LedgerRow] = []
    for _ in range(lives):
        with ToolHub({"mcpServers": {"bank": server}}, store=tmp_path / "store.db") as hub:
            assert not hub.call("pay", {"amount": 5}, run="monday").success
            rows = hub.ledger("monday")
    assert log.read_text().count("paid") == len(rows) == effects
    return rows


def test_the_text_of_a_server_does_not_repeat_its_effect(tmp_path: Path) -> None:
    (row,) = paid_by_server(tmp_path, "text", 3, effects=1)
    assert (row.state, row.repeatable) == ("failed", False)


def test_a_refusal_proves_that_nothing_happened_although_it_was_sent(tmp_path: Path) -> None:
    for row in paid_by_server(tmp_path, "refused", 2, effects=2):
        assert (row.state, row.repeatable) == ("failed", True)


def test_what_was_not_sent_is_made_again(tmp_path: Path) -> None:
    """A server that cannot be started: its attempt has a row, of which nothing was sent."""
    missing = {"mcpServers": {"bank": {"command": str(tmp_path / "missing"), "args": []}}}
    script, log = tmp_path / "bank.py", tmp_path / "log"
    script.write_text(SERVER)
    there = {"mcpServers": {"bank": {"command": sys.executable, "args": [str(script), "text", str(log)]}}}
    with ToolHub(there, store=tmp_path / "store.db") as hub:
        hub.connect_sync()
    with ToolHub(missing, store=tmp_path / "store.db") as hub:
        assert not hub.call("pay", {"amount": 5}, server="bank", run="monday").success
        assert [row for row in hub.ledger("monday") if row.state != "not_sent"] == []
    with ToolHub(there, store=tmp_path / "store.db") as hub:
        assert not hub.call("pay", {"amount": 5}, server="bank", run="monday").success
        assert [row.state for row in hub.ledger("monday")][-1] == "failed"
    assert log.read_text() == "paid\n"
