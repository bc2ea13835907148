"""A replay leaves nothing for calls that are made afterwards: no call of a run, no approval, no statistics, no pins."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.gateway import call, served
from toolhub import ToolHub
from toolhub.agents import ChatLoop
from toolhub.testing import ReplayError, record, replay

SERVER = Path(__file__).parents[2] / "torture" / "ledger" / "server.py"
SEND = '<tool_call>{"name": "send_mail", "arguments": {"to": "ann"}}</tool_call>'

Opened = Callable[[], ToolHub]


@pytest.fixture
def sent() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def opened(sent: list[str], store: Path) -> Opened:
    """Makes a hub with the store and a tool with effects."""

    def make() -> ToolHub:
        hub = ToolHub(store=store)

        @hub.tool
        def send_mail(to: str) -> str:
            sent.append(to)
            return f"sent to {to}"

        return hub

    return make


@pytest.fixture
def cassette(tmp_path: Path, opened: Opened, store: Path, sent: list[str]) -> Path:
    """A recording of one call, whose traces in the store are removed."""
    path = tmp_path / "calls.ndjson"
    with opened() as hub, record(path):
        hub.call("send_mail", {"to": "ann"})
    for file in store.parent.glob("store.db*"):
        file.unlink()
    sent.clear()
    return path


def content(store: Path) -> dict[str, list[Any]]:
    """All that the store has, apart from times and its own id."""
    with sqlite3.connect(store) as connection:
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if name != "store"
        ]
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables}


def test_a_call_of_a_run_is_made_after_its_replay(
    opened: Opened, cassette: Path, sent: list[str], store: Path
) -> None:
    with opened() as hub, replay(cassette):
        assert hub.call("send_mail", {"to": "ann"}, run="monday").result == "sent to ann"
    assert not any(content(store).values())
    assert sent == []
    with opened() as hub:
        result = hub.call("send_mail", {"to": "ann"}, run="monday")
        assert "replayed" not in result.meta
        assert [(row.tool, row.state) for row in hub.ledger("monday")] == [("send_mail", "done")]
    assert sent == ["ann"]


def test_a_replay_does_not_depend_on_what_a_run_has_done(
    opened: Opened, cassette: Path, sent: list[str]
) -> None:
    with opened() as hub:
        hub.call("send_mail", {"to": "ann"}, run="monday")
        for _ in range(2):
            with replay(cassette):
                assert "replayed" not in hub.call("send_mail", {"to": "ann"}, run="monday").meta
                # In the replay too, a run does nothing twice.
                with hub.resume("monday"):
                    assert hub.call("send_mail", {"to": "ann"}, run="monday").meta["replayed"]
                assert hub.ledger("monday") == []
        assert len(hub.ledger("monday")) == 1
    assert sent == ["ann"]


def test_an_approval_is_there_after_the_replay(opened: Opened, cassette: Path, sent: list[str]) -> None:
    with opened() as hub:
        waiting = hub.run_sync(SEND, approve="ask").results[0]
        hub.approve(waiting.paused or "")
        with pytest.raises(ReplayError, match="was not made"), replay(cassette):
            # The replay asks for itself, and its question goes with it.
            assert hub.run_sync(SEND, approve="ask").results[0].kind == "paused"
            assert len(hub.pending()) == 1
        assert hub.pending() == []
        assert sent == []
        assert hub.run_sync(SEND, approve="ask").results[0].result == "sent to ann"
        assert hub.run_sync(SEND, approve="ask").results[0].kind == "paused"
    assert sent == ["ann"]


def test_a_program_that_asks_and_approves_is_replayed(
    opened: Opened, tmp_path: Path, sent: list[str], store: Path
) -> None:
    def program(hub: ToolHub) -> list[Any]:
        waiting = hub.run_sync(SEND, approve="ask").results[0]
        assert [one.id for one in hub.pending()] == [waiting.paused]
        hub.approve(waiting.paused or "")
        return [waiting.kind, hub.run_sync(SEND, approve="ask").results[0].result]

    path = tmp_path / "asked.ndjson"
    with opened() as hub, record(path):
        first = program(hub)
    before = content(store)["approvals"]
    with opened() as hub, replay(path):
        assert program(hub) == first == ["paused", "sent to ann"]
    assert content(store)["approvals"] == before
    assert sent == ["ann"]


def test_statistics_and_breakers_are_those_of_real_calls(tmp_path: Path, store: Path) -> None:
    path, fails = tmp_path / "calls.ndjson", [True]

    def opened() -> ToolHub:
        hub = ToolHub(store=store)

        @hub.tool(read_only=True, priority=1)
        def look() -> str:
            if fails[0]:
                raise ValueError("broken")
            return "first"

        hub.register(lambda: "second", name="look", read_only=True, priority=2)
        return hub

    def program(hub: ToolHub) -> list[Any]:
        return [hub.call("look", strategy="fallback").result for _ in range(8)]

    with opened() as hub, record(path):
        first = program(hub)
    for file in store.parent.glob("store.db*"):
        file.unlink()
    fails[0] = False
    with opened() as hub:
        # The breaker of the replay opens as it did when it was recorded, or calls would be missed.
        with replay(path):
            assert program(hub) == first
        assert [row["calls"] for row in hub.stats()["look"]] == [0, 0]
        assert hub.call("look", strategy="fallback").result == "first"
    with opened() as hub:
        assert [row["calls"] for row in hub.stats()["look"]] == [1, 0]


def test_replays_and_real_calls_share_no_cached_result(tmp_path: Path) -> None:
    path, asked = tmp_path / "calls.ndjson", list[str]()

    def opened() -> ToolHub:
        hub = ToolHub()

        @hub.tool(read_only=True)
        def ask() -> int:
            asked.append("x")
            return len(asked)

        return hub

    def program(hub: ToolHub) -> list[Any]:
        return [hub.call("ask", cache_ttl=60).result for _ in range(2)]

    with opened() as hub, record(path):
        assert program(hub) == [1, 2]
    with opened() as hub:
        for _ in range(2):
            with replay(path):
                assert program(hub) == [1, 2]
        assert program(hub) == [3, 3]
        # All recorded calls are made: what is cached by real calls does not answer them.
        with replay(path):
            assert program(hub) == [1, 2]


@pytest.mark.anyio
async def test_an_agent_and_a_served_call_leave_nothing(tmp_path: Path, store: Path) -> None:
    effects, path = tmp_path / "effects", tmp_path / "calls.ndjson"
    server = {"command": sys.executable, "args": [str(SERVER), str(effects)], "toolhub": {"pin": True}}

    def model(prompt: str) -> str:
        return "done" if "sent to ann" in prompt else SEND

    async def program(store: Path | None) -> list[Any]:
        async with ToolHub({"mcpServers": {"one": server}}, store=store) as hub, served(hub) as serving:
            hub.register(lambda to: f"sent to {to}", name="send_mail")
            answer = await ChatLoop(hub, model, run="monday").answer("go")
            return [answer["answer"], (await call(serving.url, "send", key="y")).content]

    with record(path):
        recorded = await program(None)
    effects.unlink()
    with replay(path):
        assert await program(store) == recorded
    assert {name: rows for name, rows in content(store).items() if rows} == {}
    assert not (tmp_path / "store.db.id").exists()
    assert not effects.exists()


def test_a_call_that_was_not_recorded_leaves_nothing_either(
    opened: Opened, cassette: Path, store: Path
) -> None:
    with pytest.raises(ReplayError), opened() as hub, replay(cassette):
        assert hub.call("send_mail", {"to": "bob"}, run="monday").kind == "not_found"
    assert not any(content(store).values())


def test_texts_of_cut_results_stay_in_memory(tmp_path: Path, store: Path) -> None:
    path = tmp_path / "calls.ndjson"
    message = '<tool_call>{"name": "long", "arguments": {}}</tool_call>'

    def opened() -> ToolHub:
        hub = ToolHub(store=store)
        hub.register(lambda: "word " * 5_000, name="long", read_only=True)
        return hub

    with opened() as hub, record(path):
        hub.run_sync(message)
    kept = len(content(store)["results"])
    with opened() as hub, replay(path):
        assert hub.run_sync(message).results[0].success
    assert len(content(store)["results"]) == kept
