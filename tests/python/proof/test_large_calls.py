"""Large arguments of calls that somebody has to recognise: counted first, and recognised where they hold up nobody."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from toolhub import ErrorKind, ToolHub

pytestmark = pytest.mark.anyio

MOST = 200_000
WAYS: dict[str, dict[str, Any]] = {
    "run": {"run": "r"},
    "ask": {"approve": "ask"},
    "function": {"approve": lambda _: True},  # pyright: ignore[reportUnknownLambdaType]
    "run and ask": {"run": "r", "approve": "ask"},
    "cache": {"cache_ttl": 60, "single_flight": True},
}
LARGE: dict[str, Any] = {
    "text": "a" * 20_000_000,
    "names": {f"name {number}": number for number in range(100_000)},
}


class Endless(Sequence[int]):
    """Counts how many of its numbers were read."""

    read = 0

    def __len__(self) -> int:
        return 0

    def __getitem__(self, at: Any) -> Any:
        self.read += 1
        return at

    def __iter__(self) -> Iterator[int]:
        while True:
            yield self[0]


def offices(tmp_path: Path) -> tuple[ToolHub, list[Any]]:
    hub, sent = ToolHub(store=tmp_path / "hub.db"), list[Any]()

    @hub.tool(parameters={"type": "object", "properties": {"what": {}}})
    def send_mail(**given: Any) -> str:
        sent.append(given["what"])
        return "sent"

    return hub, sent


@pytest.mark.parametrize("way", WAYS)
async def test_too_many_values_are_refused_before_they_are_read(tmp_path: Path, way: str) -> None:
    hub, sent = offices(tmp_path)
    async with hub:
        endless = Endless()
        for what in (endless, {f"name {number}": 0 for number in range(MOST)}):
            result = await hub.execute("send_mail", {"what": what}, **WAYS[way])
            assert result.kind is ErrorKind.LIMIT, result.error
            assert f"more than {MOST} values" in str(result.error)
            assert result.meta["error"]["outcome"] == "not_sent"
        assert endless.read <= 2 * MOST, "once for the key, and once for the check"
        assert (sent, hub.pending()) == ([], [])


@pytest.mark.parametrize("way", ["plain", "run", "ask"])
@pytest.mark.parametrize("what", LARGE)
async def test_the_loop_does_a_part_of_the_work_on_a_large_call(tmp_path: Path, way: str, what: str) -> None:
    hub, sent = offices(tmp_path)
    async with hub:
        await hub.execute("send_mail", {"what": ""}, **WAYS.get(way, {}))
        on_the_loop, everywhere = time.thread_time(), time.process_time()
        result = await hub.execute("send_mail", {"what": LARGE[what]}, **WAYS.get(way, {}))
        on_the_loop, everywhere = time.thread_time() - on_the_loop, time.process_time() - everywhere
        assert on_the_loop < 0.7 * everywhere, "the rest is done on other threads"
        if way == "ask":
            assert result.kind is ErrorKind.PAUSED
            hub.approve(str(result.paused))
            result = await hub.execute("send_mail", {"what": LARGE[what]}, approve="ask")
        assert result.result == "sent"
        assert sent[-1] == LARGE[what]


@pytest.mark.parametrize("way", ["run", "run and ask"])
async def test_a_deadline_ends_while_a_large_call_is_recognised(tmp_path: Path, way: str) -> None:
    hub, sent = offices(tmp_path)
    async with hub:
        late = await hub.execute("send_mail", {"what": LARGE["text"]}, deadline=0.001, **WAYS[way])
        assert (late.kind, late.meta["error"]["outcome"]) == (ErrorKind.TIMEOUT, "not_sent")
        assert (sent, hub.pending(), hub.ledger()) == ([], [], [])


async def test_equal_large_calls_are_recognised(tmp_path: Path) -> None:
    hub, sent = offices(tmp_path)
    async with hub:
        first = await hub.execute("send_mail", {"what": LARGE["names"]}, run="r")
        with hub.resume("r"):
            again = await hub.execute("send_mail", {"what": LARGE["names"]}, run="r")
        assert (first.result, again.result, again.meta["replayed"]) == ("sent", "sent", True)
        assert len(sent) == 1
        (row,) = hub.ledger("r")
        assert row.state == "done"
        await hub.execute("send_mail", {"what": LARGE["names"]})
        assert [row.state for row in hub.ledger()] == ["done", "done"]


async def test_a_large_call_that_is_cancelled_leaves_no_open_row(tmp_path: Path) -> None:
    hub, sent = offices(tmp_path)
    async with hub:
        for steps in range(4):
            sending = asyncio.ensure_future(hub.execute("send_mail", {"what": LARGE["text"]}))
            for _ in range(steps):
                await asyncio.sleep(0)
            sending.cancel()
            await asyncio.wait({sending})
        states = {row.state for row in hub.ledger()}
    assert sent == []
    assert states <= {"not_sent"}
