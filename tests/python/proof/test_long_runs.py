"""Runs that are old, long or locked: kept and deleted as a whole, never begun again, never waited for longer than allowed."""

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from toolhub import ToolError, ToolHub

DAY = 86_400


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def opened(store: Path, paid: list[int]) -> ToolHub:
    hub = ToolHub(store=store)
    hub.register(lambda n: paid.append(n) or n, name="pay", effects=True)
    return hub


def age(store: Path, run: str, days: float, *, first: float = 31) -> None:
    """Lets the last call of a run be `days` ago; where calls have times of their own, they were made `first` days ago."""
    with sqlite3.connect(store) as file:
        columns = {name for _, name, *_ in file.execute("PRAGMA table_info(runs)")}
        ago = days if "changed_at" in columns else first
        table = "runs" if "changed_at" in columns else "run_calls"
        at = int((time.time() - ago * DAY) * 1e6)
        file.execute(f"UPDATE {table} SET changed_at = ? WHERE run = ?", [at, run])
    file.close()


def make_calls(hub: ToolHub, count: int) -> None:
    """As many calls as let the hub look for what is old."""
    for n in range(count):
        hub.call("pay", {"n": -n})


def test_a_run_in_use_forgets_no_call_however_old(store: Path) -> None:
    paid: list[int] = []
    with opened(store, paid) as hub:
        hub.call("pay", {"n": 1}, run="long")
    age(store, "long", 20, first=31)
    with opened(store, paid) as hub:
        assert hub.call("pay", {"n": 1}, run="long").meta["replayed"]
        assert hub.call("pay", {"n": 2}, run="long").success
        make_calls(hub, 1_000)
    with opened(store, paid) as hub:
        assert hub.call("pay", {"n": 1}, run="long").meta["replayed"]
    assert [n for n in paid if n > 0] == [1, 2]


def test_a_replayed_call_keeps_its_run(store: Path) -> None:
    paid: list[int] = []
    with opened(store, paid) as hub:
        hub.call("pay", {"n": 1}, run="long")
    for _ in range(3):
        age(store, "long", 20)
        with opened(store, paid) as hub:
            assert hub.call("pay", {"n": 1}, run="long").meta["replayed"]
    with sqlite3.connect(store) as file:
        (changed,) = file.execute("SELECT changed_at FROM runs").fetchone()
    file.close()
    assert time.time() - changed / 1e6 < DAY
    assert paid == [1]


def test_a_run_that_is_deleted_is_refused_and_never_begun_again(store: Path) -> None:
    paid: list[int] = []
    with opened(store, paid) as hub:
        for n in range(1, 4):
            hub.call("pay", {"n": n}, run="old")
        hub.call("pay", {"n": 9}, run="young")
    age(store, "old", 31)
    with opened(store, paid) as hub:
        make_calls(hub, 1_000)
        for _ in range(100):
            make_calls(hub, 1)
        assert hub.ledger("old") == []
        refused = hub.call("pay", {"n": 1}, run="old")
        assert refused.kind == "not_allowed"
        assert "the last call of run 'old' was more than 30 days ago" in str(refused.error)
        with pytest.raises(ToolError, match="more than 30 days ago"):
            hub.resume("old")
        assert hub.call("pay", {"n": 9}, run="young").meta["replayed"]
    with opened(store, paid) as hub:
        assert hub.call("pay", {"n": 1}, run="old").kind == "not_allowed"
    assert [n for n in paid if n > 0] == [1, 2, 3, 9]


def insert(store: Path, rows: Iterable[tuple[int, str]]) -> None:
    """Adds calls of an hour ago, each with its state."""
    before = int(time.time() * 1e6) - 3_600_000_000
    names = "id, call, principal, tool, source, server, definition, arguments, state, owner, started_at"
    values = (
        (f"{before + n:014x}{n:010x}", f"{n}", "", "pay", "tools", "", "", "", state, "gone", before + n)
        for n, state in rows
    )
    with sqlite3.connect(store) as file:
        file.execute("PRAGMA synchronous = off")
        file.executemany(f"INSERT INTO ledger ({names}) VALUES ({', '.join('?' * 11)})", values)
    file.close()


COUNT = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1])
for _ in sys.stdin:
    print(*file.execute("SELECT count(*) FROM ledger WHERE state = 'done'").fetchone(), flush=True)
