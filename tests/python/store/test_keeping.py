"""A hub with a store: what comes back, and the warning when the file cannot be used."""

from __future__ import annotations

import gc
import json
import logging
import os
import sqlite3
import threading
from pathlib import Path

import pytest

from toolhub import ToolError, ToolHub


def broken(text: str) -> str:
    raise ValueError(text)


def test_statistics_come_back(tmp_path: Path) -> None:
    with ToolHub(store=tmp_path / "hub.db") as hub:
        hub.register(len, name="length")
        hub.register(broken)
        for _ in range(3):
            hub.call("length", {"obj": "abc"})
        hub.call("broken", "no")
        before = hub.stats()
    with ToolHub(store=str(tmp_path / "hub.db")) as hub:
        hub.register(len, name="length")
        hub.register(broken)
        after = hub.stats()
        assert after["length"][0]["successes"] == 3
        assert after["broken"][0]["failures"] == {"tool_error": 1}
        for name in ("length", "broken"):
            for key in ("success_rate", "success_ewma", "latency_ewma_ms", "latency_p95_ms"):
                assert after[name][0][key] == pytest.approx(before[name][0][key])
            # The file has microseconds.
            assert after[name][0]["last_success"] == pytest.approx(before[name][0]["last_success"], abs=1e-5)
        hub.call("length", {"obj": "abc"})
        assert hub.stats("length")["length"][0]["calls"] == 4


def test_rows_are_a_table(tmp_path: Path) -> None:
    hub = ToolHub()
    hub.register(len, name="length")
    hub.register(broken)
    hub.call("length", {"obj": "abc"})
    hub.call("broken", "no")
    hub.call("broken", {"wrong": 1})
    rows = hub.stats(rows=True)
    assert [row["tool"] for row in rows] == ["length", "broken"]
    assert len({tuple(row) for row in rows}) == 1, "all rows have the same columns"
    assert not any(isinstance(value, dict | list) for row in rows for value in row.values())
    assert [row["failures"] for row in rows] == [0, 1]
    assert [row["failures.tool_error"] for row in rows] == [0, 1]
    assert hub.stats("length", rows=True) == [
        {key: value for key, value in rows[0].items() if not key.startswith("failures.")}
    ]


def test_without_a_store_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for store in (None, ":memory:", Path(":memory:")):
        with ToolHub(store=store) as hub:
            hub.register(len, name="length")
            hub.call("length", {"obj": "abc"})
            assert hub.flush()
    assert list(tmp_path.iterdir()) == []


def long_text(n: int) -> str:
    return f"Straße {n}: " + "x" * 5_000


def cut(hub: ToolHub, n: int) -> str:
    result = hub.call("long_text", n)
    hub.format(result)
    return result.meta["handle"]


def test_cut_results_can_be_read_on_in_the_next_process(tmp_path: Path) -> None:
    with ToolHub(store=tmp_path / "hub.db") as hub:
        hub.register(long_text)
        handle = cut(hub, 7)
    with ToolHub(store=tmp_path / "hub.db") as hub:
        assert hub.read_more(handle, 0, 9) == "Straße 7:"
        assert len(hub.read_more(handle, 0, 10_000)) == 5_010
        with pytest.raises(ToolError, match="no stored result"):
            hub.read_more("r_00000000")


