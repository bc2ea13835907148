"""Runs whose store was lost, runs that two hubs want, rows that nobody may decide about, and names that are no text."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from toolhub import ToolError, ToolHub, ToolResult


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hub.db"


@pytest.fixture
def sent() -> list[str]:
    return []


@pytest.fixture
def opened(path: Path, sent: list[str]) -> Callable[[], ToolHub]:
    def make() -> ToolHub:
        hub = ToolHub(store=path)
        hub.register(lambda to: sent.append(to) or "sent", name="send_mail")
        return hub

    return make


def damage(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"garbage!" * 64)


def remove(path: Path) -> None:
    path.unlink()


def accept(path: Path) -> str:
    command = [sys.executable, "-m", "toolhub", "store", "accept", "--store", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stderr


def noted(path: Path) -> tuple[str, int]:
    """What stands beside a store: its id, and the number of its changes."""
    id, changes = path.with_name("hub.db.id").read_text().split()
    return id, int(changes)


def kept(path: Path) -> tuple[str, int]:
    """The same, as the store has it."""
    with contextlib.closing(sqlite3.connect(path)) as file:
        return file.execute("SELECT id, changes FROM store").fetchone()


def test_nothing_is_sent_beside_a_damaged_store(
    path: Path, opened: Callable[[], ToolHub], sent: list[str]
) -> None:
    with opened() as hub:
        assert hub.call("send_mail", {"to": "ann"}, run="monday").success
    damage(path)
    with opened() as hub:
        for options in ({"run": "monday"}, {"run": "tuesday"}, {}):
            refused = hub.call("send_mail", {"to": "ann"}, **options)
            assert refused.kind == "not_allowed"
            assert "it is not a database" in str(refused.error) or "it is damaged" in str(refused.error)
    assert sent == ["ann"]


def test_a_run_whose_store_was_lost_does_nothing_again(
    path: Path, opened: Callable[[], ToolHub], sent: list[str]
) -> None:
    with opened() as hub:
        assert hub.call("send_mail", {"to": "ann"}, run="monday").success
    remove(path)
    for _ in range(2):
        with opened() as hub:
            for run in ("monday", "tuesday"):
                refused = hub.call("send_mail", {"to": "ann"}, run=run)
                assert refused.kind == "not_allowed"
                assert f"the store of run '{run}' was lost, damaged or replaced" in str(refused.error)
            with pytest.raises(ToolError, match="cannot be resumed: the store of run 'monday' was lost"):
                hub.resume("monday")
            # Calls without a run go on.
            assert hub.call("send_mail", {"to": "bob"}).success
    assert f"accepted {path}" in accept(path)
    assert "there is nothing to accept" in accept(path)
    with opened() as hub:
        assert hub.call("send_mail", {"to": "cem"}, run="tuesday").success
    assert sent == ["ann", "bob", "bob", "cem"]
    assert noted(path) == kept(path)


@pytest.mark.parametrize("beside", ["", "garbage", "0" * 54], ids=["emptied", "garbage", "zeros"])
def test_a_line_that_cannot_be_read_tells_of_another_store(
    path: Path, opened: Callable[[], ToolHub], beside: str
) -> None:
    with opened() as hub:
        hub.call("send_mail", {"to": "ann"}, run="monday")
    path.with_name("hub.db.id").write_text(beside)
    with opened() as hub:
        assert hub.call("send_mail", {"to": "ann"}, run="tuesday").success == (beside == "")
    accept(path)
    with opened() as hub:
        assert hub.call("send_mail", {"to": "ann"}, run="wednesday").success


@pytest.mark.parametrize("again", [["ann", "bob"], ["bob"]], ids=["all", "the new one"])
def test_an_older_copy_of_the_store_does_nothing_again(
    path: Path, tmp_path: Path, opened: Callable[[], ToolHub], sent: list[str], again: list[str]
) -> None:
    with opened() as hub:
        hub.call("send_mail", {"to": "ann"}, run="monday")
        hub.call("send_mail", {"to": "ann"}, run="tuesday")
    shutil.copy(path, tmp_path / "copy.db")
    for _ in range(2):
        # The second time everything is replayed, and the run can be resumed as before.
        with opened() as hub:
            hub.resume("monday")
            assert all(hub.call("send_mail", {"to": to}, run="monday").success for to in ("ann", "bob"))
    shutil.copy(tmp_path / "copy.db", path)

    def refused() -> None:
        with opened() as hub:
            for to in again:
                result = hub.call("send_mail", {"to": to}, run="monday")
                assert result.kind == "not_allowed"
                assert "the store of run 'monday' was lost" in str(result.error)
            with pytest.raises(ToolError, match="cannot be resumed: the store of run 'monday' was lost"):
                hub.resume("monday")

    refused()
    accept(path)
    # Nobody knows how far the runs of the copy went on, and another one may begin.
    refused()
    with opened() as hub:
        assert hub.call("send_mail", {"to": "cem"}, run="wednesday").success
    assert sent == ["ann", "ann", "bob", "cem"]


def test_several_hubs_keep_one_line_that_never_goes_back(
    path: Path, opened: Callable[[], ToolHub], sent: list[str]
) -> None:
    with opened() as hub:
        hub.call("send_mail", {"to": "ann"}, run="monday")
    size = path.with_name("hub.db.id").stat().st_size
    seen: list[list[tuple[str, int]]] = [[], [], []]

    def work(number: int) -> None:
        with opened() as hub:
            for call in range(20):
                assert hub.call("send_mail", {"to": str(call)}, run=f"run {number}").success
                seen[number].append(noted(path))

    threads = [threading.Thread(target=work, args=[number]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sent) == 61
    assert all(lines == sorted(lines) and len(lines) == 20 for lines in seen)
    assert noted(path) == kept(path)
    assert path.with_name("hub.db.id").stat().st_size == size
    assert "there is nothing to accept" in accept(path)


def test_an_approval_that_was_used_is_used_in_an_older_copy_too(
    path: Path, tmp_path: Path, opened: Callable[[], ToolHub], sent: list[str]
) -> None:
    def ask() -> ToolResult:
        with opened() as hub:
            text = '<tool_call>{"name": "send_mail", "arguments": {"to": "ann"}}</tool_call>'
            return hub.run_sync(text, approve="ask").results[0]

    asked = ask().paused
    assert asked is not None
    with opened() as hub:
        hub.approve(asked)
    shutil.copy(path, tmp_path / "copy.db")
    assert ask().success
    shutil.copy(tmp_path / "copy.db", path)
    refused = ask()
    assert (refused.success, refused.paused) == (False, None)
    assert "it is not the store that was here before, or an older copy of it" in str(refused.error)
    with opened() as hub, pytest.raises(OSError, match="it is not the store that was here before"):
        hub.approve(asked)
    accept(path)
    assert ask().paused not in (None, asked), "a new question"
    assert sent == ["ann"]


def test_a_second_hub_of_this_process_is_told_so(opened: Callable[[], ToolHub]) -> None:
    with opened() as one, opened() as other:
        assert one.call("send_mail", {"to": "ann"}, run="monday").success
        refused = other.call("send_mail", {"to": "ann"}, run="monday")
        assert "another hub, in this process or another one, is working on run 'monday'" in str(refused.error)


@pytest.mark.parametrize("decision", ["done", "failed", "again"])
def test_what_is_known_is_not_settled(opened: Callable[[], ToolHub], sent: list[str], decision: str) -> None:
    with opened() as hub:
        hub.register(lambda: 1 / 0, name="fail")
        assert hub.call("send_mail", {"to": "ann"}, run="monday").success
        assert not hub.call("fail", run="monday").success
        for row in hub.ledger("monday", state="done"):
            with pytest.raises(ToolError, match="only such a row can be settled"):
                hub.settle(row.id, decision)  # type: ignore[arg-type]
    with opened() as hub:
        assert hub.call("send_mail", {"to": "ann"}, run="monday").meta["replayed"]
        assert [row.state for row in hub.ledger("monday", tool="send_mail")] == ["done"]
    assert sent == ["ann"]


def test_a_done_call_is_settled_when_its_tool_has_changed(path: Path) -> None:
    done = list[str]()
    for description in ("Send it.", "Send it now."):
        with ToolHub(store=path) as hub:
            hub.register(lambda: done.append("x"), name="send", description=description)
            held = hub.call("send", run="r")
            if held.kind == "paused":
                hub.settle(hub.ledger("r")[0].id, "again")
                assert hub.call("send", run="r").success
    assert done == ["x", "x"]


def test_a_name_that_is_no_text_is_refused(opened: Callable[[], ToolHub]) -> None:
    with opened() as hub:
        for use in (
            lambda run: hub.call("send_mail", {"to": "ann"}, run=run),
            hub.resume,
            hub.ledger,
        ):
            with pytest.raises(ValueError, match=r"run must be Unicode text, got '\\xe9\\ud800' with a lone"):
                use("é\ud800")