"""


def test_the_newest_rows_without_a_run_are_kept_and_so_is_what_is_unknown(store: Path) -> None:
    with opened(store, []) as hub:
        hub.call("pay", {"n": 0})
    insert(store, ((n, "unknown" if n % 1_000 == 0 else "done") for n in range(101_000)))
    command = [sys.executable, "-c", COUNT, str(store)]
    with (
        opened(store, []) as hub,
        # In a process of its own: two SQLite libraries in one process undo each other's locks.
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as counter,
    ):
        assert counter.stdin is not None
        assert counter.stdout is not None
        hub.call("pay", {"n": 0})
        left = 101_000
        while left > 100_001:
            print(file=counter.stdin, flush=True)
            left = int(counter.stdout.readline())
        counter.stdin.close()
        assert len(hub.ledger(state="unknown")) == 101
        done = hub.ledger(state="done", limit=200_000)
    assert 100_000 <= len(done) <= 100_001
    assert done[-1].started_at > time.time() - 3_600 > done[0].started_at


def test_a_run_that_was_never_begun_cannot_be_resumed(store: Path) -> None:
    paid: list[int] = []
    with opened(store, paid) as hub:
        hub.call("pay", {"n": 1}, run="monday")
        hub.call("pay", {"n": 1}, run="payroll-11")
        with pytest.raises(
            ToolError, match=r"run 'mnday' was never begun; did you mean 'monday'\?$"
        ) as refused:
            hub.resume("mnday")
        assert refused.value.kind == "not_allowed"
        with pytest.raises(ToolError, match=r"run 'xyzzy' was never begun\.$"):
            hub.resume("xyzzy")
        # Nothing was taken by asking.
        assert hub.call("pay", {"n": 2}, run="xyzzy").success
        with hub.resume("monday") as monday:
            assert [row.state for row in monday.rows] == ["done"]
    with ToolHub() as hub, pytest.raises(ToolError, match="was never begun"):
        hub.resume("monday")


def test_approve_and_deny_say_what_became_of_an_approval(store: Path) -> None:
    message = '<tool_call>{"name": "pay", "arguments": {"n": %d}}</tool_call>'
    paid: list[int] = []
    with opened(store, paid) as hub:
        ids = [hub.run_sync(message % n, approve="ask").results[0].paused for n in range(4)]
        approved, denied, used, expired = [str(one) for one in ids]
        hub.approve(approved)
        hub.deny(denied, "no")
        hub.approve(used)
        assert hub.run_sync(message % 2, approve="ask").results[0].success
    with sqlite3.connect(store) as file:
        file.execute("UPDATE approvals SET expires_at = asked_at WHERE id = ?", [expired])
    file.close()
    with opened(store, paid) as hub:
        for decide in (hub.approve, hub.deny):
            for id, why in (
                (approved, "was already given; it waits for its call"),
                (denied, "was already denied"),
                (used, "was already used: its call was made"),
                (expired, "has expired; make the call again"),
            ):
                with pytest.raises(ToolError, match=f"Approval '{id}' {why}") as refused:
                    decide(id)
                assert refused.value.kind == "not_found"
            with pytest.raises(ToolError, match="No call waits for approval 'ffff'") as refused:
                decide("ffff")
            assert refused.value.kind == "not_found"
    assert paid == [2]


LOCK = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def locked(store: Path) -> Iterator[None]:
    """Another process that keeps the store locked, for as long as it takes."""
    command = [sys.executable, "-c", LOCK, str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        try:
            yield
        finally:
            other.communicate()


@pytest.mark.anyio
async def test_the_deadline_of_a_call_ends_its_wait_for_a_locked_store(store: Path) -> None:
    """The call that has time waits on; whatever waits as long as it does, or longer, would end after it."""
    paid: list[int] = []
    message = '<tool_call>{"name": "pay", "arguments": {"n": 4}}</tool_call>'
    with opened(store, paid) as hub:
        assert hub.call("pay", {"n": 1}, run="monday").success
        with locked(store):
            patient = asyncio.create_task(hub.execute("pay", {"n": 2}, run="monday", deadline=60))
            await asyncio.sleep(0)
            hurried = await hub.execute("pay", {"n": 3}, run="monday", deadline=0.3)
            assert hurried.kind == "timeout"
            assert hurried.meta["error"]["outcome"] == "not_sent"
            asked = await hub.run(message, approve="ask", deadline=0.3)
            assert not asked.results[0].success
            # These need no lock.
            assert [row.state for row in hub.ledger("monday")] == ["done"]
            assert hub.pending() == []
            await asyncio.sleep(0)
            assert not patient.done()
        assert (await patient).success
        assert [row.state for row in hub.ledger("monday")] == ["done", "done"]
    assert paid == [1, 2]
