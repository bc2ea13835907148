"""The operator of a served hub reads a line in the log when a server cannot be started or is lost; callers may not read why."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.gateway import ask, call, served
from toolhub import ToolHub
from toolhub.events import Event

pytestmark = pytest.mark.anyio
SERVER = Path(__file__).with_name("app_server.py")
DEAD = [sys.executable, "-c", "import sys; sys.exit('no database at 10.0.0.5')"]
REASON = "Server 'dead' exited with code 1: no database at 10.0.0.5"


def add_dead(hub: ToolHub) -> None:
    hub.add_server("dead", command=DEAD[0], args=DEAD[1:])


def add_left(hub: ToolHub, folder: Path) -> None:
    hub.add_server("left", command=sys.executable, args=[str(SERVER), "left", str(folder)])


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_server_that_cannot_start_has_a_line(caplog: pytest.LogCaptureFixture) -> None:
    async with ToolHub() as hub:
        add_dead(hub)
        async with served(hub) as at:
            assert (await ask(at.url, "tools/list")).result["tools"] == []
            await until(lambda: lines(caplog))
    assert lines(caplog) == [f"dead: {REASON}"]


async def test_a_server_that_is_lost_has_a_line_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Also if nobody calls it any more."""
    heard: list[Event] = []
    async with ToolHub() as hub:
        add_left(hub, tmp_path)
        hub.on_event(lambda event: heard.append(event) if event.type == "disconnected" else None)
        async with served(hub):
            await hub.connect()
            pid = hub.servers()[0].pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            await until(lambda: heard and lines(caplog))
            assert (await hub.execute("show_left")).text == "show_left of left"
    assert lines(caplog) == ["left: Server 'left' was killed by signal 9"]
    assert [(event.server, event.kind, event.error) for event in heard] == [
        ("left", "closed", "Server 'left' was killed by signal 9")
    ]


@contextmanager
def far_server(folder: Path) -> Generator[tuple[str, Callable[[], object]]]:
    """A server over HTTP, as a process: its address, and how to kill it."""
    (folder / "far.py").write_text(
        "from toolhub import tool\n@tool\ndef get_far() -> str:\n    'Get it.'\n    return 'far'\n"
    )
    words = [
        "serve",
        "--http",
        "--port",
        "0",
        "--json",
        "--config",
        "",
        "--store",
        "",
        "--tools",
        str(folder),
    ]
    program = subprocess.Popen([sys.executable, "-m", "toolhub", *words], stdout=subprocess.PIPE, text=True)

    def kill() -> None:
        program.kill()
        program.wait(30)

    try:
        assert program.stdout is not None
        text = ""
        while not text.rstrip().endswith("}"):
            text += program.stdout.readline()
        yield json.loads(text)["url"], kill
    finally:
        program.kill()
        program.communicate()


async def test_a_remote_server_that_goes_away_has_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with far_server(tmp_path) as (url, kill):
        async with ToolHub() as hub:
            hub.add_server("far", url=url, retries=0)
            async with served(hub) as at:
                assert (await call(at.url, "get_far")).content == "far"
                kill()
                for _ in range(3):
                    assert (await call(at.url, "get_far")).result["isError"]
                await until(lambda: lines(caplog))
    said = [line.split(" (")[0] for line in lines(caplog)]
    assert said == ["far: Server 'far' cannot be reached: connection refused"]


async def test_a_hub_that_is_not_served_says_it_in_results_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []
    async with ToolHub() as hub:
        hub.on_event(lambda event: heard.append(event.type))
        add_dead(hub)
        assert REASON in str((await hub.execute("get_it", server="dead")).error)
        await until(lambda: "connect_failed" in heard)
    assert lines(caplog) == []


async def test_callers_read_of_a_name_that_no_server_has_what_is_known() -> None:
    async with ToolHub() as hub:
        add_dead(hub)
        async with served(hub, token={"ann": "a-token", "bob": "b-token"}) as at:
            for name in ("dead__get_it", "get_it"):
                shared = (await call(at.url, name, token="a-token")).content
                assert shared == "No known tool has this name, and some servers could not be asked."
        async with served(hub) as at:
            alone = (await call(at.url, "get_it")).content
            assert alone.startswith("There is no tool named 'get_it'. Some servers could not be asked: ")
            assert REASON in alone