def test_reading_on_does_not_wait_for_the_write_of_another_process(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    with ToolHub(store=path) as hub:
        hub.register(long_text)
        handle = cut(hub, 7)
    with ToolHub(store=path) as hub:
        hub.register(long_text)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        cut(hub, 8)
        written: list[bool] = []
        flush = threading.Thread(target=lambda: written.append(hub.flush()))
        flush.start()
        # While the write waits for the other process, all of this is read; then the other process is done.
        for _ in range(1_000):
            assert hub.read_more(handle, 0, 9) == "Straße 7:"
        other.execute("ROLLBACK")
        flush.join()
        other.close()
        assert written == [True]


def test_results_have_a_limit_and_can_be_kept_out(tmp_path: Path) -> None:
    with ToolHub(store=tmp_path / "some.db", limits={"store_results_max_bytes": 12_000}) as hub:
        hub.register(long_text)
        handles = [cut(hub, n) for n in range(4)]
    with ToolHub(store=tmp_path / "some.db") as hub:
        found = []
        for handle in handles:
            try:
                hub.read_more(handle)
                found.append(handle)
            except ToolError:
                pass
        assert found == handles[2:]
    with ToolHub(store=tmp_path / "none.db", limits={"store_results_max_bytes": 0}) as hub:
        hub.register(long_text)
        cut(hub, 1)
    assert b"xxxxxxxx" not in (tmp_path / "none.db").read_bytes()


def test_what_was_used_is_recommended(tmp_path: Path) -> None:
    def departures(town: str) -> str:
        """Trains that leave a town."""
        return town

    def timetable(town: str) -> str:
        """Trains that leave a town."""
        return town

    for life in range(2):
        with ToolHub(store=tmp_path / "hub.db") as hub:
            hub.register(departures)
            hub.register(timetable)
            if life == 0:
                hub.search("fast trains to Berlin")
                hub.call("timetable", "Berlin")
            else:
                assert hub.recommend("fast trains to Hamburg")[0].name == "timetable"


def test_a_file_that_never_was_a_store_is_left_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("My own notes, given by mistake.\n" * 100)
    before = notes.read_bytes()
    with caplog.at_level(logging.WARNING, "toolhub"), ToolHub(store=notes) as hub:
        hub.register(len, name="length", read_only=True)
        assert hub.call("length", {"obj": "abc"}).result == 3
    assert notes.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]
    assert "it is not a database and was left unchanged; give the hub its own file" in caplog.messages[0]


