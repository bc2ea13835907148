"""A store that another process keeps locked: calls say what they wait for, and `close` ends."""

import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub

LOCK = """
import select, sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
select.select([sys.stdin], [], [], float(sys.argv[2]))
"""


NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def send_mail(to: str) -> str:
    return f"sent to {to}"


def send_slowly(to: str) -> None:
    time.sleep(1)


@contextmanager
def locked(store: Path, seconds: float = 60.0) -> Generator["subprocess.Popen[bytes]"]:
    """Another process keeps the store locked, until it is told or for some seconds."""
    program = [sys.executable, "-c", LOCK, str(store), str(seconds)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        yield process
        process.communicate()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[ToolHub]:
    with ToolHub(store=tmp_path / "store.db") as hub:
        hub.register(send_mail)
        assert hub.call("send_mail", {"to": "ann"}, run="before").success
        yield hub


WAITING: dict[str, dict[str, Any]] = {
    "timeout": {"timeout": 0.3},
    "deadline": {"deadline": 0.3},
    "run": {"deadline": 0.3, "run": "monday"},
    "known run": {"deadline": 0.3, "run": "before"},
    "approval": {"deadline": 0.3, "approve": "ask"},
}


@pytest.mark.parametrize("kind", WAITING)
def test_a_call_that_runs_out_of_time_says_that_the_store_is_locked(
    kind: str, hub: ToolHub, tmp_path: Path
) -> None:
    with locked(tmp_path / "store.db"):
        late = hub.call("send_mail", {"to": "bob"}, **WAITING[kind])
    assert (late.kind, late.meta["error"]["outcome"]) == ("timeout", "not_sent")
    assert "other processes keep" in str(late.error), late.error
    assert "locked" in str(late.error)
    assert hub.call("send_mail", {"to": "bob"}).success
    short = hub.call("send_mail", {"to": "bob"}, deadline=0.000_001)
    assert "locked" not in str(short.error)


@pytest.mark.parametrize("way", ["call", "execute"])
@pytest.mark.parametrize("kind", ["row", "run", "approval"])
def test_a_call_without_a_deadline_may_be_made_again(
    kind: str, way: str, hub: ToolHub, tmp_path: Path
) -> None:
    """The store stays locked for longer than a call waits for it."""
    options: dict[str, Any] = {"row": {}, "run": {"run": "monday"}, "approval": {"approve": "ask"}}[kind]
    with locked(tmp_path / "store.db"):
        if way == "call":
            refused = hub.call("send_mail", {"to": "bob"}, **options)
        else:
            refused = asyncio.run(hub.execute("send_mail", {"to": "bob"}, **options))
    details = refused.meta["error"]
    assert (refused.kind, details["outcome"], details["retryable"]) == ("overloaded", "not_sent", True)
    assert "other processes keep it locked" in str(refused.error)
    again = hub.call("send_mail", {"to": "bob"}, **options)
    assert again.kind == "paused" if kind == "approval" else again.success
    (stats,) = hub.stats("send_mail")["send_mail"]
    assert stats["breaker"] == "closed"


def test_an_effect_does_not_overtake_one_that_a_locked_store_refused(hub: ToolHub, tmp_path: Path) -> None:
    done: list[int] = []
    hub.register(done.append, name="send_number", parameters=NUMBER)
    calls = [
        {"name": "send_mail", "arguments": {"to": "bob"}},
        {"name": "send_number", "arguments": {"n": 1}},
    ]
    with locked(tmp_path / "store.db"):
        text = "".join(f"<tool_call>{json.dumps(call)}</tool_call>" for call in calls)
        outcome = asyncio.run(hub.run(text, approve=lambda request: True))
    assert [result.kind for result in outcome.results] == ["overloaded", "not_sent"]
    assert done == []


def test_a_call_that_waits_for_a_slot_says_so_beside_a_store(tmp_path: Path) -> None:
    with ToolHub(store=tmp_path / "store.db", limits={"hub": 1}) as hub:
        hub.register(send_slowly, name="send_mail")

        async def both() -> list[Any]:
            calls = [hub.execute("send_mail", {"to": to}, timeout=0.3) for to in ("ann", "bob")]
            return await asyncio.gather(*calls)

        errors = [str(result.error) for result in asyncio.run(both())]
    assert sum("concurrency slot" in error for error in errors) == 1, errors
    assert not any("locked" in error for error in errors)


@pytest.mark.parametrize("way", ["close", "aclose"])
def test_close_waits_for_a_locked_store_once(way: str, tmp_path: Path) -> None:
    """Not for each of those that write to it, one after another: the lock is held for longer than the 5 s of all of them."""
    hub = ToolHub(store=tmp_path / "store.db")
    hub.register(send_mail)
    hub.register(lambda: 1, name="get_one")
    assert hub.call("send_mail", {"to": "ann"}).success
    with locked(tmp_path / "store.db", 12.0) as other:
        assert hub.call("get_one").success
        assert not hub.call("send_mail", {"to": "bob"}, deadline=0.2).success
        if way == "close":
            hub.close()
        else:
            asyncio.run(hub.aclose())
        assert other.poll() is None, "the other process has let go before"
    with sqlite3.connect(tmp_path / "store.db") as file:
        assert file.execute("SELECT count(*) FROM ledger WHERE state = 'done'").fetchone() == (1,)


@pytest.mark.parametrize("has_tried", [False, True])
@pytest.mark.parametrize("way", ["close", "aclose"])
def test_close_says_what_is_lost(
    way: str, has_tried: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hub = ToolHub(store=tmp_path / "store.db")
    hub.register(lambda: 1, name="get_one")
    with locked(tmp_path / "store.db", 12.0) as other:
        assert all(hub.call("get_one").success for _ in range(3))
        assert not (has_tried and hub.flush())
        begun = time.monotonic()
        if way == "close":
            hub.close()
        else:
            asyncio.run(hub.aclose())
        assert time.monotonic() - begun < 6
        assert other.poll() is None, "the other process has let go before"
    said = caplog.messages
    assert ["changes wait in memory" in text for text in said] == [True, False]
    assert "was closed; 3 changes in memory are lost" in said[-1]
    with ToolHub(store=tmp_path / "store.db") as hub:
        hub.register(lambda: 1, name="get_one")
        assert hub.stats("get_one")["get_one"][0]["calls"] == 0


@pytest.mark.parametrize("way", ["close", "aclose"])
def test_close_writes_as_soon_as_the_store_is_free(
    way: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hub = ToolHub(store=tmp_path / "store.db")
    hub.register(lambda: 1, name="get_one")
    with locked(tmp_path / "store.db", 3.0):
        assert hub.call("get_one").success
        if way == "close":
            hub.close()
        else:
            asyncio.run(hub.aclose())
    assert not caplog.messages
    with ToolHub(store=tmp_path / "store.db") as hub:
        hub.register(lambda: 1, name="get_one")
        assert hub.stats("get_one")["get_one"][0]["calls"] == 1
