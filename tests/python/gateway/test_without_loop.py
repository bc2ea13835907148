"""A program that blocks while it serves has an event loop when Python has something to run, and not before."""

from __future__ import annotations

import asyncio
import contextvars
import json
import signal
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support import wire
from toolhub import ToolHub, _background

UPSTREAM = str(Path(__file__).parent / "upstream.py")


def configured(folder: Path, name: str) -> str:
    config = folder / "mcp.json"
    entry = {"command": sys.executable, "args": [UPSTREAM, name, str(folder)]}
    config.write_text(json.dumps({"mcpServers": {name: entry}}))
    return str(config)


def test_the_tools_of_servers_are_served_without_asyncio(tmp_path: Path) -> None:
    config = configured(tmp_path, "quick")
    serve = ["-X", "importtime", "-m", "toolhub", "serve", "--config", config]
    with wire.running(*serve) as program:
        program.send(wire.message("tools/list", {}, 1))
        assert '"quick"' in program.output.wait_for('"id":1,')
        (tmp_path / "quick.go").touch()
        program.send(wire.message("tools/call", {"name": "quick"}, 2))
        assert "quick is done" in program.output.wait_for('"id":2,')
        assert program.process.stdin is not None
        program.process.stdin.close()
        assert program.process.wait(wire.PATIENCE) == 0
        program.errors.end()
        imported = {line.rpartition("|")[2].strip() for line in program.errors.lines if "import time" in line}
    assert "toolhub" in imported
    assert not imported & {"asyncio", "pathlib", "shutil", "ssl"}


def test_ctrl_c_ends_serving_before_there_is_a_loop(tmp_path: Path) -> None:
    with wire.command("--config", configured(tmp_path, "quick")) as program:
        assert wire.tools(program.url) == ["quick"]
        program.process.send_signal(signal.SIGINT)
        assert program.process.wait(wire.PATIENCE) == 0


class Served:
    """A hub that a thread serves over HTTP."""

    def __init__(self, hub: ToolHub, **options: Any) -> None:
        self._ready: Future[Any] = Future()
        context = contextvars.copy_context()

        def serve() -> None:
            context.run(hub.serve, "http", port=0, ready=self._ready.set_result, **options)

        self.thread = threading.Thread(target=serve)

    def __enter__(self) -> str:
        self.thread.start()
        return self._ready.result(wire.PATIENCE).url

    def __exit__(self, *_: object) -> None:
        self._ready.result().stop()
        self.thread.join(wire.PATIENCE)
        assert not self.thread.is_alive()


def test_calls_that_come_at_once_run_on_one_loop_in_the_context_of_the_program() -> None:
    language = contextvars.ContextVar("language", default="unset")
    hub, loops = ToolHub(), set[asyncio.AbstractEventLoop]()

    @hub.tool
    async def speak() -> str:  # pyright: ignore[reportUnusedFunction]
        """Say the language."""
        loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return language.get()

    @hub.tool
    def shout() -> str:  # pyright: ignore[reportUnusedFunction]
        """Say it loud."""
        return language.get().upper()

    token = language.set("nynorsk")
    try:
        with hub, Served(hub) as url, ThreadPoolExecutor(8) as clients:
            spoken = list(clients.map(lambda tool: wire.call(url, tool), ["speak", "shout"] * 8))
    finally:
        language.reset(token)
    assert spoken == ["nynorsk", "NYNORSK"] * 8
    assert len(loops) == 1


def test_the_first_thing_to_run_may_be_the_function_that_names_callers() -> None:
    async def name(token: str | None, _: dict[str, str]) -> str | None:
        await asyncio.sleep(0)
        return token

    with ToolHub() as hub, Served(hub, authenticate=name) as url:
        refused, _, _ = wire.received(wire.send(url, "tools/list"))
        taken, _, _ = wire.received(wire.send(url, "tools/list", Authorization="Bearer greta"))
    assert (refused, taken) == (401, 200)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_loop_that_cannot_be_opened_fails_the_call_and_the_next_one_tries_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hub = ToolHub()

    @hub.tool
    def greet() -> str:  # pyright: ignore[reportUnusedFunction]
        """Greet."""
        return "hello"

    with hub, Served(hub) as url:
        with monkeypatch.context() as broken:
            # Not `asyncio.new_event_loop`: a loop that an earlier test has left is used again.
            broken.setattr(_background, "_acquire", _no_descriptors)
            text = wire.call(url, "greet")
            assert "'greet' was not started: no event loop could be opened" in text
            assert "Too many open files" in text
        assert wire.call(url, "greet") == "hello"


def _no_descriptors() -> None:
    raise OSError("Too many open files")