@pytest.mark.parametrize("content", [b"a store once", b"SQLite format 3\0" + b"\xff" * 5_000])
def test_a_damaged_file_is_left_as_it_is_and_no_effect_goes_unrecorded(
    content: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with ToolHub(store=tmp_path / "hub.db") as hub:
        hub.register(len, name="length")
        hub.call("length", {"obj": "abc"}, run="one")
    (tmp_path / "hub.db").write_bytes(content)
    with caplog.at_level(logging.WARNING, "toolhub"), ToolHub(store=tmp_path / "hub.db") as hub:
        hub.register(len, name="length", read_only=True)
        hub.register(abs, name="acts", effects=True)
        assert hub.call("length", {"obj": "abc"}).success
        refused = hub.call("acts", {"x": -1})
        assert refused.kind == "not_allowed"
        assert "the ledger in the store cannot be written" in str(refused.error)
    assert (tmp_path / "hub.db").read_bytes() == content
    (message,) = caplog.messages
    assert "stays in memory" in message
    assert message.isprintable()


def test_a_newer_file_is_left_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ToolHub(store=tmp_path / "hub.db").close()
    with sqlite3.connect(tmp_path / "hub.db") as file:
        file.execute("PRAGMA user_version = 99")
    file.close()
    content = (tmp_path / "hub.db").read_bytes()
    with caplog.at_level(logging.WARNING, "toolhub"):
        ToolHub(store=tmp_path / "hub.db").close()
    assert (tmp_path / "hub.db").read_bytes() == content
    assert "later version" in caplog.messages[0]


@pytest.mark.parametrize("place", ["folder", "/proc/nowhere/hub.db", "/dev/full", "foreign", "pipe"])
def test_a_place_that_cannot_be_used_costs_one_warning(
    place: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = Path(place) if place.startswith("/") else tmp_path / "hub.db"
    if place == "folder":
        path.mkdir()
    if place == "pipe":
        os.mkfifo(path)
    if place == "foreign":
        with sqlite3.connect(path) as file:
            file.execute("CREATE TABLE bookmarks (url TEXT)")
        file.close()
    with caplog.at_level(logging.WARNING, "toolhub"), ToolHub(store=path) as hub:
        hub.register(long_text, read_only=True)
        handle = cut(hub, 1)
        assert hub.read_more(handle, 0, 8) == "Straße 1"
        assert hub.stats("long_text")["long_text"][0]["calls"] == 1
        assert not hub.flush(), "nothing is written"
    (message,) = caplog.messages
    assert "stays in memory" in message


@pytest.mark.skipif(os.name == "nt", reason="Windows does not remove a file that is open")
@pytest.mark.parametrize("renamed", [False, True])
def test_a_file_that_is_gone_costs_one_warning_and_nothing_in_memory(
    renamed: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, backup = tmp_path / "hub.db", tmp_path / "hub.bak"
    with caplog.at_level(logging.WARNING, "toolhub"), ToolHub(store=path) as hub:
        hub.register(len, name="length", read_only=True)
        for _ in range(10):
            hub.call("length", {"obj": "abc"})
        assert hub.flush()
        if renamed:
            path.rename(backup)
        else:
            for file in tmp_path.iterdir():
                file.unlink()
        hub.call("length", {"obj": "abc"})
        assert not hub.flush(), "the hub goes on in memory"
        assert hub.stats("length")["length"][0]["calls"] == 11
        hub.register(long_text, read_only=True)
        handle = cut(hub, 1)
        assert hub.read_more(handle, 0, 8) == "Straße 1"
    (message,) = caplog.messages
    assert "removed or replaced while it was in use; this hub continues in memory" in message
    for file, calls in ((path, 0), (backup, 10 if renamed else 0)):
        with ToolHub(store=file) as hub:
            hub.register(len, name="length", read_only=True)
            assert hub.stats("length")["length"][0]["calls"] == calls


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs a list of the open files")
def test_a_closed_hub_has_no_file_open(tmp_path: Path) -> None:
    def is_open(path: Path) -> bool:
        return any(os.path.realpath(number) == str(path) for number in Path("/proc/self/fd").iterdir())

    path = tmp_path / "hub.db"
    hub = ToolHub(store=path)
    assert hub.flush()
    assert is_open(path)
    hub.close()
    assert not is_open(path)


def test_the_home_of_the_user_is_written_as_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    ToolHub(store="~/kept/hub.db").close()
    assert (tmp_path / "kept/hub.db").is_file()


def test_odd_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="store must be a path or None, got int"):
        ToolHub(store=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="store must be a path or None, got an empty text"):
        ToolHub(store="")
    with pytest.raises(ValueError, match="store must be a path or None, got the URI 'file:hub"):
        ToolHub(store="file:hub.db?mode=memory")
    with pytest.raises(ValueError, match="store_results_max_bytes must be at least 0, got -1"):
        ToolHub(store=None, limits={"store_results_max_bytes": -1})


def test_a_hub_that_was_collected_has_written(tmp_path: Path) -> None:
    hub = ToolHub(store=tmp_path / "hub.db")
    hub.register(len, name="length")
    hub.call("length", {"obj": "abc"})
    assert hub.flush()
    del hub
    gc.collect()
    with ToolHub(store=tmp_path / "hub.db") as hub:
        hub.register(len, name="length")
        assert hub.stats("length")["length"][0]["calls"] == 1


@pytest.mark.anyio
async def test_async_code(tmp_path: Path) -> None:
    for calls in (1, 2):
        async with ToolHub(store=tmp_path / "hub.db") as hub:
            hub.register(len, name="length")
            await hub.execute("length", {"obj": "abc"})
            assert hub.stats("length")["length"][0]["calls"] == calls


def test_secrets_do_not_come_into_the_file(tmp_path: Path) -> None:
    config = {
        "mcpServers": {
            "remote": {
                "url": "https://example.test/mcp?key=SECRET1",
                "headers": {"Authorization": "Bearer SECRET2"},
            },
            "local": {"command": "no-such-program", "args": ["--key", "SECRET3"], "env": {"KEY": "SECRET4"}},
        }
    }
    with ToolHub(store=tmp_path / "hub.db") as hub:
        hub.load_mcp(json.loads(json.dumps(config)))
        hub.call("anything", {}, server="local")
        hub.flush()
    assert b"SECRET" not in (tmp_path / "hub.db").read_bytes()


def test_what_a_damaged_file_holds_does_not_break_a_log_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ToolHub(store=tmp_path / "hub.db").close()
    with sqlite3.connect(tmp_path / "hub.db") as file:
        file.execute("DROP TABLE candidates")
        # SQLite quotes the definition of a table or view that is broken.
        file.execute('CREATE VIEW candidates AS SELECT * FROM "x\n\x1b[31mWARNING forged"')
    with caplog.at_level(logging.WARNING, "toolhub"), ToolHub(store=tmp_path / "hub.db") as hub:
        hub.register(len, name="length")
    (message,) = caplog.messages
    assert message.isprintable(), message
