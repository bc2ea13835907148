"""A call that a recording answers has no effects, so it has no row: on the loop of the caller, and served without Python."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from support.gateway import call, served
from toolhub import ToolHub
from toolhub.testing import ReplayError, record, replay

pytestmark = pytest.mark.anyio

SERVER = Path(__file__).parents[2] / "torture" / "ledger" / "server.py"


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    return tmp_path / "effects"


@pytest.fixture
def servers(effects: Path) -> dict[str, Any]:
    return {"mcpServers": {"one": {"command": sys.executable, "args": [str(SERVER), str(effects)]}}}


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def told(hub: ToolHub) -> list[tuple[str, str]]:
    return [(row.tool, row.state) for row in hub.ledger()]


@pytest.mark.parametrize("is_only", [False, True], ids=["any hub", "this hub"])
async def test_a_served_call_is_recorded_and_replayed_without_a_row(
    servers: dict[str, Any], effects: Path, tmp_path: Path, is_only: bool
) -> None:
    cassette = tmp_path / "calls.ndjson"
    async with ToolHub(servers, store=tmp_path / "store.db") as hub, served(hub) as serving:
        only = hub if is_only else None
        with record(cassette, only) as recorded:
            first = await call(serving.url, "send", key="x")
        assert first.content == "sent x"
        assert recorded.events > 0
        assert told(hub) == [("send", "done")]
        with replay(cassette, hub=only):
            again = await call(serving.url, "send", key="x")
        assert again.content == first.content
        with pytest.raises(ReplayError), replay(cassette, hub=only):
            missed = await call(serving.url, "send", key="y")
            assert "not in the cassette" in missed.text
        assert told(hub) == [("send", "done")]
    assert lines(effects) == ["x"]


async def test_a_recording_of_another_hub_leaves_served_calls_out(
    servers: dict[str, Any], tmp_path: Path
) -> None:
    cassette = tmp_path / "calls.ndjson"
    async with (
        ToolHub(servers, store=tmp_path / "store.db") as hub,
        served(hub) as serving,
        ToolHub() as other,
    ):
        with record(cassette, other):
            assert (await call(serving.url, "send", key="x")).content == "sent x"
    assert not any('"call"' in line for line in lines(cassette))


async def test_a_direct_call_is_replayed_without_a_row(servers: dict[str, Any], tmp_path: Path) -> None:
    cassette, done = tmp_path / "calls.ndjson", list[str]()
    async with ToolHub(servers, store=tmp_path / "store.db") as hub:
        hub.register(lambda to: done.append(to) or "sent", name="send_mail")

        async def both() -> list[Any]:
            return [
                (await hub.execute("send_mail", {"to": "ann"})).result,
                (await hub.execute("send", {"key": "x"})).result,
            ]

        with record(cassette):
            first = await both()
        with replay(cassette):
            assert await both() == first == ["sent", "sent x"]
        assert told(hub) == [("send_mail", "done"), ("send", "done")]
    assert done == ["ann"]
