"""The audit log of a served hub: a call that may act is in it before it is sent, and a slow disk holds up nobody else."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from support import wire

PROGRAM = """
import pathlib, sys
from toolhub import ToolHub

audit, marker = map(pathlib.Path, sys.argv[1:3])
hub = ToolHub()

def log():
    return audit.read_text() if audit.is_file() else ""

@hub.tool
def pay(amount: int) -> str:
    "Pay."
    marker.touch()
    return log()

@hub.tool(read_only=True)
def balance() -> str:
    "Look."
    return log()

def ready(serving):
    print(f"serving at {serving.url}", file=sys.stderr, flush=True)

hub.serve("http", port=0, ready=ready, audit=audit)
"""

TRACE = "0af7651916cd43dd8448eb211c80319c"


@pytest.fixture(autouse=True)
def traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(wire.META, "traceparent", f"00-{TRACE}-b7ad6b7169203331-01")


def lines_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_call_that_may_act_is_in_the_log_before_it_is_sent(tmp_path: Path) -> None:
    audit = tmp_path / "audit.ndjson"
    with wire.running("-c", PROGRAM, str(audit), str(tmp_path / "paid")) as program:
        url = program.url
        seen = lines_of(wire.call(url, "pay", {"amount": 7}))
        assert [(line["type"], line["tool"], line["outcome"]) for line in seen] == [("begin", "pay", "begun")]
        begin, end = lines_of(audit.read_text())
        assert begin == seen[0]
        assert (end["type"], end["outcome"], end["candidate"]) == ("call", "ok", "tools")
        for field in ("call", "trace", "principal", "view", "candidate", "arguments"):
            assert begin[field] == end[field], field
        assert begin["trace"] == TRACE

        # A refused call was never sent, and a harmless one has one line: its answer waits for it.
        wire.call(url, "pay", {"amount": "much"})
        assert [line["type"] for line in lines_of(wire.call(url, "balance"))] == ["begin", "call", "call"]
        *_, last = lines_of(audit.read_text())
        assert (last["type"], last["tool"], last["outcome"]) == ("call", "balance", "ok")
        assert last["call"] > end["call"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that takes nothing")
def test_without_its_line_a_call_is_refused_and_reads_are_answered(tmp_path: Path) -> None:
    marker = tmp_path / "paid"
    with wire.running("-c", PROGRAM, "/dev/full", str(marker)) as program:
        url = program.url
        refused = wire.call(url, "pay", {"amount": 7})
        assert "The audit log '/dev/full' cannot be written" in str(refused)
        assert "Tool 'pay' was not called." in str(refused)
        assert not marker.exists()
        assert wire.call(url, "balance") == ""
        # The beginning and the end of the one, and the line of the other.
        assert "\ntoolhub_gateway_audit_lost_total 3\n" in wire.page(url, "/metrics")


def test_a_disk_that_hangs_holds_up_only_calls_that_may_act(tmp_path: Path) -> None:
    audit, marker = tmp_path / "audit.pipe", tmp_path / "paid"
    os.mkfifo(audit)
    pipe = os.open(audit, os.O_RDWR | os.O_NONBLOCK)
    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
    os.write(pipe, b"x" * 4096)
    paid = dict[str, Any]()

    def pay() -> None:
        paid["answer"] = wire.call(url, "pay", {"amount": 7})

    with wire.running("-c", PROGRAM, str(audit), str(marker)) as program:
        url = program.url
        paying = threading.Thread(target=pay)
        paying.start()
        for _ in range(3):
            assert wire.call(url, "balance") == ""
            assert wire.get(url, "/healthz") == 200
        assert not marker.exists()
        os.set_blocking(pipe, True)
        written = b""
        while not marker.exists() or b'"type":"call","tool":"pay"' not in written:
            written += os.read(pipe, 65_536)
        paying.join(wire.PATIENCE)
        assert paid["answer"] == ""
    os.close(pipe)
    order = [(line["type"], line["tool"]) for line in lines_of(written.decode().lstrip("x"))]
    assert order.index(("begin", "pay")) < order.index(("call", "pay"))
    assert order.count(("call", "balance")) == 3
