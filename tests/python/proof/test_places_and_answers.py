"""A store that is opened through a link or cannot be written, and what rows say of failures and of answers that nobody can
read."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from toolhub import ToolHub

SECRET = "hunter2hunter2"

SERVER = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    method = request["method"]
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = json.loads(sys.argv[1])
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


def linked(folder: Path) -> Path:
    (folder / "link.db").symlink_to(folder / "real" / "hub.db")
    return folder / "link.db"


def in_a_linked_folder(folder: Path) -> Path:
    (folder / "linked").symlink_to(folder / "real")
    return folder / "linked" / "hub.db"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
@pytest.mark.parametrize("name", [linked, in_a_linked_folder], ids=lambda make: make.__name__)
def test_a_store_has_one_place_however_it_is_named(tmp_path: Path, name: Callable[[Path], Path]) -> None:
    real = tmp_path / "real" / "hub.db"
    real.parent.mkdir()
    ToolHub(store=real).close()
    other_name = name(tmp_path)
    with ToolHub(store=other_name) as one, ToolHub(store=real) as other:
        for hub in (one, other):
            hub.register(lambda: "sent", name="send")
        assert one.call("send", run="monday").success
        refused = other.call("send", run="monday")
        assert "another hub, in this process or another one, is working on run 'monday'" in str(refused.error)
    assert real.with_name("hub.db.id").exists()
    real.write_bytes(b"")
    with ToolHub(store=other_name) as hub:
        hub.register(lambda: "sent", name="send")
        assert hub.call("send", run="monday").kind == "not_allowed"
    beside = [one.name for one in other_name.parent.iterdir() if one.name.startswith(other_name.name + ".")]
    assert beside in ([], ["hub.db.id"])


def test_what_a_run_keeps_of_a_failure_has_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"

    def deploy() -> None:
        raise RuntimeError(f"login failed: https://bob:{SECRET}@db/x")

    for is_replayed in (False, True):
        with ToolHub(store=path) as hub:
            hub.register(deploy)
            result = hub.call("deploy", run="monday")
            assert "login failed" in str(result.error)
            assert result.meta.get("replayed", False) == is_replayed
            (row,) = hub.ledger("monday")
            assert row.state == "failed"
            assert "login failed" in str(row.result)
            assert SECRET not in repr(row)
    assert SECRET.encode() not in path.read_bytes()


@pytest.mark.parametrize("answer", ['"x"', "null", "[]", '{"content": "x"}'])
def test_an_answer_that_cannot_be_read_leaves_the_effect_unknown(tmp_path: Path, answer: str) -> None:
    server = {"command": sys.executable, "args": ["-c", SERVER, answer]}
    with ToolHub(store=tmp_path / "hub.db", mcp={"mcpServers": {"s": server}}) as hub:
        result = hub.call("act", run="monday")
        assert result.kind == "protocol"
        assert [row.state for row in hub.ledger("monday")] == ["unknown"]
        assert hub.call("act", run="monday").kind == "paused"


READER = """
import os, sys, warnings
from toolhub import ToolHub
import toolhub.agents
warnings.simplefilter("ignore")
ToolHub().run_sync("nothing")
if os.geteuid() == 0:
    # Rights do not hold for root.
    os.setgid(65534)
    os.setuid(65534)
with ToolHub(store=sys.argv[1]) as hub:
    hub.register(lambda: "sent", name="send")
    for run in (None, "monday", "tuesday"):
        refused = hub.call("send", run=run)
        assert refused.kind == "not_allowed", refused
        assert "writable" in str(refused.error), refused
with ToolHub(store=sys.argv[1], lang="zh") as hub:
    hub.register(lambda: "sent", name="send")
    refused = hub.call("send")
    assert "请让该文件及其所在目录可写" in str(refused.error), refused
print("all as it should be")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="rights are something else there")
def test_a_store_that_cannot_be_written_makes_no_call_with_effects() -> None:
    # Not in `tmp_path`, whose parents nobody else may read.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shelf" / "hub.db"
        with ToolHub(store=path) as hub:
            hub.register(lambda: "sent", name="send")
            hub.call("send", run="monday")
        path.chmod(0o444)
        path.parent.chmod(0o555)
        Path(folder).chmod(0o755)
        try:
            read = subprocess.run([sys.executable, "-c", READER, path], capture_output=True, text=True)
        finally:
            path.parent.chmod(0o755)
    assert read.stdout == "all as it should be\n", read.stderr
