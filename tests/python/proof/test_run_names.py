"""Runs whose store was lost, runs that two hubs want, rows that nobody may decide about, and names that are no text."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from toolhub import ToolError, ToolHub


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


@pytest.mark.parametrize("lose", [damage, remove], ids=["damaged", "removed"])
def test_a_run_whose_store_was_lost_does_nothing_again(
    path: Path, opened: Callable[[], ToolHub], sent: list[str], lose: Callable[[Path], None]
) -> None:
    with opened() as hub:
        assert hub.call("send_mail", {"to": "ann"}, run="monday").success
    lose(path)
    with opened() as hub:
        refused = hub.call("send_mail", {"to": "ann"}, run="monday")
        assert refused.kind == "not_allowed"
        assert "the store that had run 'monday' was lost, damaged or replaced" in str(refused.error)
        with pytest.raises(ToolError, match="cannot be resumed: the store that had run 'monday' was lost"):
            hub.resume("monday")
        # Other runs, and calls without one, go on.
        assert hub.call("send_mail", {"to": "bob"}, run="tuesday").success
        assert hub.call("send_mail", {"to": "cem"}).success
    assert sent == ["ann", "bob", "cem"]
    path.with_name("hub.db.runs").unlink()
    with opened() as hub:
        assert hub.call("send_mail", {"to": "ann"}, run="monday").success


def test_an_older_copy_of_the_store_does_nothing_again(
    path: Path, tmp_path: Path, opened: Callable[[], ToolHub], sent: list[str]
) -> None:
    with opened() as hub:
        hub.call("send_mail", {"to": "ann"}, run="monday")
    shutil.copy(path, tmp_path / "copy.db")
    with opened() as hub:
        hub.call("send_mail", {"to": "ann"}, run="tuesday")
    shutil.copy(tmp_path / "copy.db", path)
    with opened() as hub:
        assert hub.call("send_mail", {"to": "ann"}, run="monday").meta["replayed"]
        assert hub.call("send_mail", {"to": "ann"}, run="tuesday").kind == "not_allowed"
    assert sent == ["ann", "ann"]


@pytest.mark.parametrize("again", [["ann", "bob"], ["bob"]], ids=["all", "the new one"])
def test_an_older_copy_that_has_the_run_does_nothing_again(
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
    with opened() as hub:
        for to in again:
            refused = hub.call("send_mail", {"to": to}, run="monday")
            assert refused.kind == "not_allowed"
            assert "the store that had run 'monday'" in str(refused.error)
        with pytest.raises(ToolError, match="cannot be resumed: the store that had run 'monday' was lost"):
            hub.resume("monday")
        assert hub.call("send_mail", {"to": "bob"}, run="tuesday").success
    assert sent == ["ann", "ann", "bob", "bob"]


def test_the_notes_of_runs_do_not_grow_with_their_calls(
    path: Path, opened: Callable[[], ToolHub], sent: list[str]
) -> None:
    notes = path.with_name("hub.db.runs")
    with opened() as hub:
        hub.call("send_mail", {"to": "ann"}, run="monday")
        size = notes.stat().st_size
        calls = [("send_mail", {"to": str(number)}) for number in range(64)]
        assert all(result.success for result in hub.call_many(calls, run="monday"))
        assert len(sent) == 65
        assert notes.stat().st_size == size


def test_an_approval_that_was_used_is_used_in_an_older_copy_too(
    path: Path, tmp_path: Path, opened: Callable[[], ToolHub], sent: list[str]
) -> None:
    def ask() -> str | None:
        with opened() as hub:
            text = '<tool_call>{"name": "send_mail", "arguments": {"to": "ann"}}</tool_call>'
            return hub.run_sync(text, approve="ask").results[0].paused

    asked = ask()
    assert asked is not None
    with opened() as hub:
        hub.approve(asked)
    shutil.copy(path, tmp_path / "copy.db")
    assert ask() is None
    shutil.copy(tmp_path / "copy.db", path)
    assert ask() not in (None, asked), "a new question"
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
            with pytest.raises(ToolError, match="only one that is unknown can be"):
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
