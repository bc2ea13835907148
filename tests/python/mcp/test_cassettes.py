"""Calls of real MCP servers on cassettes: replayed without the server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolhub import ToolHub
from toolhub.testing import ReplayError, block_network, record, replay

pytestmark = pytest.mark.anyio

GONE = {"command": "/nonexistent/server"}


def events(path: Path, kind: str) -> list[dict[str, Any]]:
    return [event for line in path.read_text().splitlines() if (event := json.loads(line))["type"] == kind]


async def test_content_progress_and_questions_of_a_server(
    installed: Callable[..., dict[str, Any]], tmp_path: Path, until: Callable[..., Any]
) -> None:
    path = tmp_path / "everything.ndjson"
    asked: list[str] = []

    async def person(server: str, question: dict[str, Any]) -> dict[str, Any]:
        asked.append(server)
        return {"action": "accept", "content": {"name": "Ada"}}

    async def work(start: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        news: list[Any] = []
        async with ToolHub(elicitation=person) as hub:
            hub.add_server("everything", **start)
            await hub.connect()
            await until(lambda: "trigger-elicitation-request" in hub)
            image = await hub.execute("get-tiny-image")
            long = await hub.execute(
                "trigger-long-running-operation", {"duration": 0.4, "steps": 2}, progress=news.append
            )
            form = await hub.execute("trigger-elicitation-request")
            wrong = await hub.execute("echo", {"message": 5}, validate=False)
            results = [image, long, form, wrong]
            return [[one["success"], one["result"], one["error"], one.content] for one in results], news

    async with record(path):
        recorded = await work(installed("everything", "stdio"))
    assert events(path, "list")[0]["server"] == "everything"
    (question,) = events(path, "question")
    assert question["method"] == "elicitation/create"
    assert question["result"]["content"]["name"] == "Ada"
    assert recorded[1]
    with block_network():
        async with replay(path):
            replayed = await work(GONE)
    assert json.dumps(replayed) == json.dumps(recorded)
    assert asked == ["everything"]


async def test_a_server_that_was_connected_before_the_recording(
    installed: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    path = tmp_path / "time.ndjson"
    given = {"timezone": "Asia/Tokyo"}
    async with ToolHub() as hub:
        hub.add_server("time", **installed("time"))
        await hub.connect()
        async with record(path):
            recorded = await hub.execute("get_current_time", given)
    async with ToolHub() as hub:
        hub.add_server("time", **GONE)
        hub.add_server("other", **GONE)
        async with replay(path):
            replayed = await hub.execute("get_current_time", given)
            assert replayed.result == recorded.result
            report = await hub.connect(["other"])
            assert "a replay starts no server" in str(report.failed["other"])
            (time, _) = hub.servers()
            assert (time.pid, time.tools) == (None, 1)


async def test_a_miss_starts_no_server(tmp_path: Path) -> None:
    path = tmp_path / "empty.ndjson"
    with record(path):
        pass
    async with ToolHub() as hub:
        hub.add_server("web", **GONE)
        with pytest.raises(ReplayError, match="'fetch' is not in the cassette"):
            async with replay(path):
                missed = await hub.execute("fetch", {"url": "x"}, server="web")
                assert (missed.success, missed.kind) == (False, "not_found")
                assert not (await hub.execute("fetch", {"url": "x"})).success
        (server,) = hub.servers()
        assert server.pid is None
